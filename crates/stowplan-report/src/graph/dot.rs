//! The node graph as Graphviz DOT.

use std::fmt::Write as _;

use super::node_graph::{NodeGraph, rate_and_latency};

/// Nodes by process; an arrow per topic.
pub(super) fn write(graph: &NodeGraph) -> String {
    let mut out = String::from("digraph trace {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, process) in graph.processes.iter().enumerate() {
        let nodes = graph.nodes.iter().enumerate();
        let mut nodes = nodes.filter(|(_, node)| node.process == number).peekable();
        if nodes.peek().is_none() {
            continue;
        }
        let label = quoted(process);
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={label};");
        for (id, node) in nodes {
            let _ = writeln!(out, "    n{id} [label={}];", quoted(&node.name));
        }
        out.push_str("  }\n");
    }
    for way in &graph.ways {
        let label = format!(
            "{}\n{}",
            way.topic,
            rate_and_latency(way.messages, way.hz, way.latency_ns)
        );
        let (from, to) = (way.from, way.to);
        let _ = writeln!(out, "  n{from} -> n{to} [label={}];", quoted(&label));
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}
