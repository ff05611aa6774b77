//! A stack from the analysis of a trace.

mod chains;
mod endpoints;
mod nodes;
mod observe;
mod outside;
mod processes;
mod text;

use std::collections::{BTreeMap, HashSet};

use stowplan_model::Endpoints;
use stowplan_trace::{Analysis, CallbackId, Graph, Id, NodeId, ProcessId, lasting_name};

use crate::draft::{Draft, DraftModule, DraftProcess, DraftTopic, Figure};
use crate::facts::{CallbackFacts, Facts, TopicFacts};
use crate::fit::{Fit, Fitted};
use crate::launch::LaunchTimes;
use crate::names;
use nodes::{NodeEntry, Nodes};
use observe::{Calls, Observed};

/// How the node of `ros2 launch` is called, with a number after it.
const LAUNCH_NODE: &str = "launch_ros_";

/// What is known besides the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Name of the stack.
    pub name: String,
    /// Nanoseconds that an iteration of the work kernel takes where the stack is to behave as in the trace.
    pub ns_per_iteration: f64,
    /// CPUs of that machine.
    pub cpus: u32,
    /// Topics or nodes between which the chain of the stack leads; the longest chains where `None`.
    pub chain: Option<(String, String)>,
    /// When the launch began, nanoseconds of the trace's clock, for a trace without a node of `ros2 launch`.
    pub launch_begin_ns: Option<i64>,
    /// Runs to correct the stack by.
    pub fit: Option<Fit>,
}

/// A stack and what it was learnt from.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// The stack file.
    pub draft: Draft,
    /// Figures of the trace, in the names of the stack.
    pub facts: Facts,
    /// What a fit changed; `None` without one.
    pub fitted: Option<Fitted>,
}

/// Why no stack can be learnt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// The trace names no node.
    #[error(
        "the trace has no node: it has no ros2:rcl_node_init, so tracing began after the programs"
    )]
    NoNodes,
    /// The trace does not say which process or thread recorded an event.
    #[error("the trace has no context {context}, without which there are no durations")]
    NoContext {
        /// The context of LTTng.
        context: &'static str,
    },
    /// No chain leads between the two places that were asked for.
    #[error("nothing in this stack leads from '{from}' to '{to}'")]
    NoChain {
        /// Where it should begin.
        from: String,
        /// Where it should end.
        to: String,
    },
}

/// Nodes and processes of the trace that become those of the stack.
struct Frame {
    /// In the order of creation: node, name in the stack.
    nodes: Vec<(NodeId, String)>,
    /// In the order of start: process, name in the stack.
    processes: Vec<(ProcessId, String)>,
    containers: BTreeMap<ProcessId, NodeId>,
    launchers: Vec<NodeId>,
}

impl Frame {
    fn new(analysis: &Analysis) -> Self {
        let graph = &analysis.graph;
        let containers = processes::containers(analysis);
        let mut created: Vec<(i64, NodeId)> = analysis
            .marks
            .node_init
            .iter()
            .map(|&(id, time)| (time, id))
            .collect();
        created.sort_unstable();
        let is_launch = |id: &NodeId| {
            let name = graph.nodes[*id].name.as_deref().unwrap_or_default();
            name.starts_with(LAUNCH_NODE)
        };
        let (launchers, ids): (Vec<NodeId>, Vec<NodeId>) =
            created.into_iter().map(|(_, id)| id).partition(is_launch);
        // What belongs to one start only would make another stack of each trace.
        let lasting =
            |id: &NodeId| lasting_name(&graph.nodes[*id].full_name(), None).replace("_*", "");
        let full: Vec<String> = ids.iter().map(lasting).collect();
        let nodes: Vec<(NodeId, String)> = ids.into_iter().zip(names::unique(&full)).collect();
        let mut processes: Vec<(ProcessId, String)> = Vec::new();
        for (id, name) in &nodes {
            let process = graph.nodes[*id].process;
            if !processes.iter().any(|(known, _)| *known == process) {
                // A container is known by its own node, any other process by its first.
                let own = containers.get(&process);
                let named = nodes.iter().find(|(node, _)| Some(node) == own);
                processes.push((process, named.map_or(name, |(_, name)| name).clone()));
            }
        }
        Self {
            nodes,
            processes,
            containers,
            launchers,
        }
    }

    fn process_name(&self, process: ProcessId) -> &str {
        let mut all = self.processes.iter();
        all.find(|(id, _)| *id == process)
            .map_or("", |(_, name)| name)
    }

