//! Chains that nobody asked for: the longest that a trace shows, from sensors to actuators.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::find::{Connections, Edges, FoundChain, Path};
use super::spec::Hop;
use crate::graph::Owner;
use crate::ids::CallbackId;

/// A way on which fewer messages went shows no habit of the system.
const FEWEST_MESSAGES: u64 = 10;
/// Timers that are slower give a chain few instances.
const SLOWEST_NS: i64 = 1_000_000_000;
/// What a node hears more rarely than this on average is a setting for its timers, such as a map: no flow of data goes on from it.
const RAREST_NS: i128 = 2_000_000_000;

/// The callback before each on the shortest way from a beginning, and how data gets from it.
type Before = FxHashMap<CallbackId, Option<(CallbackId, Hop, Option<u64>)>>;

impl Connections<'_> {
    /// See [`Overview::longest_chains`](crate::Overview::longest_chains).
    pub fn longest(&self, limit: usize) -> Vec<FoundChain> {
        let edges = self.frequent();
        let entered: FxHashSet<CallbackId> = edges.0.values().flatten().map(|hop| hop.0).collect();
        let mut begins: Vec<CallbackId> = edges.0.keys().copied().collect();
        begins.retain(|&callback| !entered.contains(&callback) && self.can_begin(callback));
        begins.sort_unstable();
        let mut ways: Vec<Vec<CallbackId>> = Vec::new();
        let mut before = FxHashMap::default();
        for begin in begins {
            let reached = reached(&edges, begin);
            ways.extend(farthest(&edges, &reached));
            before.insert(begin, reached);
        }
        ways.sort_by_key(|way| Reverse(extent(&before[&way[0]], way)));
        let mut ends = FxHashSet::default();
        ways.retain(|way| ends.insert(way[way.len() - 1]));
        ways.truncate(limit);
        ways.into_iter()
            .map(|way| chain(&before[&way[0]], &way))
            .collect()
    }

    /// What leads where between nodes with names, without what is rare or ROS 2's own.
    fn frequent(&self) -> Edges {
        let mut edges = Edges::new(self);
        for (&from, list) in &mut edges.0 {
            list.retain(|&(to, hop, messages)| {
                !self.is_own(to)
                    && self.is_named(to)
                    && !self.is_slow(to)
                    && messages.is_none_or(|count| count >= FEWEST_MESSAGES)
                    && (hop != Hop::Idle || self.is_steady(from))
            });
        }
        edges
            .0
            .retain(|&from, list| !list.is_empty() && !self.is_own(from) && self.is_named(from));
        edges
    }

    /// Whether a topic of ROS 2 itself starts a callback.
    fn is_own(&self, callback: CallbackId) -> bool {
        let topic = self.graph.topic_of(callback);
        topic.is_some_and(|topic| self.graph.is_infrastructure(topic))
    }

    /// Whether the trace has a name for the callback's node: nobody could ask for a chain without.
    fn is_named(&self, callback: CallbackId) -> bool {
        let node = self.graph.node_of(callback);
        node.is_some_and(|node| self.graph.nodes[node].name.is_some())
    }

    fn is_slow(&self, callback: CallbackId) -> bool {
        match self.graph.callbacks[callback].owner {
            Owner::Timer(timer) => self.graph.timers[timer].period_ns > SLOWEST_NS,
            _ => false,
        }
    }

    /// Whether a callback is that of a sensor or of what comes from one: a timer that is not slow, or a subscription.
    fn can_begin(&self, callback: CallbackId) -> bool {
        let owner = self.graph.callbacks[callback].owner;
        matches!(owner, Owner::Timer(_) | Owner::Subscription(_)) && !self.is_slow(callback)
    }

    /// Whether a callback is called so often that a timer that uses its data uses new ones.
    fn is_steady(&self, callback: CallbackId) -> bool {
        let calls = self.calls.get(&callback).copied().unwrap_or(0);
        i128::from(calls) * RAREST_NS >= i128::from(self.length_ns)
    }
}

/// Every callback to which a beginning leads, by the shortest ways.
fn reached(edges: &Edges, begin: CallbackId) -> Before {
    let mut before: Before = FxHashMap::default();
    before.insert(begin, None);
    let mut queue = VecDeque::from([begin]);
    while let Some(at) = queue.pop_front() {
        for &(to, hop, messages) in edges.0.get(&at).into_iter().flatten() {
            before.entry(to).or_insert_with(|| {
                queue.push_back(to);
                Some((at, hop, messages))
            });
        }
    }
    before
}

/// The longest of the ways to where nothing leads on: to actuators. Where all goes round in a circle, the longest of all.
fn farthest(edges: &Edges, before: &Before) -> Option<Vec<CallbackId>> {
    let goes_on = |callback: &CallbackId| edges.0.contains_key(callback);
    let mut ends: Vec<CallbackId> = before.keys().copied().collect();
    ends.sort_unstable();
    if ends.iter().any(|end| !goes_on(end)) {
        ends.retain(|end| !goes_on(end));
    }
    let ways = ends.into_iter().map(|end| way(before, end));
    ways.max_by_key(|way| extent(before, way))
        .filter(|way| way.len() > 1)
}

/// How far a way leads: its messages, and of as many those with the least waiting for timers.
fn extent(before: &Before, way: &[CallbackId]) -> (usize, Reverse<usize>) {
    let hops = way.iter().filter_map(|at| before[at]);
    let idle = hops.filter(|hop| hop.1 == Hop::Idle).count();
    (way.len() - 1 - idle, Reverse(idle))
}

fn way(before: &Before, end: CallbackId) -> Vec<CallbackId> {
    let mut way = vec![end];
    while let Some((from, ..)) = before[&way[way.len() - 1]] {
        way.push(from);
    }
    way.reverse();
    way
}

fn chain(before: &Before, way: &[CallbackId]) -> FoundChain {
    let mut path = Path::begin(way[0]);
    for &to in &way[1..] {
        if let Some((_, hop, messages)) = before[&to] {
            path = path.with(to, hop, messages);
        }
    }
    path.into_chain(None)
}
