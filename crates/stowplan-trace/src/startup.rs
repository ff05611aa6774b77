//! Instants of start-up, docs/measuring.md §4: what each process, node, module and
//! service reached, and when.

use crate::analysis::Analysis;
use crate::chain::find::is_implicit;
use crate::graph::Graph;
use crate::ids::{CallbackId, Id, ProcessId, PublisherId};
use crate::marks::Marks;
use crate::overview::Overview;

/// Start-up of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStartUp {
    /// The process.
    pub process: ProcessId,
    /// First instruction in the partition; `None` in foreign traces.
    pub start_ns: Option<i64>,
    /// First `rcl_init`.
    pub rcl_init_ns: Option<i64>,
    /// All its declared endpoints have found their peers.
    pub endpoints_matched_ns: Option<i64>,
    /// Pairs that were found.
    pub matched_pairs: Option<u32>,
}

/// Start-up of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStartUp {
    /// Its process.
    pub process: ProcessId,
    /// Full name.
    pub node: String,
    /// Module; `None` where the trace names none.
    pub module: Option<String>,
    /// It begins to load.
    pub load_begin_ns: Option<i64>,
    /// `rcl_node_init`.
    pub init_ns: Option<i64>,
    /// Its entities exist.
    pub loaded_ns: Option<i64>,
    /// Its first publication other than those that rcl makes.
    pub first_publication_ns: Option<i64>,
    /// Its first callback.
    pub first_callback_ns: Option<i64>,
    /// Its life-cycle transitions: state left, state entered, when.
    pub transitions: Vec<(String, String, i64)>,
}

/// Start-up of one module: first node begins to load → last node loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleStartUp {
    /// Name.
    pub module: String,
    /// Its first node begins to load.
    pub first_load_begin_ns: Option<i64>,
    /// Its last node has loaded.
    pub last_loaded_ns: i64,
    /// Number of its nodes that loaded.
    pub nodes: u64,
}

/// Instants of start-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartUp {
    /// By process, in order of appearance.
    pub processes: Vec<ProcessStartUp>,
    /// By node, in order of appearance.
    pub nodes: Vec<NodeStartUp>,
    /// By module, in order of appearance.
    pub modules: Vec<ModuleStartUp>,
    /// When the launcher of each service was ready.
    pub services: Vec<(String, i64)>,
}

/// First publication, other than those that rcl makes, and first callback of a node.
type Firsts = Vec<(Option<i64>, Option<i64>)>;

impl Analysis {
    /// Instants of start-up.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        let mut firsts: Firsts = vec![(None, None); self.graph.nodes.len()];
        for (_, publication) in self.records.publications.iter() {
            published(
                &self.graph,
                &mut firsts,
                publication.publisher,
                publication.time_ns,
            );
        }
        for (_, instance) in self.records.instances.iter() {
            ran(
                &self.graph,
                &mut firsts,
                instance.callback,
                instance.start_ns,
            );
        }
        StartUp::of(&self.graph, &self.marks, &firsts)
    }
}

impl Overview {
    /// Instants of start-up.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        let mut firsts: Firsts = vec![(None, None); self.graph.nodes.len()];
        let publishers = self.graph.publishers.ids().zip(&self.counted.publications);
        for (publisher, &(count, first_ns)) in publishers {
            if count > 0 {
                published(&self.graph, &mut firsts, publisher, first_ns);
            }
        }
        for (callback, of) in self.graph.callbacks.ids().zip(&self.counted.callbacks) {
            if let Some(first_ns) = of.first_ns {
                ran(&self.graph, &mut firsts, callback, first_ns);
            }
        }
        StartUp::of(&self.graph, &self.marks, &firsts)
    }
}

fn published(graph: &Graph, firsts: &mut Firsts, publisher: PublisherId, time_ns: i64) {
    let publisher = &graph.publishers[publisher];
    let own = publisher.topic.is_some() && is_implicit(graph, publisher.topic);
    if let (Some(node), false) = (publisher.node, own) {
        earlier(&mut firsts[node.index()].0, time_ns);
    }
}

fn ran(graph: &Graph, firsts: &mut Firsts, callback: CallbackId, time_ns: i64) {
    if let Some(node) = graph.node_of(callback) {
        earlier(&mut firsts[node.index()].1, time_ns);
    }
}

