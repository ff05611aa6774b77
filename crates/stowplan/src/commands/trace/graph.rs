//! `stowplan trace graph`: nodes and messages as Graphviz DOT.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{NodeId, Overview, Reading, TopicId};

use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell_on;

/// Runs the command.
pub fn run(dir: &Path, output: Option<&Path>) -> Result<(), CommandError> {
    let overview = Overview::from_ctf(dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    let text = dot(&overview);
    match output {
        None => tell_on!("{text}"),
        Some(file) => std::fs::write(file, text).map_err(|error| {
            let message = format!("cannot write {}: {error}", file.display());
            CommandError::new(ExitCode::BadInput, message)
        }),
    }
}

/// Nodes by process; an edge per topic that carried messages, with their rate and
/// the median from publication to callback.
fn dot(overview: &Overview) -> String {
    let graph = &overview.graph;
    let seconds = overview
        .extent
        .map_or(0.0, |extent| (extent.to_ns - extent.from_ns) as f64 / 1e9);
    let mut ways: BTreeMap<(NodeId, NodeId, TopicId), (u64, f64)> = BTreeMap::new();
    for edge in overview.edge_summaries() {
        let ends = (graph.node_of(edge.from), graph.node_of(edge.to), edge.topic);
        if let ((Some(from), Some(to), Some(topic)), Some(latency)) = (ends, edge.latency) {
            let way = ways.entry((from, to, topic)).or_insert((0, 0.0));
            // Several callbacks of a node: the slowest counts.
            way.0 += edge.messages;
            way.1 = way.1.max(latency.median_ns);
        }
    }
    let mut out = String::from("digraph trace {\n  rankdir=LR;\n  node [shape=box];\n");
    for (process, entry) in graph.processes.iter() {
        let nodes = graph.nodes.iter().filter(|(_, n)| n.process == process);
        let mut nodes = nodes.filter(|(_, n)| n.name.is_some()).peekable();
        if nodes.peek().is_none() {
            continue;
        }
        let name = entry.name.as_deref().unwrap_or("process");
        let label = quoted(&format!("{name} {}", entry.key.vpid));
        let number = number(process);
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={label};");
        for (id, node) in nodes {
            let _ = writeln!(
                out,
                "    n{} [label={}];",
                self::number(id),
                quoted(&node.full_name())
            );
        }
        out.push_str("  }\n");
    }
    for ((from, to, topic), (messages, latency)) in ways {
        let rate = if seconds > 0.0 {
            messages as f64 / seconds
        } else {
            0.0
        };
        let label = format!(
            "{}\n{rate:.1} Hz, {}",
            graph.topics[topic],
            show_ns(latency)
        );
        let (from, to) = (number(from), number(to));
        let _ = writeln!(out, "  n{from} -> n{to} [label={}];", quoted(&label));
    }
    out.push_str("}\n");
    out
}

fn number(id: impl stowplan_trace::Id) -> usize {
    id.index()
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}
