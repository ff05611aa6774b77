//! When the processes, nodes and modules of a trace came up.

use serde::Serialize;
use stowplan_trace::{Id as _, Overview, StartUp};

use crate::graph::{module_of, process_names};

/// Start-up; all times ns since the first event of the trace.
#[derive(Serialize)]
pub(super) struct Started {
    /// Whether modules are those that the trace names, not namespaces.
    traced_modules: bool,
    processes: Vec<Process>,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Process {
    name: String,
    start: Option<i64>,
    first_event: i64,
    rcl_init: Option<i64>,
    matched: Option<i64>,
}

#[derive(Serialize)]
struct Node {
    name: String,
    /// Index of its process.
    process: usize,
    module: String,
    load_begin: Option<i64>,
    init: Option<i64>,
    loaded: Option<i64>,
    publication: Option<i64>,
    callback: Option<i64>,
    /// State entered, and when.
    transitions: Vec<(String, i64)>,
}

pub(super) fn started(overview: &Overview) -> Started {
    let start_up = overview.start_up();
    let origin = overview.extent.map_or(0, |extent| extent.from_ns);
    Started {
        traced_modules: start_up.nodes.iter().any(|node| node.module.is_some()),
        processes: processes(overview, &start_up, origin),
        nodes: nodes(start_up, origin),
    }
}

fn processes(overview: &Overview, start_up: &StartUp, origin: i64) -> Vec<Process> {
    let since = |ns: i64| ns - origin;
    let names = process_names(&overview.graph);
    let all = start_up.processes.iter().map(|of| {
        let process = &overview.graph.processes[of.process];
        Process {
            name: names[of.process.index()].clone(),
            start: of.start_ns.map(since),
            first_event: since(process.first_ns),
            rcl_init: of.rcl_init_ns.map(since),
            matched: of.endpoints_matched_ns.map(since),
        }
    });
    all.collect()
}

fn nodes(start_up: StartUp, origin: i64) -> Vec<Node> {
    let since = |ns: i64| ns - origin;
    let all = start_up.nodes.into_iter().map(|node| Node {
        process: node.process.index(),
        module: module_of(&node.node, node.module.as_deref()),
        load_begin: node.load_begin_ns.map(since),
        init: node.init_ns.map(since),
        loaded: node.loaded_ns.map(since),
        publication: node.first_publication_ns.map(since),
        callback: node.first_callback_ns.map(since),
        transitions: node
            .transitions
            .into_iter()
            .map(|(_, to, at_ns)| (to, since(at_ns)))
            .collect(),
        name: node.node,
    });
    all.collect()
}
