//! Where chains begin and end, as a user names it.

use stowplan_plan::nearest;
use stowplan_trace::{Endpoint, Graph};

use crate::failure::{CommandError, ExitCode};

/// Before a name that is to be that of a topic, or of a node, where something else has the same name.
const TOPIC: &str = "topic:";
const NODE: &str = "node:";

/// What `text` names: a topic, else a node, unless it says which.
pub fn endpoint(text: &str) -> Endpoint<'_> {
    if let Some(name) = text.strip_prefix(TOPIC) {
        return Endpoint::Topic(name);
    }
    match text.strip_prefix(NODE) {
        Some(name) => Endpoint::Node(name),
        None => Endpoint::Either(text),
    }
}

/// Two places between which there is no chain, or of which one is nowhere in the trace.
pub fn nothing_between(graph: &Graph, from: &str, to: &str) -> CommandError {
    let error = |message: String, hint: Option<String>| CommandError {
        hint,
        ..CommandError::new(ExitCode::BadInput, message)
    };
    for name in [from, to] {
        if !is_there(graph, name) {
            let (kind, bare) = match endpoint(name) {
                Endpoint::Topic(name) => ("topic", name),
                Endpoint::Node(name) => ("node", name),
                Endpoint::Either(name) => ("topic or node", name),
            };
            let known = names(graph, kind);
            let hint = nearest::hint(bare, known.iter().map(String::as_str));
            return error(format!("this trace has no {kind} '{bare}'"), hint);
        }
    }
    let both = [from, to].into_iter().find(|name| {
        matches!(endpoint(name), Endpoint::Either(_))
            && is_topic(graph, name)
            && is_node(graph, name)
    });
    let hint = both.map_or_else(
        || "`trace graph` draws what leads where".to_owned(),
        |name| format!("'{name}' was taken as a topic; for the node write {NODE}{name}"),
    );
    let message = format!("nothing in this trace leads from '{from}' to '{to}'");
    error(message, Some(hint))
}

fn is_there(graph: &Graph, text: &str) -> bool {
    match endpoint(text) {
        Endpoint::Topic(name) => is_topic(graph, name),
        Endpoint::Node(name) => is_node(graph, name),
        Endpoint::Either(name) => is_topic(graph, name) || is_node(graph, name),
    }
}

fn is_topic(graph: &Graph, name: &str) -> bool {
    graph.topic(name).is_some()
}

fn is_node(graph: &Graph, name: &str) -> bool {
    graph.nodes.ids().any(|id| graph.nodes[id].is_named(name))
}

fn names(graph: &Graph, kind: &str) -> Vec<String> {
    let topics = graph.topics.ids().map(|id| graph.topics[id].to_string());
    let nodes = graph.nodes.ids().map(|id| graph.nodes[id].full_name());
    match kind {
        "topic" => topics.collect(),
        "node" => nodes.collect(),
        _ => topics.chain(nodes).collect(),
    }
}