    /// Whether a node was loaded into a container.
    fn is_component(&self, analysis: &Analysis, node: NodeId) -> bool {
        let nodes = &analysis.graph.nodes;
        let own = self.containers.get(&nodes[node].process);
        own.is_some_and(|own| *own != node)
    }

    fn launch(&self, analysis: &Analysis, begin_ns: Option<i64>) -> Result<LaunchTimes, String> {
        let init = |id: NodeId| analysis.marks.node_init.iter().find(|i| i.0 == id);
        let begin_ns = self
            .launchers
            .iter()
            .filter_map(|&id| init(id).map(|i| i.1))
            .min()
            .or(begin_ns)
            .ok_or("no process has a node of ros2 launch")?;
        let launched: Vec<i64> = self
            .nodes
            .iter()
            .filter_map(|(id, _)| init(*id).map(|i| i.1))
            .filter(|&time| time >= begin_ns)
            .collect();
        // Tools that are called later are not launched.
        let first_node_ns = *launched.iter().min().ok_or("nothing was launched")?;
        let last_node_ns = last_of_launch(launched).ok_or("nothing was launched")?;
        let started = self.processes.iter().filter_map(|(process, _)| {
            let marks = &analysis.marks;
            let starts = marks.process_start.iter().chain(&marks.rcl_init);
            starts.filter(|s| s.0 == *process).map(|s| s.1).min()
        });
        let started: Vec<i64> = started
            .filter(|time| (begin_ns..=last_node_ns).contains(time))
            .collect();
        let components = self
            .nodes
            .iter()
            .filter(|(id, _)| self.is_component(analysis, *id));
        Ok(LaunchTimes {
            begin_ns,
            first_node_ns,
            last_process_ns: started.iter().copied().max().unwrap_or(first_node_ns),
            last_node_ns,
            processes: started.len() as u64,
            components: components.count() as u64,
        })
    }
}

/// The last of the nodes that follow each other without a pause of more than ten seconds.
fn last_of_launch(mut times: Vec<i64>) -> Option<i64> {
    const PAUSE_NS: i64 = 10_000_000_000;
    times.sort_unstable();
    let mut last = *times.first()?;
    for time in times {
        if time - last > PAUSE_NS {
            break;
        }
        last = time;
    }
    Some(last)
}

/// Without these contexts there are no durations.
fn contexts(graph: &Graph) -> Result<(), LearnError> {
    for (events, context) in [(graph.without_vpid, "vpid"), (graph.without_vtid, "vtid")] {
        if events > 0 {
            return Err(LearnError::NoContext { context });
        }
    }
    Ok(())
}

/// Learns a stack from a trace.
///
/// # Errors
/// When the trace does not say which process or thread recorded events, names no node, or no chain leads between the places that were asked for.
pub fn learn(analysis: &Analysis, options: &Options) -> Result<Learned, LearnError> {
    contexts(&analysis.graph)?;
    let observed = Observed::new(analysis);
    let frame = Frame::new(analysis);
    if frame.nodes.is_empty() {
        return Err(LearnError::NoNodes);
    }
    let maker = Nodes {
        observed: &observed,
        ns_per_iteration: options.ns_per_iteration,
        profile: text::profile(analysis),
        containers: &frame.containers,
    };
    let by_node = maker.callbacks();
    let none = Vec::new();
    let mut entries: Vec<NodeEntry> = frame
        .nodes
        .iter()
        .map(|(id, name)| {
            let process = frame.process_name(analysis.graph.nodes[*id].process);
            maker.entry(*id, name, process, by_node.get(id).unwrap_or(&none))
        })
        .collect();
    let launch = frame.launch(analysis, options.launch_begin_ns);
    let mut draft = Draft {
        head: Vec::new(),
        name: names::clean(&options.name),
        description: format!(
            "{} nodes in {} processes, learnt from a trace.",
            entries.len(),
            frame.processes.len()
        ),
        profile: maker.profile,
        ns_per_iteration: Some(options.ns_per_iteration),
        launch: None,
        sizes: vec![("unknown".to_owned(), text::unknown_size())],
        start_ups: Vec::new(),
        qos: text::QOS,
        topics: Vec::new(),
        processes: draft_processes(&frame, &observed, &by_node),
        modules: Vec::new(),
        chains: Vec::new(),
    };
    let fit = options.fit.as_ref();
    let modelled = match (&launch, fit) {
        (Ok(times), Some(fit)) => fit.launch(times, options.ns_per_iteration),
        _ => None,
    };
    if let Ok(times) = &launch {
        let times = modelled.as_ref().map_or(times, |(fitted, _)| fitted);
        draft.launch = Some(times.draft(options.ns_per_iteration));
        start_ups(&mut draft, &mut entries, &frame, analysis, times, options);
    }
    let outside = outside::sources(&observed, &entries);
    let facts = facts(&observed, &frame, &entries, &maker, &launch);
    draft.topics = topics(&observed, &entries, &facts);
    draft.modules = modules(analysis, entries);
    outside.add_to(&mut draft);
    draft.chains = chains::chains(&draft, options.chain.as_ref())?;
    let fitted = fit.map(|fit| Fitted {
        stretch: modelled.map(|(_, stretch)| stretch),
        ..fit.work(&mut draft, &facts, options.ns_per_iteration)
    });
    draft.head = text::head(&observed, &draft, &facts, options, outside.topics());
    draft.head.extend(fitted.as_ref().map(text::fitted));
    Ok(Learned {
        draft,
        facts,
        fitted,
    })
}

