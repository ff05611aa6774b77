//! Chains that nobody asked for: the longest that a trace shows.

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

/// The callback before each on the shortest way from a beginning, and how data gets from it.
type Before = FxHashMap<CallbackId, Option<(CallbackId, Hop, Option<u64>)>>;

impl Connections<'_> {
    /// See [`Overview::longest_chains`](crate::Overview::longest_chains).
    pub fn longest(&self, limit: usize) -> Vec<FoundChain> {
        let edges = self.frequent();
        let entered: FxHashSet<CallbackId> = edges.0.values().flatten().map(|hop| hop.0).collect();
        let mut begins: Vec<CallbackId> = edges.0.keys().copied().collect();
        begins.retain(|&callback| !entered.contains(&callback) && !self.is_slow(callback));
        begins.sort_unstable();
        let mut ways: Vec<Vec<CallbackId>> = Vec::new();
        let mut before = FxHashMap::default();
        for begin in begins {
            let (farthest, reached) = self.farthest(&edges, begin);
            ways.push(way(&reached, farthest));
            before.insert(begin, reached);
        }
        ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
        let mut ends = FxHashSet::default();
        ways.retain(|way| way.len() > 1 && ends.insert(way[way.len() - 1]));
        ways.truncate(limit);
        ways.into_iter()
            .map(|way| chain(&before[&way[0]], &way))
            .collect()
    }

    /// What leads where, without what is rare or ROS 2's own.
    fn frequent(&self) -> Edges {
        let mut edges = Edges::new(self);
        for list in edges.0.values_mut() {
            list.retain(|&(to, _, messages)| {
                !self.is_own(to)
                    && messages.is_none_or(|count| count >= FEWEST_MESSAGES)
                    && !self.is_slow(to)
            });
        }
        edges
            .0
            .retain(|&from, list| !list.is_empty() && !self.is_own(from));
        edges
    }

    /// Whether a topic of ROS 2 itself starts a callback.
    fn is_own(&self, callback: CallbackId) -> bool {
        let topic = self.graph.topic_of(callback);
        topic.is_some_and(|topic| self.graph.is_infrastructure(topic))
    }

    fn is_slow(&self, callback: CallbackId) -> bool {
        match self.graph.callbacks[callback].owner {
            Owner::Timer(timer) => self.graph.timers[timer].period_ns > SLOWEST_NS,
            _ => false,
        }
    }

    /// The callback that is farthest from a beginning, and the shortest ways to all.
    fn farthest(&self, edges: &Edges, begin: CallbackId) -> (CallbackId, Before) {
        let mut before: Before = FxHashMap::default();
        before.insert(begin, None);
        let mut queue = VecDeque::from([begin]);
        let mut last = begin;
        while let Some(at) = queue.pop_front() {
            last = at;
            for &(to, hop, messages) in edges.0.get(&at).into_iter().flatten() {
                before.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    Some((at, hop, messages))
                });
            }
        }
        (last, before)
    }
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
