//! Links for distributions that record no takes (Galactic and before).
//!
//! What is known is when a subscription's callback started and when its topic was
//! published on. Takes are therefore inferred from callback starts. Between two
//! publications, the callbacks that start get the latest messages that are still free
//! and that the subscription's history can hold, in order: one callback the latest,
//! two callbacks after a burst the two latest. What is left then was overwritten or
//! lost, and shifts no later link; callbacks that are left got messages of publishers
//! that were not traced. It remains a guess, and is labelled so.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::graph::Graph;
use crate::holes::Holes;
use crate::ids::{ProcessId, PublicationId, SubscriptionId, TakeId, TopicId};
use crate::record::{Confidence, Link, LinkMethod, Take};
use crate::tracker::Records;

/// A message that waited longer is more likely another one, nanoseconds.
const LONGEST_NS: i64 = 1_000_000_000;

/// Inferred takes that wait for a link, and the publications that are no longer free.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    waiting: FxHashMap<SubscriptionId, Vec<(i64, TakeId)>>,
    /// The last publication that was given or passed over.
    last: FxHashMap<SubscriptionId, PublicationId>,
}

/// A publication of which only its entry into rclcpp or rcl is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bare {
    pub time_ns: i64,
    pub id: PublicationId,
    pub process: ProcessId,
}

/// Publications of a topic by time.
type Published = VecDeque<Bare>;

impl Guesses {
    /// Adds an inferred take.
    pub fn add(&mut self, subscription: SubscriptionId, id: TakeId, take: &Take) {
        self.waiting
            .entry(subscription)
            .or_default()
            .push((take.time_ns, id));
    }

    /// Links what waits.
    pub fn link<'p>(
        &mut self,
        graph: &Graph,
        holes: &Holes,
        records: &mut Records,
        published: impl Fn(TopicId) -> Option<&'p Published>,
    ) {
        for (subscription, takes) in self.waiting.drain() {
            let entry = &graph.subscriptions[subscription];
            let Some(list) = published(entry.topic) else {
                continue;
            };
            let depth = usize::try_from(entry.depth).unwrap_or(usize::MAX).max(1);
            // Ids ascend with time.
            let last = self.last.get(&subscription).copied();
            let mut free = last.map_or(0, |last| list.partition_point(|bare| bare.id <= last));
            let sent = |take: &(i64, TakeId)| list.partition_point(|bare| bare.time_ns < take.0);
            for together in takes.chunk_by(|a, b| sent(a) == sent(b)) {
                let sent = sent(&together[0]);
                let from = free.max(sent.saturating_sub(depth));
                let count = sent.saturating_sub(from).min(together.len());
                free = free.max(sent);
                for (at, &(time_ns, take)) in (sent - count..sent).zip(together) {
                    let sent = list[at];
                    if time_ns - sent.time_ns <= LONGEST_NS {
                        let link = Link {
                            publication: sent.id,
                            method: LinkMethod::LatestBeforeCallback,
                            confidence: Confidence::Guessed,
                        };
                        // A later publication may have been discarded.
                        let doubt = holes.touch(sent.process, sent.time_ns, time_ns);
                        records.takes[take].set_link(Some(link), doubt);
                    }
                }
            }
            if let Some(passed) = free.checked_sub(1).and_then(|at| list.get(at)) {
                self.last.insert(subscription, passed.id);
            }
        }
    }
}
