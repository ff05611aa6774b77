//! CARET's architecture file: its named paths as chains of nodes.

use std::path::Path;

use serde::Deserialize;
use stowplan_trace::{NodeChain, NodeStep};

use crate::failure::{CommandError, ExitCode};
use crate::output::note;

/// What CARET writes where nobody has said anything yet.
const UNDEFINED: &str = "UNDEFINED";

#[derive(Debug, Deserialize)]
struct Architecture {
    #[serde(default)]
    named_paths: Vec<NamedPath>,
    #[serde(default)]
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct NamedPath {
    path_name: String,
    #[serde(default)]
    node_chain: Vec<ChainNode>,
}

#[derive(Debug, Deserialize)]
struct ChainNode {
    node_name: String,
    publish_topic_name: Option<String>,
    subscribe_topic_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Node {
    node_name: String,
    #[serde(default)]
    message_contexts: Vec<MessageContext>,
}

#[derive(Debug, Deserialize)]
struct MessageContext {
    context_type: String,
    subscription_topic_name: Option<String>,
    publisher_topic_name: Option<String>,
}

/// The named paths of an architecture file.
pub fn read(file: &Path) -> Result<Vec<NodeChain>, CommandError> {
    let wrong = |cause: String| {
        CommandError::new(ExitCode::BadInput, format!("{}: {cause}", file.display()))
    };
    let text =
        std::fs::read_to_string(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let architecture: Architecture =
        serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if architecture.named_paths.is_empty() {
        let message = "has no named_paths".to_owned();
        return Err(wrong(message).hint("name a path in CARET's architecture file first"));
    }
    for path in &architecture.named_paths {
        other_contexts(path, &architecture.nodes);
    }
    let paths = architecture.named_paths.into_iter().map(|path| NodeChain {
        name: path.path_name,
        nodes: path
            .node_chain
            .into_iter()
            .map(|node| NodeStep {
                node: node.node_name,
                subscribe: defined(node.subscribe_topic_name),
                publish: defined(node.publish_topic_name),
            })
            .collect(),
    });
    Ok(paths.collect())
}

fn defined(name: Option<String>) -> Option<String> {
    name.filter(|name| name != UNDEFINED)
}

/// Says where a path goes through a context that is not followed as CARET would.
fn other_contexts(path: &NamedPath, nodes: &[Node]) {
    for step in &path.node_chain {
        let contexts = nodes
            .iter()
            .filter(|node| node.node_name == step.node_name)
            .flat_map(|node| &node.message_contexts)
            .filter(|context| {
                context.subscription_topic_name == step.subscribe_topic_name
                    && context.publisher_topic_name == step.publish_topic_name
            });
        for context in contexts {
            let kind = context.context_type.as_str();
            if !["use_latest_message", "callback_chain", UNDEFINED].contains(&kind) {
                note!(
                    "warning: path '{}': node {} has the context {kind}, which needs message \
                     contents; the latest message is taken instead",
                    path.path_name,
                    step.node_name
                );
            }
        }
    }
}
