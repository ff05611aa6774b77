//! What the trace does not hold: who publishes the messages that its nodes got from elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stowplan_model::Executor;
use stowplan_trace::{Id, Owner};

use super::nodes::{NodeEntry, SAME_RATE, rounded};
use super::observe::Observed;
use crate::draft::{Draft, DraftCallback, DraftModule, DraftNode, DraftProcess, DraftTrigger};
use crate::names::{self, free};

/// Name of the module, process and node that stand for everything outside of the trace.
const OUTSIDE: &str = "outside";

/// Sources of the messages that come from outside.
pub(super) struct OutsideSources {
    node: DraftNode,
    process: String,
    topics: usize,
}

/// Sources of what subscriptions got beyond what the nodes of the trace published.
pub(super) fn sources(observed: &Observed<'_>, entries: &[NodeEntry]) -> OutsideSources {
    let callbacks = entries.iter().flat_map(|entry| &entry.draft.callbacks);
    let subscribed: BTreeSet<&str> = callbacks
        .filter_map(|callback| match &callback.trigger {
            DraftTrigger::Subscription(topic) => Some(topic.as_str()),
            DraftTrigger::Timer(_) => None,
        })
        .collect();
    let published = published(observed);
    let called = called(observed);
    let mut taken = HashSet::new();
    let mut node = DraftNode {
        comment: "stands for what published and is not in the trace".to_owned(),
        ..DraftNode::new(OUTSIDE)
    };
    for topic in subscribed {
        let last = names::parts(topic).last().copied().unwrap_or("topic");
        let (got, calls) = called.get(topic).copied().unwrap_or_default();
        let missing = got - published.get(topic).copied().unwrap_or_default();
        if missing > got * SAME_RATE {
            node.callbacks.push(DraftCallback {
                name: free(&mut taken, &format!("publish_{last}")),
                trigger: DraftTrigger::Timer(rounded(1e9 / missing)),
                publishes: vec![topic.to_owned()],
                uses: Vec::new(),
                work: None,
                comment: format!("a subscription got {calls} messages, {got:.4}/s"),
            });
        }
    }
    let mut used: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    node.name = free(&mut used, OUTSIDE);
    let mut processes: HashSet<String> = entries.iter().map(|e| e.draft.process.clone()).collect();
    node.process = free(&mut processes, OUTSIDE);
    OutsideSources {
        topics: node.callbacks.iter().map(|c| c.publishes.len()).sum(),
        process: node.process.clone(),
        node,
    }
}

/// Messages a second that the nodes of the trace published, by topic.
fn published<'a>(observed: &Observed<'a>) -> BTreeMap<&'a str, f64> {
    let graph = &observed.analysis.graph;
    let topics = observed.topics().into_iter();
    topics
        .filter_map(|(id, stream)| {
            let per_s = stream.per_s(observed.window)?;
            Some((graph.topics[id].as_str(), per_s))
        })
        .collect()
}

/// Calls a second of the subscription of each topic that was called most, and how many.
fn called<'a>(observed: &Observed<'a>) -> BTreeMap<&'a str, (f64, u64)> {
    let graph = &observed.analysis.graph;
    let mut called: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for (id, callback) in graph.callbacks.iter() {
        let Owner::Subscription(subscription) = callback.owner else {
            continue;
        };
        let stream = &observed.calls[id.index()].stream;
        let Some(per_s) = stream.per_s(observed.window) else {
            continue;
        };
        let topic = graph.topics[graph.subscriptions[subscription].topic].as_str();
        let most = called.entry(topic).or_default();
        if per_s > most.0 {
            *most = (per_s, stream.count);
        }
    }
    called
}

impl OutsideSources {
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
