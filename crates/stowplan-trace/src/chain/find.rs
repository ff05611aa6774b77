//! Finds the chains between two topics or nodes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::spec::{Chain, Hop};
use crate::analysis::Analysis;
use crate::graph::{Graph, Owner};
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
pub(super) struct Edges(pub(super) FxHashMap<CallbackId, Vec<(CallbackId, Hop, Option<u64>)>>);

/// What chains are found from.
pub(crate) struct Connections<'g> {
    pub graph: &'g Graph,
    /// Callbacks and the topics that they published on.
    pub publishes: FxHashSet<(CallbackId, TopicId)>,
    /// Messages from callback to callback.
    pub messages: FxHashMap<(CallbackId, CallbackId), u64>,
    /// How often each callback was called.
    pub calls: FxHashMap<CallbackId, u64>,
    /// Length of the trace.
    pub length_ns: i64,
}

impl Analysis {
    /// Chains from one place to another along links of this trace and, inside a
    /// node, from a subscription to a timer that publishes (or as the program itself
    /// says by `message_link` events); at most `limit`.
    #[must_use]
    pub fn find_chains(&self, from: Endpoint<'_>, to: Endpoint<'_>, limit: usize) -> FoundChains {
        Connections::of(self).find(from, to, limit)
    }
}

impl<'g> Connections<'g> {
    fn of(analysis: &'g Analysis) -> Self {
        let (graph, records) = (&analysis.graph, &analysis.records);
        let mut messages: FxHashMap<_, u64> = FxHashMap::default();
        for (_, take) in records.takes.iter() {
            let link = take.link.or(take.doubtful);
            let (Some(link), Some(to)) = (link, take.instance) else {
                continue;
            };
            if let Some(from) = records.publications[link.publication].instance {
                let from = records.instances[from].callback;
                let to = records.instances[to].callback;
                *messages.entry((from, to)).or_default() += 1;
            }
        }
        let publishes = records
            .publications
            .iter()
            .filter_map(|(_, publication)| {
                let topic = graph.publishers[publication.publisher].topic?;
                Some((records.instances[publication.instance?].callback, topic))
            })
            .collect();
        let mut calls: FxHashMap<_, u64> = FxHashMap::default();
        for (_, instance) in records.instances.iter() {
            *calls.entry(instance.callback).or_default() += 1;
        }
        let extent = analysis.extent;
        Self {
            graph,
            publishes,
            messages,
            calls,
            length_ns: extent.map_or(0, |extent| extent.to_ns - extent.from_ns),
        }
    }

