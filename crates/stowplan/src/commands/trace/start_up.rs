//! `stowplan trace start-up`.

use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{Overview, Process, ProcessStartUp, Reading};

use crate::documents;
use crate::documents::trace_system::{
    StartedModule, StartedNode, StartedProcess, TraceStartUp, Transition,
};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// Runs the command.
pub fn run(dir: &Path, json: bool) -> Result<(), CommandError> {
    let overview = Overview::from_ctf(dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let document = document(&overview);
    if json {
        return documents::print(&document);
    }
    let shown = |ns: Option<i64>| ns.map_or_else(|| "–".to_owned(), |ns| show_ns(ns as f64));
    let mut table = table::new(["node", "pid", "made", "first publication", "first callback"]);
    for node in &document.nodes {
        table.add_row([
            node.node.clone(),
            node.pid.to_string(),
            shown(node.init_ns),
            shown(node.first_publication_ns),
            shown(node.first_callback_ns),
        ]);
    }
    tell!("times since the first event of the trace")?;
    tell!("{table}")
}

fn document(overview: &Overview) -> TraceStartUp {
    let start_up = overview.start_up();
    let origin_ns = overview.extent.map_or(0, |extent| extent.from_ns);
    let since = |ns: i64| ns - origin_ns;
    let graph = &overview.graph;
    let processes = start_up.processes.iter().map(|process| {
        let nodes = start_up
            .nodes
            .iter()
            .filter(|n| n.process == process.process);
        let inits: Vec<i64> = nodes.filter_map(|node| node.init_ns).collect();
        started(
            &graph.processes[process.process],
            process,
            &inits,
            origin_ns,
        )
    });
    TraceStartUp {
        schema: "stowplan.trace-start-up/1",
        origin_ns,
        processes: processes.collect(),
        nodes: start_up
            .nodes
            .iter()
            .map(|node| StartedNode {
                node: node.node.clone(),
                pid: graph.processes[node.process].key.vpid,
                module: node.module.clone(),
                init_ns: node.init_ns.map(since),
                loaded_ns: node.loaded_ns.map(since),
                first_publication_ns: node.first_publication_ns.map(since),
                first_callback_ns: node.first_callback_ns.map(since),
                transitions: node
                    .transitions
                    .iter()
                    .map(|(from, to, at_ns)| Transition {
                        from: from.clone(),
                        to: to.clone(),
                        at_ns: since(*at_ns),
                    })
                    .collect(),
            })
            .collect(),
        modules: start_up
            .modules
            .iter()
            .map(|module| StartedModule {
                module: module.module.clone(),
                nodes: module.nodes,
                first_load_begin_ns: module.first_load_begin_ns.map(since),
                last_loaded_ns: since(module.last_loaded_ns),
            })
            .collect(),
    }
}

fn started(
    process: &Process,
    start_up: &ProcessStartUp,
    inits: &[i64],
    origin_ns: i64,
) -> StartedProcess {
    let since = |ns: i64| ns - origin_ns;
    StartedProcess {
        pid: process.key.vpid,
        pid_ns: process.key.pid_namespace,
        host: process.key.host.clone(),
        trace: process.key.trace.clone(),
        name: process.name.clone(),
        start_ns: start_up.start_ns.map(since),
        first_event_ns: since(process.first_ns),
        rcl_init_ns: start_up.rcl_init_ns.map(since),
        first_node_ns: inits.iter().min().copied().map(since),
        last_node_ns: inits.iter().max().copied().map(since),
        nodes: inits.len() as u64,
    }
}