fn draft_processes(
    frame: &Frame,
    observed: &Observed<'_>,
    by_node: &BTreeMap<NodeId, Vec<CallbackId>>,
) -> Vec<DraftProcess> {
    let of = |(id, name): &(ProcessId, String)| {
        let (executor, comment) = processes::executor(observed, *id, by_node);
        DraftProcess {
            name: name.clone(),
            executor,
            component_container: frame.containers.contains_key(id),
            comment,
        }
    };
    frame.processes.iter().map(of).collect()
}

/// What components cost at start, from how long loading took.
fn start_ups(
    draft: &mut Draft,
    entries: &mut [NodeEntry],
    frame: &Frame,
    analysis: &Analysis,
    times: &LaunchTimes,
    options: &Options,
) {
    let cost = times.component_ns(options.cpus);
    if cost <= 0.0 {
        return;
    }
    let iterations = |ns: f64| (ns / options.ns_per_iteration) as u64;
    let because = format!(
        "loading {} components took {:.1} s after the last process, here on {} CPUs beside the launcher; waiting and CPU time are not told apart",
        times.components,
        times.load_ns() as f64 / 1e9,
        options.cpus
    );
    draft.start_ups.push((
        "component".to_owned(),
        Figure::assumed(iterations(cost), 0, iterations(cost * 4.0), because),
    ));
    for entry in entries {
        if frame.is_component(analysis, entry.id) {
            entry.draft.start_up = Some("component".to_owned());
        }
    }
}

fn modules(analysis: &Analysis, entries: Vec<NodeEntry>) -> Vec<DraftModule> {
    let mut modules: Vec<DraftModule> = Vec::new();
    for entry in entries {
        let name = module_of(analysis, &entry);
        match modules.iter_mut().find(|module| module.name == name) {
            Some(module) => module.nodes.push(entry.draft),
            None => modules.push(DraftModule {
                name,
                nodes: vec![entry.draft],
            }),
        }
    }
    modules
}

/// The module that the trace names, else the first part of the namespace.
fn module_of(analysis: &Analysis, entry: &NodeEntry) -> String {
    let node = &analysis.graph.nodes[entry.id];
    let loaded = analysis.marks.loaded.iter();
    let mut told = loaded.filter(|(process, name, module, _)| {
        *process == node.process && node.is_named(name) && !module.is_empty()
    });
    match (told.next(), names::parts(&node.namespace).first()) {
        (Some((_, _, module, _)), _) => names::clean(module),
        (None, Some(first)) => names::clean(first),
        (None, None) => "root".to_owned(),
    }
}