fn earlier(first: &mut Option<i64>, time_ns: i64) {
    *first = Some(first.map_or(time_ns, |first| first.min(time_ns)));
}

impl StartUp {
    fn of(graph: &Graph, marks: &Marks, firsts: &Firsts) -> Self {
        let nodes = node_start_up(graph, marks, firsts);
        let modules = modules(&nodes);
        Self {
            processes: process_start_up(graph, marks),
            nodes,
            modules,
            services: marks.launch_ready.clone(),
        }
    }
}

fn process_start_up(graph: &Graph, log: &Marks) -> Vec<ProcessStartUp> {
    let first = |list: &[(ProcessId, i64)], id| list.iter().find(|e| e.0 == id).map(|e| e.1);
    graph
        .processes
        .ids()
        .map(|process| {
            let matched = log.endpoints_matched.iter().rfind(|m| m.0 == process);
            ProcessStartUp {
                process,
                start_ns: first(&log.process_start, process),
                rcl_init_ns: first(&log.rcl_init, process),
                endpoints_matched_ns: matched.map(|m| m.2),
                matched_pairs: matched.map(|m| m.1),
            }
        })
        .collect()
}

fn node_start_up(graph: &Graph, log: &Marks, firsts: &Firsts) -> Vec<NodeStartUp> {
    let mut inits = vec![None; graph.nodes.len()];
    for &(node, time_ns) in &log.node_init {
        inits[node.index()].get_or_insert(time_ns);
    }
    let mut transitions = vec![Vec::new(); graph.nodes.len()];
    for (node, from, to, time_ns) in &log.transitions {
        transitions[node.index()].push((from.clone(), to.clone(), *time_ns));
    }
    let mut nodes: Vec<NodeStartUp> = graph
        .nodes
        .iter()
        .filter(|(_, node)| node.name.is_some())
        .map(|(id, node)| NodeStartUp {
            process: node.process,
            node: node.full_name(),
            module: None,
            load_begin_ns: None,
            init_ns: inits[id.index()],
            loaded_ns: None,
            first_publication_ns: firsts[id.index()].0,
            first_callback_ns: firsts[id.index()].1,
            transitions: std::mem::take(&mut transitions[id.index()]),
        })
        .collect();
    for (process, name, time_ns) in &log.load_begin {
        entry(&mut nodes, *process, name).load_begin_ns = Some(*time_ns);
    }
    for (process, name, module, time_ns) in &log.loaded {
        let node = entry(&mut nodes, *process, name);
        node.loaded_ns = Some(*time_ns);
        node.module = Some(module.clone()).filter(|module| !module.is_empty());
    }
    nodes
}

/// The node of this name in this process; made if `rcl_node_init` did not name it.
fn entry<'a>(
    nodes: &'a mut Vec<NodeStartUp>,
    process: ProcessId,
    name: &str,
) -> &'a mut NodeStartUp {
    let same = |node: &NodeStartUp| {
        node.process == process && (node.node == name || node.node.rsplit('/').next() == Some(name))
    };
    if let Some(at) = nodes.iter().position(same) {
        return &mut nodes[at];
    }
    nodes.push(NodeStartUp {
        process,
        node: name.to_owned(),
        module: None,
        load_begin_ns: None,
        init_ns: None,
        loaded_ns: None,
        first_publication_ns: None,
        first_callback_ns: None,
        transitions: Vec::new(),
    });
    let last = nodes.len() - 1;
    &mut nodes[last]
}

fn modules(nodes: &[NodeStartUp]) -> Vec<ModuleStartUp> {
    let mut modules: Vec<ModuleStartUp> = Vec::new();
    for node in nodes {
        let (Some(name), Some(loaded_ns)) = (&node.module, node.loaded_ns) else {
            continue;
        };
        let at = modules
            .iter()
            .position(|module| module.module == *name)
            .unwrap_or_else(|| {
                modules.push(ModuleStartUp {
                    module: name.clone(),
                    first_load_begin_ns: None,
                    last_loaded_ns: loaded_ns,
                    nodes: 0,
                });
                modules.len() - 1
            });
        let module = &mut modules[at];
        module.nodes += 1;
        module.last_loaded_ns = module.last_loaded_ns.max(loaded_ns);
        module.first_load_begin_ns = match (module.first_load_begin_ns, node.load_begin_ns) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    modules
}
