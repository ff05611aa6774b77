//! The graph of a partition for Graphviz.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use stowplan_model::{Partition, Stack, Trigger};

/// The graph in the DOT language: a cluster per service, edges that cross a boundary in red.
/// Nodes that the partition leaves out stand outside all clusters.
#[must_use]
pub fn dot(stack: &Stack, partition: &Partition) -> String {
    let mut text = String::from(
        "digraph stack {\n  rankdir=LR;\n  node [shape=box, fontsize=10];\n  edge [fontsize=8];\n",
    );
    let mut service_of = HashMap::new();
    for (index, service) in partition.services.iter().enumerate() {
        line(
            &mut text,
            &format!(
                "  subgraph cluster_{index} {{\n    label={};",
                quoted(service.service.as_str())
            ),
        );
        for node in &service.nodes {
            line(&mut text, &format!("    {};", quoted(node.as_str())));
            service_of.insert(node.as_str(), index);
        }
        line(&mut text, "  }");
    }
    let mut subscribers: HashMap<&str, Vec<&str>> = HashMap::new();
    for node in &stack.nodes {
        for callback in &node.callbacks {
            if let Trigger::Subscription { topic } = &callback.trigger {
                subscribers
                    .entry(topic)
                    .or_default()
                    .push(node.name.as_str());
            }
        }
    }
    let mut edges = BTreeSet::new();
    for node in &stack.nodes {
        for topic in node.callbacks.iter().flat_map(|c| &c.publishes) {
            for to in subscribers.get(topic.as_str()).into_iter().flatten() {
                edges.insert((node.name.as_str(), *to, topic.as_str()));
            }
        }
    }
    for (from, to, topic) in edges {
        let crosses = service_of.get(from) != service_of.get(to);
        let colour = if crosses { ", color=red" } else { "" };
        line(
            &mut text,
            &format!(
                "  {} -> {} [label={}{colour}];",
                quoted(from),
                quoted(to),
                quoted(topic)
            ),
        );
    }
    text.push_str("}\n");
    text
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a string does not fail");
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
