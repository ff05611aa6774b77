//! Chains given as nodes and the topics between them, as CARET's `named_paths` are.

use super::spec::{Chain, ChainError, Hop};
use crate::analysis::Analysis;
use crate::ids::{CallbackId, NodeId, TopicId};

/// A chain of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChain {
    /// Name.
    pub name: String,
    /// The nodes in order.
    pub nodes: Vec<NodeStep>,
}

/// One node of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStep {
    /// Full name.
    pub node: String,
    /// Topic that its data comes on; `None` for a chain's first node.
    pub subscribe: Option<String>,
    /// Topic that its result goes out on; `None` for a chain's last node.
    pub publish: Option<String>,
}

impl Analysis {
    /// The callbacks of a chain of nodes.
    ///
    /// Inside a node: the callback of the subscription; if that one does not publish
    /// the result itself, the callback that does follows, with the latest data
    /// (CARET's context `use_latest_message`).
    ///
    /// # Errors
    /// When the trace has no such callback, or several.
    pub fn resolve_nodes(&self, spec: &NodeChain) -> Result<Chain, ChainError> {
        let mut chain = Chain {
            name: spec.name.clone(),
            callbacks: Vec::new(),
            hops: Vec::new(),
            output: None,
        };
        let publishes = super::follow::publishes(self);
        for step in &spec.nodes {
            let of_node = self.callbacks_of(spec, step)?;
            let topic = step.publish.as_deref().map(|t| self.topic_of_spec(spec, t));
            let topic = topic.transpose()?;
            let publishing = |topic: TopicId| {
                let all = of_node.iter().copied();
                all.filter(|&id| publishes(id, topic)).collect::<Vec<_>>()
            };
            if let Some(subscribe) = &step.subscribe {
                let from = self.topic_of_spec(spec, subscribe)?;
                let fits = |id: &CallbackId| self.graph.topic_of(*id) == Some(from);
                let found: Vec<_> = of_node.iter().copied().filter(fits).collect();
                let what = format!("subscription {subscribe}");
                let input = self.only(spec, step, &found, &what)?;
                chain.add(input, Hop::Topic(from));
                if topic.is_none_or(|topic| publishes(input, topic)) {
                    continue;
                }
            }
            if let Some(topic) = topic {
                let what = format!("publishes {}", self.graph.topics[topic]);
                let output = self.only(spec, step, &publishing(topic), &what)?;
                chain.add(output, Hop::Idle);
            }
        }
        if chain.callbacks.is_empty() {
            return Err(ChainError::Empty(spec.name.clone()));
        }
        let last = spec.nodes.last().and_then(|step| step.publish.as_deref());
        chain.output = last.and_then(|topic| self.graph.topic(topic));
        Ok(chain)
    }

    fn callbacks_of(
        &self,
        spec: &NodeChain,
        step: &NodeStep,
    ) -> Result<Vec<CallbackId>, ChainError> {
        let graph = &self.graph;
        let named =
            |node: Option<NodeId>| node.is_some_and(|n| graph.nodes[n].is_named(&step.node));
        let ids = graph.callbacks.ids();
        let of_node: Vec<CallbackId> = ids.filter(|&id| named(graph.node_of(id))).collect();
        if of_node.is_empty() {
            return Err(self.none(spec, step, "any", &of_node));
        }
        Ok(of_node)
    }

    fn topic_of_spec(&self, spec: &NodeChain, topic: &str) -> Result<TopicId, ChainError> {
        self.graph.topic(topic).ok_or_else(|| ChainError::NoTopic {
            chain: spec.name.clone(),
            topic: topic.to_owned(),
        })
    }

    fn only(
        &self,
        spec: &NodeChain,
        step: &NodeStep,
        found: &[CallbackId],
        what: &str,
    ) -> Result<CallbackId, ChainError> {
        match found {
            [one] => Ok(*one),
            [] => Err(self.none(spec, step, what, &self.callbacks_of(spec, step)?)),
            _ => Err(ChainError::SeveralCallbacks {
                chain: spec.name.clone(),
                selector: format!("{} {what}", step.node),
                count: found.len(),
            }),
        }
    }

    fn none(
        &self,
        spec: &NodeChain,
        step: &NodeStep,
        what: &str,
        of_node: &[CallbackId],
    ) -> ChainError {
        let present: Vec<String> = of_node.iter().map(|&id| self.graph.describe(id)).collect();
        ChainError::NoCallback {
            chain: spec.name.clone(),
            selector: format!("{} {what}", step.node),
            node: step.node.clone(),
            present: if present.is_empty() {
                "no callbacks in this trace".to_owned()
            } else {
                present.join(", ")
            },
        }
    }
}

impl Chain {
    fn add(&mut self, callback: CallbackId, hop: Hop) {
        if !self.callbacks.is_empty() {
            self.hops.push(hop);
        }
        self.callbacks.push(callback);
    }
}