    /// See [`Analysis::find_chains`].
    pub fn find(&self, from: Endpoint<'_>, to: Endpoint<'_>, limit: usize) -> FoundChains {
        let begins = self.callbacks_at(from, |callback, topic| {
            self.graph.topic_of(callback) == Some(topic)
        });
        let ends = self.callbacks_at(to, |callback, topic| {
            self.publishes.contains(&(callback, topic))
        });
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
            None if matches!(endpoint, Endpoint::Topic(_)) => Vec::new(),
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

/// Topics that rclcpp itself publishes on: never a chain's output unless asked for.
const IMPLICIT_TOPICS: [&str; 2] = ["/rosout", "/parameter_events"];

/// Paths that may wait to be continued: bounds memory in graphs with many ways.
const MAX_OPEN_PATHS: usize = 100_000;

impl Edges {
    pub(super) fn new(seen: &Connections<'_>) -> Self {
        let graph = seen.graph;
        let mut edges: FxHashMap<CallbackId, Vec<_>> = FxHashMap::default();
        for (&(from, to), &count) in &seen.messages {
            if let Some(topic) = graph.topic_of(to) {
                let hop = (to, Hop::Topic(topic), Some(count));
                edges.entry(from).or_default().push(hop);
            }
        }
        let declared = declared(seen);
        for (from, list) in idle(seen) {
            // What the program says of itself counts more than what is possible.
            if !declared.contains_key(&from) {
                let hops = list.into_iter().map(|to| (to, Hop::Idle, None));
                edges.entry(from).or_default().extend(hops);
            }
        }
        for (from, list) in declared {
            let hops = list.into_iter().map(|to| (to, Hop::Idle, None));
            edges.entry(from).or_default().extend(hops);
        }
        for list in edges.values_mut() {
            list.sort_unstable_by_key(|edge| (edge.0, edge.2.is_none()));
            list.dedup_by_key(|edge| edge.0);
        }
        Self(edges)
    }
}

/// From each subscription to the timers of its node that publish; not from one to a topic of ROS 2 itself: that a node hears of
/// parameters does not make its timer an output of them.
fn idle(seen: &Connections<'_>) -> FxHashMap<CallbackId, Vec<CallbackId>> {
    let graph = seen.graph;
    let takes_data = |to: CallbackId| {
        let topic = graph.topic_of(to);
        topic.is_some_and(|topic| !graph.is_infrastructure(topic))
    };
    let messages = seen.messages.keys().filter(|edge| takes_data(edge.1));
    let mut publishing: FxHashSet<CallbackId> = messages.map(|edge| edge.0).collect();
    let own = seen.publishes.iter();
    publishing.extend(own.filter(|p| !is_implicit(graph, Some(p.1))).map(|p| p.0));
    let mut timers: FxHashMap<NodeId, Vec<CallbackId>> = FxHashMap::default();
    for (id, callback) in graph.callbacks.iter() {
        if let (Owner::Timer(_), Some(node)) = (callback.owner, graph.node_of(id))
            && publishing.contains(&id)
        {
            timers.entry(node).or_default().push(id);
        }
    }
    graph
        .subscriptions
        .iter()
        .filter(|(_, subscription)| !graph.is_infrastructure(subscription.topic))
        .filter_map(|(_, subscription)| {
            let timers = timers.get(&subscription.node)?;
            Some((subscription.callback?, timers.clone()))
        })
        .collect()
}

/// From each subscription to the callbacks whose publications rest on it, as the
/// program itself says.
fn declared(seen: &Connections<'_>) -> FxHashMap<CallbackId, Vec<CallbackId>> {
    let graph = seen.graph;
    let mut ways: FxHashMap<CallbackId, Vec<CallbackId>> = FxHashMap::default();
    for link in &graph.message_links {
        for &publisher in &link.publishers {
            let publisher = &graph.publishers[publisher];
            let outputs = seen.publishes.iter().filter(|(callback, topic)| {
                Some(*topic) == publisher.topic && graph.node_of(*callback) == publisher.node
            });
            for &(to, _) in outputs {
                for &input in &link.subscriptions {
                    if let Some(from) = graph.subscriptions[input].callback
                        && from != to
                    {
                        ways.entry(from).or_default().push(to);
                    }
                }
            }
        }
    }
    ways
}

/// Whether a topic is one that rclcpp itself publishes on.
pub(crate) fn is_implicit(graph: &Graph, topic: Option<TopicId>) -> bool {
    topic.is_none_or(|topic| IMPLICIT_TOPICS.contains(&graph.topics[topic].as_str()))
}

#[derive(Debug, Clone)]
pub(super) struct Path {
    callbacks: Vec<CallbackId>,
    hops: Vec<Hop>,
    messages: Vec<Option<u64>>,
}

impl Path {
    pub(super) fn begin(callback: CallbackId) -> Self {
        Self {
            callbacks: vec![callback],
            hops: Vec::new(),
            messages: Vec::new(),
        }
    }

    pub(super) fn with(&self, next: CallbackId, hop: Hop, messages: Option<u64>) -> Self {
        let mut path = self.clone();
        path.callbacks.push(next);
        path.hops.push(hop);
        path.messages.push(messages);
        path
    }

    pub(super) fn into_chain(self, output: Option<TopicId>) -> FoundChain {
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
