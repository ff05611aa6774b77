//! Chains of a draft: shortest ways along topics and uses.

use std::collections::{HashMap, HashSet, VecDeque};

use super::LearnError;
use crate::draft::{Draft, DraftCallback, DraftChain, DraftNode, DraftTrigger};
use crate::names;

/// Chains that are written where none was asked for.
const CHAINS: usize = 3;

/// Timers that are slower give a chain no instance while anybody looks.
const SLOWEST_NS: u64 = 1_000_000_000;

fn is_slow(callback: &DraftCallback) -> bool {
    matches!(callback.trigger, DraftTrigger::Timer(ns) if ns > SLOWEST_NS)
}

/// Callbacks that lead to each other.
struct Ways<'a> {
    callbacks: Vec<(&'a DraftNode, &'a DraftCallback)>,
    next: Vec<Vec<usize>>,
    entered: Vec<bool>,
}

impl<'a> Ways<'a> {
    fn new(draft: &'a Draft) -> Self {
        let callbacks: Vec<(&DraftNode, &DraftCallback)> = draft
            .nodes()
            .flat_map(|node| node.callbacks.iter().map(move |callback| (node, callback)))
            .collect();
        let mut takers: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut named: HashMap<(&str, &str), usize> = HashMap::new();
        for (index, (node, callback)) in callbacks.iter().enumerate() {
            named.insert((&node.name, &callback.name), index);
            if let DraftTrigger::Subscription(topic) = &callback.trigger {
                takers.entry(topic).or_default().push(index);
            }
        }
        let mut next = vec![Vec::new(); callbacks.len()];
        let mut entered = vec![false; callbacks.len()];
        for (index, (node, callback)) in callbacks.iter().enumerate() {
            if is_slow(callback) {
                continue;
            }
            for topic in &callback.publishes {
                next[index].extend(takers.get(topic.as_str()).into_iter().flatten());
            }
            for used in &callback.uses {
                if let Some(&from) = named.get(&(node.name.as_str(), used.as_str())) {
                    next[from].push(index);
                }
            }
        }
        for &to in next.iter().flatten() {
            entered[to] = true;
        }
        Self {
            callbacks,
            next,
            entered,
        }
    }

    /// The callback before each on a shortest way from one of `begins`, which are their own.
    fn before(&self, begins: &[usize]) -> Vec<Option<usize>> {
        let mut before = vec![None; self.callbacks.len()];
        let mut queue: VecDeque<usize> = begins.iter().copied().collect();
        for &begin in begins {
            before[begin] = Some(begin);
        }
        while let Some(at) = queue.pop_front() {
            for &to in &self.next[at] {
                if before[to].is_none() {
                    before[to] = Some(at);
                    queue.push_back(to);
                }
            }
        }
        before
    }

    fn way(before: &[Option<usize>], end: usize) -> Vec<usize> {
        let mut way = vec![end];
        let mut at = end;
        while let Some(from) = before[at].filter(|&from| from != at) {
            way.push(from);
            at = from;
        }
        way.reverse();
        way
    }

    /// How far a way leads: callbacks, then nodes.
    fn extent(&self, way: &[usize]) -> (usize, usize) {
        let nodes: HashSet<&str> = way
            .iter()
            .map(|&at| self.callbacks[at].0.name.as_str())
            .collect();
        (way.len(), nodes.len())
    }

    fn chain(&self, way: &[usize], comment: &str) -> DraftChain {
        let text = |&at: &usize| {
            let (node, callback) = self.callbacks[at];
            format!("{}/{}", node.name, callback.name)
        };
        let end = |at: usize| self.callbacks[at].0.name.as_str();
        let (first, last) = (way[0], way[way.len() - 1]);
        DraftChain {
            name: names::clean(&format!("{}_to_{}", end(first), end(last))),
            callbacks: way.iter().map(text).collect(),
            comment: comment.to_owned(),
        }
    }
}

/// The chain that was asked for, else the longest shortest ways from a timer that uses nothing to where nothing leads on.
pub(super) fn chains(
    draft: &Draft,
    asked: Option<&(String, String)>,
) -> Result<Vec<DraftChain>, LearnError> {
    let ways = Ways::new(draft);
    if let Some((from, to)) = asked {
        return between(&ways, from, to).map(|chain| vec![chain]);
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    let is_source = |at: usize| {
        matches!(ways.callbacks[at].1.trigger, DraftTrigger::Timer(_)) && !ways.entered[at]
    };
    for begin in (0..ways.callbacks.len()).filter(|&at| is_source(at)) {
        let before = ways.before(&[begin]);
        let mut ends: Vec<usize> = (0..before.len())
            .filter(|&at| before[at].is_some())
            .collect();
        // Where all goes round in a circle, any end will do.
        if ends.iter().any(|&end| ways.next[end].is_empty()) {
            ends.retain(|&end| ways.next[end].is_empty());
        }
        let far = ends
            .into_iter()
            .map(|end| Ways::way(&before, end))
            .max_by_key(|way| ways.extent(way));
        found.extend(far.filter(|way| way.len() > 1));
    }
    found.sort_by_key(|way| std::cmp::Reverse(ways.extent(way)));
    let mut ends = HashSet::new();
    let mut names = HashSet::new();
    let mut chains = Vec::new();
    for way in found {
        if chains.len() < CHAINS && ends.insert(way[way.len() - 1]) {
            let mut chain = ways.chain(&way, "one of the longest that the stack has");
            chain.name = names::free(&mut names, &chain.name);
            chains.push(chain);
        }
    }
    Ok(chains)
}

fn between(ways: &Ways<'_>, from: &str, to: &str) -> Result<DraftChain, LearnError> {
    let of_node = |at: usize, name: &str| {
        let node = ways.callbacks[at].0;
        node.name == name || node.comment == name || node.comment.rsplit('/').next() == Some(name)
    };
    let all = || 0..ways.callbacks.len();
    let begins: Vec<usize> = all()
        .filter(|&at| {
            let trigger = &ways.callbacks[at].1.trigger;
            of_node(at, from) || *trigger == DraftTrigger::Subscription(from.to_owned())
        })
        .collect();
    let before = ways.before(&begins);
    let end = all()
        .filter(|&at| {
            of_node(at, to)
                || ways.callbacks[at]
                    .1
                    .publishes
                    .iter()
                    .any(|topic| topic == to)
        })
        .filter(|&at| before[at].is_some())
        .map(|end| Ways::way(&before, end))
        .filter(|way| way.len() > 1)
        .min_by_key(Vec::len);
    match end {
        Some(way) => Ok(ways.chain(&way, "")),
        None => Err(LearnError::NoChain {
            from: from.to_owned(),
            to: to.to_owned(),
        }),
    }
}
