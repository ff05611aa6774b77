//! What became of each input of a chain.

use rustc_hash::{FxHashMap, FxHashSet};

use super::follow::{self, Level};
use super::spec::{Chain, Hop};
use crate::analysis::Analysis;
use crate::ids::{InstanceId, PublicationId, SubscriptionId, TopicId};
use crate::record::Publication;

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// At least one output rests on it.
    Used,
    /// None does.
    Stopped {
        /// Number of the last callback that it reached, from 0.
        after: usize,
        /// Why it went no further.
        cause: StopCause,
    },
}

/// Why data went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// The callback did not publish on the chain.
    NotPublished,
    /// The message arrived and was replaced before it was taken.
    Overwritten,
    /// The message was not taken; the trace has no arrival of it.
    NotTaken,
    /// The message was taken, but no callback ran on it.
    NoCallback,
    /// Later data came before the next callback used this.
    Superseded,
    /// The trace ends before the callback does.
    Unfinished,
}

impl StopCause {
    /// The cause in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NotPublished => "it published nothing on the chain",
            Self::Overwritten => "a newer message replaced the message before it was taken",
            Self::NotTaken => "the message was not taken",
            Self::NoCallback => "the message was taken, and no callback ran on it",
            Self::Superseded => "newer data came before the next callback used this",
            Self::Unfinished => "the trace ends before the callback does",
        }
    }
}

/// What there is to know about messages that did not go on.
#[derive(Debug, Default)]
pub(super) struct Stops {
    taken: FxHashSet<(SubscriptionId, PublicationId)>,
    arrived: FxHashSet<(SubscriptionId, i64)>,
    ring: FxHashSet<(SubscriptionId, PublicationId)>,
    last_level: usize,
    subscriptions: FxHashMap<usize, SubscriptionId>,
}

impl Stops {
    pub fn new(analysis: &Analysis, chain: &Chain) -> Self {
        let records = &analysis.records;
        let mut stops = Self {
            last_level: chain.callbacks.len() - 1,
            ..Self::default()
        };
        for (at, &callback) in chain.callbacks.iter().enumerate() {
            if let crate::graph::Owner::Subscription(id) = analysis.graph.callbacks[callback].owner
            {
                stops.subscriptions.insert(at, id);
            }
        }
        let wanted: FxHashSet<SubscriptionId> = stops.subscriptions.values().copied().collect();
        for (_, take) in records.takes.iter() {
            if let (Some(link), true) = (take.link, wanted.contains(&take.subscription)) {
                stops.taken.insert((take.subscription, link.publication));
            }
        }
        for arrival in &records.arrivals {
            if wanted.contains(&arrival.subscription) {
                stops.arrived.insert((arrival.subscription, arrival.stamp));
            }
        }
        stops.ring = records.ring_overwrites.iter().copied().collect();
        stops
    }

    /// The fate of an input whose data got as far as `instance` of level `at`.
    pub fn fate(
        &self,
        analysis: &Analysis,
        chain: &Chain,
        at: usize,
        instance: InstanceId,
    ) -> Fate {
        let stopped = |cause| Fate::Stopped { after: at, cause };
        let ended = analysis.records.instances[instance].end_ns.get().is_some();
        if at == self.last_level {
            // The last callback ran; whether it gave an output was asked before.
            return stopped(if ended {
                StopCause::NotPublished
            } else {
                StopCause::Unfinished
            });
        }
        stopped(match chain.hops[at] {
            Hop::Idle if ended => StopCause::Superseded,
            Hop::Idle => StopCause::Unfinished,
            Hop::Topic(topic) => {
                let mut on_topic = on_topic(analysis, instance, topic);
                match (on_topic.next_back(), self.subscriptions.get(&(at + 1))) {
                    (Some((id, publication)), Some(&subscription)) => {
                        self.message(subscription, id, publication)
                    }
                    _ if !ended => StopCause::Unfinished,
                    _ => StopCause::NotPublished,
                }
            }
        })
    }

    fn message(
        &self,
        subscription: SubscriptionId,
        id: PublicationId,
        publication: &Publication,
    ) -> StopCause {
        let arrived = publication
            .stamp
            .get()
            .is_some_and(|stamp| self.arrived.contains(&(subscription, stamp)));
        if self.taken.contains(&(subscription, id)) {
            StopCause::NoCallback
        } else if arrived || self.ring.contains(&(subscription, id)) {
            StopCause::Overwritten
        } else {
            StopCause::NotTaken
        }
    }
}

fn on_topic(
    analysis: &Analysis,
    instance: InstanceId,
    topic: TopicId,
) -> impl DoubleEndedIterator<Item = (PublicationId, &Publication)> {
    follow::publications_of(analysis, instance)
        .filter(|(_, p)| analysis.graph.publishers[p.publisher].topic == Some(topic))
        .collect::<Vec<_>>()
        .into_iter()
}

/// The fates of all inputs; `used` says on which of them an output rests.
pub(super) fn fates(
    analysis: &Analysis,
    chain: &Chain,
    levels: &[Level],
    used: &[bool],
) -> Vec<Fate> {
    let stops = Stops::new(analysis, chain);
    follow::reach(levels)
        .into_iter()
        .zip(used)
        .map(|((at, instance), &used)| {
            if used {
                Fate::Used
            } else {
                stops.fate(analysis, chain, at, instance)
            }
        })
        .collect()
}
