//! Tables of the trace: callbacks, topics, links, chains.

use std::collections::BTreeMap;

use crate::distribution::Distribution;
use crate::graph::{CallbackIdentity, Graph};
use crate::ids::{CallbackId, TopicId};
use crate::record::{Confidence, LinkMethod, Take};

/// A callback and its instances.
#[derive(Debug, Clone, PartialEq)]
pub struct CallbackSummary {
    /// The callback.
    pub callback: CallbackId,
    /// Whom it is across runs.
    pub identity: CallbackIdentity,
    /// Its process as the process sees it.
    pub vpid: i64,
    /// Threads that it ran on, as the process sees them.
    pub vtids: Vec<i64>,
    /// Instances that began.
    pub count: u64,
    /// Instances left out of the durations because they did not end in the trace.
    pub unfinished: u64,
    /// Instances left out because events may have been discarded while they ran.
    pub touched_by_discard: u64,
    /// Wall-clock durations; `None` if there is none.
    pub durations: Option<Distribution>,
}

/// A topic and its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSummary {
    /// The topic.
    pub topic: TopicId,
    /// Its name.
    pub name: String,
    /// Publishers.
    pub publishers: u64,
    /// Subscriptions.
    pub subscriptions: u64,
    /// Publications.
    pub publications: u64,
    /// Messages taken, over all subscriptions.
    pub takes: u64,
    /// Of these, those whose publication was found.
    pub linked: u64,
}

impl TopicSummary {
    pub(crate) fn new(topic: TopicId, name: &str) -> Self {
        Self {
            topic,
            name: name.to_owned(),
            publishers: 0,
            subscriptions: 0,
            publications: 0,
            takes: 0,
            linked: 0,
        }
    }
}

/// How many messages were linked, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSummary {
    /// Messages taken.
    pub takes: u64,
    /// Whose publication was found.
    pub linked: u64,
    /// Whose was not.
    pub unlinked: u64,
    /// Of these, those whose publication may be among the discarded events.
    pub maybe_discarded: u64,
    /// Of the unlinked, those whose source timestamp is after their take: their publisher's clock
    /// is ahead.
    pub unlinked_early: u64,
    /// Most that such a timestamp is after its take, nanoseconds.
    pub most_early_ns: i64,
    /// The found ones by method.
    pub by_method: BTreeMap<LinkMethod, u64>,
    /// The found ones by how sure they are.
    pub by_confidence: BTreeMap<Confidence, u64>,
}

impl LinkSummary {
    pub(crate) fn add(&mut self, graph: &Graph, take: &Take) {
        self.takes += 1;
        self.maybe_discarded += u64::from(take.maybe_discarded);
        match take.link {
            Some(link) => {
                self.linked += 1;
                *self.by_method.entry(link.method).or_default() += 1;
                *self.by_confidence.entry(link.confidence).or_default() += 1;
            }
            None => {
                self.unlinked += 1;
                let process = graph.subscriptions[take.subscription].process;
                let offset = graph.processes[process].realtime_offset_ns;
                let early_ns = take.stamp.zip(offset).map_or(0, |(stamp, offset)| {
                    stamp.saturating_sub(offset.saturating_add(take.time_ns))
                });
                self.unlinked_early += u64::from(early_ns > 0);
                self.most_early_ns = self.most_early_ns.max(early_ns);
            }
        }
    }
}

/// Latencies of a chain over its instances.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainSummary {
    /// Instances that count.
    pub instances: u64,
    /// Instances that do not, because events were discarded on their way.
    pub invalid: u64,
    /// Start of the first callback → output; `None` without instances, as all others.
    pub e2e: Option<Distribution>,
    /// The sensor's release → output; `None` too where the trace has no release.
    pub e2e_full: Option<Distribution>,
    /// Inside callbacks.
    pub computation: Option<Distribution>,
    /// Publication → middleware.
    pub send: Option<Distribution>,
    /// Middleware → reader's cache; `None` too where the trace has no arrivals.
    pub transport: Option<Distribution>,
    /// Reader's cache → callback; `None` too where the trace has no arrivals.
    pub wait: Option<Distribution>,
    /// Middleware → callback: transport and wait together.
    pub transit: Option<Distribution>,
    /// Data waits in a node.
    pub idle: Option<Distribution>,
    /// Reaction of the inputs that have one.
    pub reaction: Option<Distribution>,
    /// Age of the data at outputs.
    pub age: Option<Distribution>,
}