fn topics(observed: &Observed<'_>, entries: &[NodeEntry], facts: &Facts) -> Vec<DraftTopic> {
    let graph = &observed.analysis.graph;
    let mut depths: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (_, subscription) in graph.subscriptions.iter() {
        let name = graph.topics[subscription.topic].as_str();
        depths.entry(name).or_default().push(subscription.depth);
    }
    for (_, publisher) in graph.publishers.iter() {
        if let (Some(topic), Some(depth)) = (publisher.topic, publisher.depth) {
            let name = graph.topics[topic].as_str();
            depths.entry(name).or_insert_with(|| vec![depth]);
        }
    }
    let mut seen = HashSet::new();
    let mut topics = Vec::new();
    let pointers = text::handed_over(observed.analysis);
    for entry in entries {
        for name in entry.draft.topics() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let known = facts.topics.iter().find(|topic| topic.name == *name);
            topics.push(DraftTopic {
                qos: text::own_qos(depths.get(name.as_str()).map_or(&[], Vec::as_slice)),
                intra_process: pointers.contains(name.as_str()),
                comment: known.map_or_else(String::new, text::topic_comment),
                ..DraftTopic::new(name, "unknown")
            });
        }
    }
    topics
}

/// Endpoints of each node of the stack.
fn by_node(graph: &Graph, frame: &Frame) -> BTreeMap<String, Endpoints> {
    let mut counts: BTreeMap<NodeId, Endpoints> = BTreeMap::new();
    for (_, publisher) in graph.publishers.iter() {
        if let Some(node) = publisher.node {
            counts.entry(node).or_default().publishers += 1;
        }
    }
    for (_, subscription) in graph.subscriptions.iter() {
        counts.entry(subscription.node).or_default().subscriptions += 1;
    }
    for (_, service) in graph.services.iter() {
        counts.entry(service.node).or_default().services += 1;
    }
    for client in &graph.clients {
        counts.entry(client.node).or_default().clients += 1;
    }
    for (_, timer) in graph.timers.iter().filter(|(_, t)| t.callback.is_some()) {
        if let Some(node) = timer.node {
            counts.entry(node).or_default().timers += 1;
        }
    }
    let names = frame.nodes.iter();
    names
        .map(|(id, name)| (name.clone(), counts.get(id).copied().unwrap_or_default()))
        .collect()
}

fn facts(
    observed: &Observed<'_>,
    frame: &Frame,
    entries: &[NodeEntry],
    maker: &Nodes<'_>,
    launch: &Result<LaunchTimes, String>,
) -> Facts {
    let graph = &observed.analysis.graph;
    let window = observed.window;
    let callbacks = entries.iter().flat_map(|entry| {
        entry.callbacks.iter().map(|&(at, id)| {
            let calls = &observed.calls[id.index()];
            CallbackFacts {
                node: entry.name.clone(),
                callback: entry.draft.callbacks[at].name.clone(),
                calls: calls.stream.count,
                per_s: calls.stream.per_s(window),
                interval_ns: calls.interval_ns(),
                per_s_error: calls.rate_error(),
                median_ns: Calls::quantile(&calls.wall_ns, 0.5),
                median_range_ns: Calls::median_range(&calls.wall_ns),
                cpu_median_ns: maker.cpu_quantiles(id, &[0.5]).map(|of| of[0]),
                cpu_median_range_ns: maker.cpu_median_range(id),
                sent_ns: calls.sent_ns(),
                work_ns: maker.work_ns(id),
            }
        })
    });
    let published = observed.topics();
    // Those of the middleware alone, as for requests, have no node.
    let publishers = graph.publishers.iter();
    let publishers = publishers.filter(|(_, publisher)| publisher.node.is_some());
    // rclpy makes a timer without a callback for each wait with a time-out.
    let timers = graph.timers.iter();
    let timers = timers.filter(|(_, timer)| timer.callback.is_some());
    let topics = graph
        .topics
        .iter()
        .filter(|(_, name)| !observe::is_implicit(name) && names::is_topic(name));
    Facts {
        nodes: graph.nodes.len() as u64,
        processes: frame.processes.len() as u64,
        containers: frame.containers.len() as u64,
        window_ns: u64::try_from(window.to_ns - window.from_ns).unwrap_or(0),
        launch: launch.as_ref().ok().copied(),
        launch_reason: launch.as_ref().err().cloned(),
        endpoints: Endpoints {
            publishers: publishers.count() as u64,
            subscriptions: graph.subscriptions.len() as u64,
            services: graph.services.len() as u64,
            clients: graph.clients.len() as u64,
            timers: timers.count() as u64,
        },
        by_node: by_node(graph, frame),
        topics: topics
            .map(|(id, name)| {
                let stream = published.get(&id).copied().unwrap_or_default();
                TopicFacts {
                    name: name.clone(),
                    publications: stream.count,
                    per_s: stream.per_s(window),
                }
            })
            .collect(),
        callbacks: callbacks.collect(),
    }
}
