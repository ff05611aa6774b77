//! Finds the chains between two topics or nodes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::spec::{Chain, Hop};
use crate::analysis::Analysis;
use crate::graph::Owner;
use crate::ids::{CallbackId, NodeId, TopicId};

/// Where a chain begins or ends, as the user says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// A topic: begin at callbacks that take its messages, end at callbacks that
    /// publish on it.
    Topic(&'a str),
    /// A node: any of its callbacks.
    Node(&'a str),
    /// A topic if the trace has one of this name, else a node.
    Either(&'a str),
}

/// A chain that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundChain {
    /// The chain.
    pub chain: Chain,
    /// For each hop, the messages seen on it; `None` at idle hops, where nothing
    /// in the trace shows that data really goes this way.
    pub messages: Vec<Option<u64>>,
}

/// Chains between two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundChains {
    /// Shortest first.
    pub chains: Vec<FoundChain>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// What leads from callback to callback, as the trace shows it.
struct Edges(FxHashMap<CallbackId, Vec<(CallbackId, Hop, Option<u64>)>>);

impl Analysis {
    /// Chains from one place to another along links of this trace and, inside a
    /// node, from a subscription to a timer that publishes; at most `limit`.
    #[must_use]
    pub fn find_chains(&self, from: Endpoint<'_>, to: Endpoint<'_>, limit: usize) -> FoundChains {
        let publishes = super::follow::publishes(self);
        let begins = self.callbacks_at(from, |callback, topic| {
            self.graph.topic_of(callback) == Some(topic)
        });
        let ends = self.callbacks_at(to, &publishes);
        let output = self.topic_of_endpoint(to);
        let edges = Edges::new(self);
        let mut found = FoundChains {
            chains: Vec::new(),
            more: false,
        };
        // Breadth first gives short chains first and can stop at the limit.
        let mut queue: std::collections::VecDeque<Path> =
            begins.into_iter().map(Path::begin).collect();
        while let Some(path) = queue.pop_front() {
            let last = path.callbacks[path.callbacks.len() - 1];
            if ends.contains(&last) {
                if found.chains.len() == limit {
                    found.more = true;
                    break;
                }
                found.chains.push(path.clone().into_chain(output));
                continue;
            }
            if queue.len() > MAX_OPEN_PATHS {
                found.more = true;
                break;
            }
            for &(next, hop, messages) in edges.0.get(&last).into_iter().flatten() {
                if !path.callbacks.contains(&next) {
                    queue.push_back(path.with(next, hop, messages));
                }
            }
        }
        found
    }

    fn topic_of_endpoint(&self, endpoint: Endpoint<'_>) -> Option<TopicId> {
        match endpoint {
            Endpoint::Topic(name) | Endpoint::Either(name) => self.graph.topic(name),
            Endpoint::Node(_) => None,
        }
    }

    fn callbacks_at(
        &self,
        endpoint: Endpoint<'_>,
        at_topic: impl Fn(CallbackId, TopicId) -> bool,
    ) -> Vec<CallbackId> {
        let graph = &self.graph;
        let (Endpoint::Topic(name) | Endpoint::Node(name) | Endpoint::Either(name)) = endpoint;
        match self.topic_of_endpoint(endpoint) {
            Some(topic) => graph
                .callbacks
                .ids()
                .filter(|&id| at_topic(id, topic))
                .collect(),
            None => graph
                .callbacks
                .ids()
                .filter(|&id| {
                    !matches!(graph.callbacks[id].owner, Owner::Service(_))
                        && graph
                            .node_of(id)
                            .is_some_and(|node| graph.nodes[node].is_named(name))
                })
                .collect(),
        }
    }
}

/// Paths that may wait to be continued: bounds memory in graphs with many ways.
const MAX_OPEN_PATHS: usize = 100_000;

impl Edges {
    fn new(analysis: &Analysis) -> Self {
        let (graph, records) = (&analysis.graph, &analysis.records);
        let mut counts: FxHashMap<(CallbackId, CallbackId), u64> = FxHashMap::default();
        let mut publishing: FxHashSet<CallbackId> = FxHashSet::default();
        for (_, take) in records.takes.iter() {
            let (Some(link), Some(to)) = (take.link, take.instance) else {
                continue;
            };
            if let Some(from) = records.publications[link.publication].instance {
                let from = records.instances[from].callback;
                let to = records.instances[to].callback;
                publishing.insert(from);
                *counts.entry((from, to)).or_default() += 1;
            }
        }
        for (_, publication) in records.publications.iter() {
            let topic = graph.publishers[publication.publisher].topic;
            if let (Some(id), false) = (publication.instance, analysis.is_implicit(topic)) {
                publishing.insert(records.instances[id].callback);
            }
        }
        let mut edges: FxHashMap<CallbackId, Vec<_>> = FxHashMap::default();
        for ((from, to), count) in counts {
            if let Some(topic) = graph.topic_of(to) {
                edges
                    .entry(from)
                    .or_default()
                    .push((to, Hop::Topic(topic), Some(count)));
            }
        }
        let mut timers: FxHashMap<NodeId, Vec<CallbackId>> = FxHashMap::default();
        for (id, callback) in graph.callbacks.iter() {
            if let (Owner::Timer(_), Some(node)) = (callback.owner, graph.node_of(id))
                && publishing.contains(&id)
            {
                timers.entry(node).or_default().push(id);
            }
        }
        for (_, subscription) in graph.subscriptions.iter() {
            let Some(from) = subscription.callback else {
                continue;
            };
            for &to in timers.get(&subscription.node).into_iter().flatten() {
                edges.entry(from).or_default().push((to, Hop::Idle, None));
            }
        }
        for list in edges.values_mut() {
            list.sort_unstable_by_key(|edge| edge.0);
        }
        Self(edges)
    }
}

#[derive(Debug, Clone)]
struct Path {
    callbacks: Vec<CallbackId>,
    hops: Vec<Hop>,
    messages: Vec<Option<u64>>,
}

impl Path {
    fn begin(callback: CallbackId) -> Self {
        Self {
            callbacks: vec![callback],
            hops: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn with(&self, next: CallbackId, hop: Hop, messages: Option<u64>) -> Self {
        let mut path = self.clone();
        path.callbacks.push(next);
        path.hops.push(hop);
        path.messages.push(messages);
        path
    }

    fn into_chain(self, output: Option<TopicId>) -> FoundChain {
        FoundChain {
            chain: Chain {
                name: String::new(),
                callbacks: self.callbacks,
                hops: self.hops,
                output,
            },
            messages: self.messages,
        }
    }
}
