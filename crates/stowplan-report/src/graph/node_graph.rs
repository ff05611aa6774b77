//! Nodes, modules and the messages between nodes, from a trace.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_model::units::show_ns;
use stowplan_trace::{Graph, Id as _, NodeId, Overview, Process, TopicId};

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// Full name.
    pub name: String,
    /// Index of its process in [`NodeGraph::processes`].
    pub process: usize,
    /// Its module: as the trace names it, else the first part of its namespace.
    pub module: String,
}

/// Messages of a topic from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphEdge {
    /// Index of the publishing node.
    pub from: usize,
    /// Index of the node that took them.
    pub to: usize,
    /// Topic.
    pub topic: String,
    /// Messages.
    pub messages: u64,
    /// Messages per second of the trace; `None` for a trace without length.
    pub hz: Option<f64>,
    /// Median from publication to callback in ns, that of the slowest callback of the node; `None` where no
    /// callback took them.
    pub latency_ns: Option<f64>,
    /// How they travelled, as results have it; `None` where that is not known.
    pub class: Option<String>,
    /// Whether a chain goes this way.
    pub chain: bool,
}

/// The node graph of a trace.
#[derive(Debug, Clone, Default)]
pub struct NodeGraph {
    /// Names of processes.
    pub processes: Vec<String>,
    /// Nodes with a name, in order of appearance.
    pub nodes: Vec<GraphNode>,
    /// What they sent each other, by ends and topic.
    pub ways: Vec<GraphEdge>,
}

impl NodeGraph {
    /// Modules in order of appearance.
    #[must_use]
    pub fn modules(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.nodes.iter().map(|node| node.module.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Nodes that send or take anything.
    #[must_use]
    pub fn connected(&self) -> BTreeSet<usize> {
        self.ways
            .iter()
            .flat_map(|way| [way.from, way.to])
            .collect()
    }
}

pub(super) fn read(overview: &Overview, every_topic: bool) -> NodeGraph {
    let graph = &overview.graph;
    let traced: BTreeMap<String, String> = overview
        .start_up()
        .nodes
        .into_iter()
        .filter_map(|node| Some((node.node, node.module?)))
        .collect();
    let mut index = BTreeMap::new();
    let mut nodes = Vec::new();
    for (id, node) in graph.nodes.iter() {
        if node.name.is_none() {
            continue;
        }
        let name = node.full_name();
        let process = node.process.index();
        let module = module_of(&name, traced.get(&name).map(String::as_str));
        index.insert(id, nodes.len());
        nodes.push(GraphNode {
            module,
            name,
            process,
        });
    }
    let mut result = NodeGraph {
        processes: process_names(graph),
        nodes,
        ways: ways(overview, every_topic, &index),
    };
    without_namespaces(&mut result);
    result
}

/// Names of processes that differ: `comm` and number; where that is not enough, as for process 1 of several
/// containers, with the PID namespace, and else numbered.
pub(crate) fn process_names(graph: &Graph) -> Vec<String> {
    let short = |process: &Process| {
        let name = process.name.as_deref().unwrap_or("process");
        format!("{name} {}", process.key.vpid)
    };
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (_, process) in graph.processes.iter() {
        *times.entry(short(process)).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let names = graph.processes.iter().map(|(_, process)| {
        let mut name = short(process);
        if let (2.., Some(inode)) = (times[&name], process.key.pid_namespace) {
            name = format!("{name} (pid_ns {inode})");
        }
        let plain = name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{plain} #{number}");
        }
        name
    });
    names.collect()
}

/// The module of a node: as the trace names it, else the first part of the node's namespace.
pub(crate) fn module_of(node: &str, traced: Option<&str>) -> String {
    traced.map_or_else(|| namespace(node), str::to_owned)
}

/// First part of a node's namespace with its slash; a slash alone for nodes that have none.
fn namespace(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        ["", first, _, ..] => format!("/{first}"),
        _ => "/".to_owned(),
    }
}

/// Where no node has a namespace, processes stand for modules.
fn without_namespaces(graph: &mut NodeGraph) {
    if graph.nodes.iter().all(|node| node.module == "/") {
        for node in &mut graph.nodes {
            node.module.clone_from(&graph.processes[node.process]);
        }
    }
}

/// So far: messages, and the slowest median.
type EdgeSums = BTreeMap<(usize, usize, TopicId), (u64, Option<f64>)>;

fn ways(overview: &Overview, every_topic: bool, index: &BTreeMap<NodeId, usize>) -> Vec<GraphEdge> {
    let graph = &overview.graph;
    let mut seen = EdgeSums::new();
    let mut add =
        |from: Option<NodeId>, to: Option<NodeId>, topic, messages, latency: Option<f64>| {
            let ends = (
                from.and_then(|node| index.get(&node)),
                to.and_then(|node| index.get(&node)),
            );
            let (Some(&from), Some(&to)) = ends else {
                return;
            };
            if !every_topic && graph.is_infrastructure(topic) {
                return;
            }
            let way = seen.entry((from, to, topic)).or_insert((0, None));
            way.0 += messages;
            way.1 = match (way.1, latency) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
        };
    for edge in overview.edge_summaries() {
        let (from, to) = (graph.node_of(edge.from), graph.node_of(edge.to));
        if let Some(topic) = edge.topic {
            let latency = edge.latency.map(|latency| latency.median_ns);
            add(from, to, topic, edge.messages, latency);
        }
    }
    for outside in overview.outside_summaries() {
        let subscription = &graph.subscriptions[outside.subscription];
        let from = graph.publishers[outside.publisher].node;
        let latency = outside.latency.map(|latency| latency.median_ns);
        let to = Some(subscription.node);
        add(from, to, subscription.topic, outside.messages, latency);
    }
    let seconds = overview
        .extent
        .map_or(0.0, |extent| (extent.to_ns - extent.from_ns) as f64 / 1e9);
    let way = |((from, to, topic), (messages, latency_ns))| GraphEdge {
        from,
        to,
        topic: graph.topics[topic].clone(),
        messages,
        hz: (seconds > 0.0).then(|| messages as f64 / seconds),
        latency_ns,
        class: None,
        chain: false,
    };
    seen.into_iter().map(way).collect()
}

/// A rate that would be shown as nothing.
const SLOWEST_HZ: f64 = 0.05;

/// What stands beside an arrow: how often, or how many where they are few, and how long.
pub(super) fn rate_and_latency(messages: u64, hz: Option<f64>, latency_ns: Option<f64>) -> String {
    let often = match hz {
        Some(hz) if hz >= SLOWEST_HZ => format!("{hz:.1} Hz"),
        _ if messages == 1 => "1 message".to_owned(),
        _ => format!("{messages} messages"),
    };
    match latency_ns {
        Some(ns) => format!("{often}, {}", show_ns(ns)),
        None => often,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_of_a_namespace_is_the_module() {
        for (name, module) in [
            ("/sensing/lidar/driver", "/sensing"),
            ("/planning/planner", "/planning"),
            ("/talker", "/"),
        ] {
            assert_eq!(namespace(name), module);
        }
    }
}
