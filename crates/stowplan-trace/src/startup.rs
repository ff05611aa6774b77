//! Instants of start-up, MEASURING §4: what each process, node, module and
//! service reached, and when.

use crate::analysis::Analysis;
use crate::ids::{Id, ProcessId};

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

impl Analysis {
    /// Instants of start-up.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        let nodes = self.node_start_up();
        let modules = modules(&nodes);
        StartUp {
            processes: self.process_start_up(),
            nodes,
            modules,
            services: self.marks.launch_ready.clone(),
        }
    }

    fn process_start_up(&self) -> Vec<ProcessStartUp> {
        let log = &self.marks;
        let first = |list: &[(ProcessId, i64)], id| list.iter().find(|e| e.0 == id).map(|e| e.1);
        self.graph
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

    fn node_start_up(&self) -> Vec<NodeStartUp> {
        let firsts = self.first_activity();
        let log = &self.marks;
        let mut nodes: Vec<NodeStartUp> = self
            .graph
            .nodes
            .iter()
            .filter(|(_, node)| node.name.is_some())
            .map(|(id, node)| NodeStartUp {
                process: node.process,
                node: node.full_name(),
                module: None,
                load_begin_ns: None,
                init_ns: log.node_init.iter().find(|n| n.0 == id).map(|n| n.1),
                loaded_ns: None,
                first_publication_ns: firsts[id.index()].0,
                first_callback_ns: firsts[id.index()].1,
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

    /// First publication and first callback of each node.
    fn first_activity(&self) -> Vec<(Option<i64>, Option<i64>)> {
        let mut firsts = vec![(None, None); self.graph.nodes.len()];
        for (_, publication) in self.records.publications.iter() {
            let publisher = &self.graph.publishers[publication.publisher];
            let implicit = publisher.topic.is_some_and(|topic| {
                matches!(
                    self.graph.topics[topic].as_str(),
                    "/rosout" | "/parameter_events"
                )
            });
            if let (Some(node), false) = (publisher.node, implicit) {
                firsts[node.index()].0.get_or_insert(publication.time_ns);
            }
        }
        for (_, instance) in self.records.instances.iter() {
            if let Some(node) = self.graph.node_of(instance.callback) {
                firsts[node.index()].1.get_or_insert(instance.start_ns);
            }
        }
        firsts
    }
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
