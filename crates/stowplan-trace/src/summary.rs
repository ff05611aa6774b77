//! Tables of the trace: callbacks, topics, links, chains.

use std::collections::{BTreeMap, BTreeSet};

use crate::distribution::Distribution;
use crate::graph::{CallbackIdentity, Graph};
use crate::ids::{CallbackId, Id as _, TopicId};
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
    /// Every topic of a graph with its publishers and subscriptions; messages are still to be counted.
    pub(crate) fn all(graph: &Graph) -> Vec<Self> {
        let topics = graph.topics.iter().map(|(topic, name)| Self {
            topic,
            name: name.clone(),
            publishers: 0,
            subscriptions: 0,
            publications: 0,
            takes: 0,
            linked: 0,
        });
        let mut topics: Vec<Self> = topics.collect();
        for (_, publisher) in graph.publishers.iter() {
            if let Some(topic) = publisher.topic {
                topics[topic.index()].publishers += 1;
            }
        }
        for (_, subscription) in graph.subscriptions.iter() {
            topics[subscription.topic.index()].subscriptions += 1;
        }
        topics
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
    /// The others by topic and by what their take shows: whether a publisher is in the trace is known at its end only.
    without_link: BTreeMap<(TopicId, UnlinkedBecause), u64>,
    /// Where the trace begins, where that was needed.
    begin_ns: Option<i64>,
}

/// Why messages have no link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnlinkedBecause {
    /// Their publications may be among the discarded events.
    Discarded,
    /// The trace has no publisher of the topic: a process publishes it that was not traced.
    NoPublisher,
    /// They were published before the trace begins.
    BeforeTrace,
    /// They were taken before they were published: their publisher's clock is ahead.
    ClockAhead,
    /// They have no source timestamp, and no other way leads to a publication.
    Unstamped,
    /// The trace records no takes, and no publication that is still free was shortly before the callback.
    NotGuessed,
    /// The trace has publishers of the topic, but no publication that fits.
    NoPublication,
}

impl UnlinkedBecause {
    /// As far as a take shows it. `offset`: from the clock of its trace to CLOCK_REALTIME; `begin_ns`: where the trace begins.
    fn of(take: &Take, early: bool, offset: Option<i64>, begin_ns: i64) -> Self {
        if take.maybe_discarded {
            return Self::Discarded;
        }
        if take.inferred {
            return Self::NotGuessed;
        }
        let Some(stamp) = take.stamp.get() else {
            return Self::Unstamped;
        };
        let begin = offset.map(|offset| offset.saturating_add(begin_ns));
        if early {
            Self::ClockAhead
        } else if begin.is_some_and(|begin| stamp < begin) {
            Self::BeforeTrace
        } else {
            Self::NoPublication
        }
    }

    /// The reason in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Discarded => "the publication may be among the discarded events",
            Self::NoPublisher => "the trace has no publisher of this topic",
            Self::BeforeTrace => "published before the trace begins",
            Self::ClockAhead => "taken before it was published: the publisher's clock is ahead",
            Self::Unstamped => {
                "the message has no source timestamp, and nothing else leads to a publication"
            }
            Self::NotGuessed => {
                "the trace records no takes, and no publication was shortly before the callback"
            }
            Self::NoPublication => "no publication in the trace fits",
        }
    }
}

/// Messages of a topic that have no link, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlinkedTopic {
    /// The topic.
    pub topic: TopicId,
    /// Why.
    pub because: UnlinkedBecause,
    /// How many were taken.
    pub takes: u64,
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
                let early_ns = take.stamp.get().zip(offset).map_or(0, |(stamp, offset)| {
                    stamp.saturating_sub(offset.saturating_add(take.time_ns))
                });
                self.unlinked_early += u64::from(early_ns > 0);
                let topic = graph.subscriptions[take.subscription].topic;
                // Events come in order: none of a process that is not known yet is earlier.
                let first = || graph.processes.ids().map(|id| graph.processes[id].first_ns);
                let begin_ns = *self
                    .begin_ns
                    .get_or_insert_with(|| first().min().unwrap_or(0));
                let because = UnlinkedBecause::of(take, early_ns > 0, offset, begin_ns);
                *self.without_link.entry((topic, because)).or_default() += 1;
                self.most_early_ns = self.most_early_ns.max(early_ns);
            }
        }
    }
}

impl LinkSummary {
    /// Messages without a link by topic and reason, the most first. `graph` is that of the whole trace.
    #[must_use]
    pub fn unlinked_topics(&self, graph: &Graph) -> Vec<UnlinkedTopic> {
        let published: BTreeSet<TopicId> = graph
            .publishers
            .ids()
            .filter_map(|id| graph.publishers[id].topic)
            .collect();
        let mut all: BTreeMap<(TopicId, UnlinkedBecause), u64> = BTreeMap::new();
        for (&(topic, because), takes) in &self.without_link {
            let untraced = because != UnlinkedBecause::Discarded && !published.contains(&topic);
            let because = if untraced {
                UnlinkedBecause::NoPublisher
            } else {
                because
            };
            *all.entry((topic, because)).or_default() += takes;
        }
        let all = all.into_iter();
        let all = all.map(|((topic, because), takes)| UnlinkedTopic {
            topic,
            because,
            takes,
        });
        let mut all: Vec<UnlinkedTopic> = all.collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.takes));
        all
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
