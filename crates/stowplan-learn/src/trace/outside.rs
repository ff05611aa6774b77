//! What the trace does not hold: who publishes the messages that its nodes got from elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stowplan_model::Executor;
use stowplan_trace::{Id, Owner};

use super::nodes::{NEVER_NS, NodeEntry, SAME_RATE, rounded};
use super::observe::Observed;
use crate::draft::{Draft, DraftCallback, DraftModule, DraftNode, DraftProcess, DraftTrigger};
use crate::names::{self, free};

/// Name of the module, process and node that stand for everything outside of the trace.
const OUTSIDE: &str = "outside";

/// Sources of the messages that come from outside.
pub(super) struct Outside {
    node: DraftNode,
    process: String,
    topics: usize,
}

/// Sources for all topics that somebody subscribes to and nobody of the trace publishes on.
pub(super) fn sources(observed: &Observed<'_>, entries: &[NodeEntry]) -> Outside {
    let callbacks = || entries.iter().flat_map(|entry| &entry.draft.callbacks);
    let published: HashSet<&str> = callbacks()
        .filter(|callback| callback.trigger != DraftTrigger::Timer(NEVER_NS))
        .flat_map(|callback| &callback.publishes)
        .map(String::as_str)
        .collect();
    let advertised: HashSet<&str> = callbacks()
        .flat_map(|callback| &callback.publishes)
        .map(String::as_str)
        .collect();
    let periods = periods(observed);
    let subscribed: BTreeSet<&str> = callbacks()
        .filter_map(|callback| match &callback.trigger {
            DraftTrigger::Subscription(topic) => Some(topic.as_str()),
            DraftTrigger::Timer(_) => None,
        })
        .filter(|topic| !published.contains(topic))
        .collect();
    let mut taken = HashSet::new();
    let mut node = DraftNode {
        name: OUTSIDE.to_owned(),
        process: OUTSIDE.to_owned(),
        start_up: None,
        callbacks: Vec::new(),
        comment: "stands for what published and is not in the trace".to_owned(),
    };
    let mut silent = Vec::new();
    for topic in subscribed {
        let last = names::parts(topic).last().copied().unwrap_or("topic");
        if let Some(&(period, calls)) = periods.get(topic) {
            node.callbacks.push(DraftCallback {
                name: free(&mut taken, &format!("publish_{last}")),
                trigger: DraftTrigger::Timer(rounded(period)),
                publishes: vec![topic.to_owned()],
                uses: Vec::new(),
                work: None,
                comment: format!("one subscription got {calls} messages"),
            });
        } else if !advertised.contains(topic) {
            silent.push(topic.to_owned());
        }
    }
    if !silent.is_empty() {
        node.callbacks.push(DraftCallback {
            name: free(&mut taken, "silent"),
            trigger: DraftTrigger::Timer(NEVER_NS),
            publishes: silent,
            uses: Vec::new(),
            work: None,
            comment: "no message came, but a subscription has to be of a topic".to_owned(),
        });
    }
    let mut used: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    node.name = free(&mut used, OUTSIDE);
    let mut processes: HashSet<String> = entries.iter().map(|e| e.draft.process.clone()).collect();
    node.process = free(&mut processes, OUTSIDE);
    Outside {
        topics: node.callbacks.iter().map(|c| c.publishes.len()).sum(),
        process: node.process.clone(),
        node,
    }
}

/// Of each topic, the shortest period at which one of its subscriptions was called, and how often.
fn periods<'a>(observed: &Observed<'a>) -> BTreeMap<&'a str, (f64, u64)> {
    let graph = &observed.analysis.graph;
    let mut periods: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for (id, callback) in graph.callbacks.iter() {
        let Owner::Subscription(subscription) = callback.owner else {
            continue;
        };
        let stream = &observed.calls[id.index()].stream;
        let Some(period) = stream.period_ns(observed.window) else {
            continue;
        };
        let topic = graph.topics[graph.subscriptions[subscription].topic].as_str();
        let entry = periods.entry(topic).or_insert((period, stream.count));
        // Of equal ones the first, so that the result does not depend on rounding.
        if period < entry.0 * (1.0 - SAME_RATE) {
            *entry = (period, stream.count);
        }
    }
    periods
}

impl Outside {
    /// Number of topics that come from outside.
    pub fn topics(&self) -> usize {
        self.topics
    }

    /// Adds the sources, as a module of their own, if there are any.
    pub fn add_to(&self, draft: &mut Draft) {
        if self.node.callbacks.is_empty() {
            return;
        }
        draft.processes.push(DraftProcess {
            name: self.process.clone(),
            executor: Executor::Single,
            component_container: false,
            comment: self.node.comment.clone(),
        });
        let mut modules: HashSet<String> = draft.modules.iter().map(|m| m.name.clone()).collect();
        draft.modules.push(DraftModule {
            name: free(&mut modules, OUTSIDE),
            nodes: vec![self.node.clone()],
        });
    }
}
