//! How far the clocks of two hosts are apart, as the messages between them prove.
//!
//! No message is taken before it is published. Where times say so, the publisher's
//! clock is ahead of the other's by at least as much as the message seems to be early;
//! messages the other way bound the difference from above.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::graph::Graph;
use crate::ids::ProcessId;
use crate::record::{Confidence, Link};
use crate::tracker::Records;

/// Two hosts whose clocks do not agree: messages were taken before they were published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockDifference {
    /// The host whose clock is ahead.
    pub ahead: String,
    /// The other.
    pub behind: String,
    /// The difference is at least this, nanoseconds.
    pub least_ns: i64,
    /// And at most this, by the messages the other way; `None` without any, and where the
    /// difference changed so that they say otherwise.
    pub most_ns: Option<i64>,
    /// Messages from the host that is ahead to the other.
    pub messages: u64,
    /// Of these, those taken before they were published.
    pub early: u64,
}

impl ClockDifference {
    /// Whether it is between these two hosts.
    #[must_use]
    pub fn is_between(&self, a: &str, b: &str) -> bool {
        let ends = (self.ahead.as_str(), self.behind.as_str());
        ends == (a, b) || ends == (b, a)
    }
}

/// Messages from one process to another, on another host.
#[derive(Debug, Clone, Copy)]
struct Sent {
    messages: u64,
    early: u64,
    /// Most that one was taken before it was published, nanoseconds; negative if none was.
    most_early_ns: i64,
}

impl Sent {
    fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.early += other.early;
        self.most_early_ns = self.most_early_ns.max(other.most_early_ns);
    }
}

/// What messages between hosts say of their clocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence(FxHashMap<(ProcessId, ProcessId), Sent>);

impl Evidence {
    /// What the linked messages of a trace say.
    pub fn of(graph: &Graph, records: &Records) -> Self {
        let mut evidence = Self::default();
        for (_, take) in records.takes.iter() {
            let Some(link) = take.link.filter(is_sure) else {
                continue;
            };
            let publication = &records.publications[link.publication];
            let from = graph.publishers[publication.publisher].process;
            let to = graph.subscriptions[take.subscription].process;
            evidence.add(graph, (from, to), publication.time_ns, take.time_ns);
        }
        evidence
    }

    /// Adds a message; those within a host say nothing.
    pub fn add(&mut self, graph: &Graph, ends: (ProcessId, ProcessId), sent_ns: i64, got_ns: i64) {
        let host = |process: ProcessId| &graph.processes[process].key.host;
        if ends.0 == ends.1 || host(ends.0) == host(ends.1) {
            return;
        }
        let sent = Sent {
            messages: 1,
            early: u64::from(sent_ns > got_ns),
            most_early_ns: sent_ns - got_ns,
        };
        let all = self.0.entry(ends).and_modify(|all| all.add(sent));
        all.or_insert(sent);
    }

    /// Adds what others say.
    pub fn merge(&mut self, other: &Self) {
        for (&ends, &sent) in &other.0 {
            let all = self.0.entry(ends).and_modify(|all| all.add(sent));
            all.or_insert(sent);
        }
    }

    /// The hosts whose clocks do not agree.
    pub fn differences(&self, graph: &Graph) -> Vec<ClockDifference> {
        let mut hosts: BTreeMap<(&str, &str), Sent> = BTreeMap::new();
        for (&(from, to), &sent) in &self.0 {
            let host = |process: ProcessId| graph.processes[process].key.host.as_str();
            let all = hosts.entry((host(from), host(to)));
            all.and_modify(|all| all.add(sent)).or_insert(sent);
        }
        hosts
            .iter()
            .filter(|(_, sent)| sent.early > 0)
            .map(|(&(ahead, behind), sent)| {
                let back = hosts.get(&(behind, ahead));
                let most_ns = back.map(|back| -back.most_early_ns);
                ClockDifference {
                    ahead: ahead.to_owned(),
                    behind: behind.to_owned(),
                    least_ns: sent.most_early_ns,
                    most_ns: most_ns.filter(|&most_ns| most_ns >= sent.most_early_ns),
                    messages: sent.messages,
                    early: sent.early,
                }
            })
            .collect()
    }
}

/// Whether a link proves anything.
pub(crate) fn is_sure(link: &Link) -> bool {
    matches!(link.confidence, Confidence::Certain | Confidence::Probable)
}
