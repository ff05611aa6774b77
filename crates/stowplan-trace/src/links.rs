//! Finds the publication of every taken message.
//!
//! Linking comes after the events are read, because a message can be taken
//! before the thread that published it has recorded what follows.

use rustc_hash::FxHashMap;

use crate::graph::Graph;
use crate::ids::{Id, PublicationId, PublisherId, SubscriptionId, TakeId, ThreadId, TopicId};
use crate::record::{Confidence, Link, LinkMethod};
use crate::tracker::Records;

/// Links every take that can be linked and gives it its arrival.
pub(crate) fn link(graph: &Graph, records: &mut Records) {
    let index = PublicationIndex::new(graph, records);
    by_stamp(graph, records, &index);
    arrivals(records);
}

/// Publications of one topic that went through the middleware.
#[derive(Debug, Default)]
struct OfTopic {
    /// With a recorded source timestamp, by it and then by time.
    stamped: Vec<(i64, PublicationId)>,
    /// Without one, by publisher and thread: in each list the times in which the
    /// source timestamps were taken follow each other.
    timed: FxHashMap<(PublisherId, ThreadId), Vec<Timed>>,
}

/// A publication and when its source timestamp was taken, CLOCK_REALTIME.
#[derive(Debug, Clone, Copy)]
struct Timed {
    from_ns: i64,
    to_ns: i64,
    id: PublicationId,
}

#[derive(Debug)]
struct PublicationIndex(Vec<OfTopic>);

impl PublicationIndex {
    fn new(graph: &Graph, records: &Records) -> Self {
        let mut topics = Vec::new();
        topics.resize_with(graph.topics.len(), OfTopic::default);
        for (id, publication) in records.publications.iter() {
            let publisher = &graph.publishers[publication.publisher];
            let (Some(topic), Some(rmw_ns)) = (publisher.topic, publication.rmw_ns) else {
                continue;
            };
            let of_topic: &mut OfTopic = &mut topics[topic.index()];
            if let Some(stamp) = publication.stamp {
                of_topic.stamped.push((stamp, id));
            } else if let Some(offset) = graph.processes[publisher.process].realtime_offset_ns {
                let followed = publication.followed_ns.unwrap_or(i64::MAX);
                let list = of_topic
                    .timed
                    .entry((publication.publisher, publication.thread))
                    .or_default();
                list.push(Timed {
                    from_ns: rmw_ns.saturating_add(offset),
                    to_ns: followed.saturating_add(offset),
                    id,
                });
            }
        }
        for of_topic in &mut topics {
            // Equal stamps stay in the order of publication: the sort is stable.
            of_topic.stamped.sort_by_key(|&(stamp, _)| stamp);
        }
        Self(topics)
    }

    fn with_stamp(&self, topic: TopicId, stamp: i64) -> &[(i64, PublicationId)] {
        let stamped = &self.0[topic.index()].stamped;
        let from = stamped.partition_point(|&(s, _)| s < stamp);
        let length = stamped[from..].partition_point(|&(s, _)| s == stamp);
        &stamped[from..from + length]
    }

    /// The publication whose source timestamp can be `stamp`, and whether no
    /// other's can. Of several, the latest.
    fn at_time(&self, topic: TopicId, stamp: i64) -> Option<(PublicationId, bool)> {
        let mut best: Option<Timed> = None;
        let mut fitting = 0;
        for list in self.0[topic.index()].timed.values() {
            let end = list.partition_point(|timed| timed.from_ns <= stamp);
            let Some(&last) = end.checked_sub(1).map(|at| &list[at]) else {
                continue;
            };
            if last.to_ns < stamp {
                continue;
            }
            fitting += 1;
            if best.is_none_or(|best| (best.from_ns, best.id) < (last.from_ns, last.id)) {
                best = Some(last);
            }
        }
        Some((best?.id, fitting == 1))
    }
}

/// Publications already given to a take, where several have one stamp.
type Given = FxHashMap<(SubscriptionId, i64), Vec<PublicationId>>;

fn by_stamp(graph: &Graph, records: &mut Records, index: &PublicationIndex) {
    let mut given = Given::default();
    for id in records.takes.ids() {
        let take = &records.takes[id];
        // A stamp of zero is what the middleware gives when it has none.
        let Some(stamp) = take.stamp.filter(|&stamp| stamp != 0) else {
            continue;
        };
        let topic = graph.subscriptions[take.subscription].topic;
        let link = match index.with_stamp(topic, stamp) {
            [] => index
                .at_time(topic, stamp)
                .map(|(publication, alone)| Link {
                    publication,
                    method: LinkMethod::TopicAndTime,
                    confidence: if alone {
                        Confidence::Probable
                    } else {
                        Confidence::Ambiguous
                    },
                }),
            [(_, publication)] => Some(Link {
                publication: *publication,
                method: LinkMethod::SourceTimestamp,
                confidence: Confidence::Certain,
            }),
            several => among_equal(records, id, several, &mut given),
        };
        records.takes[id].link = link;
    }
}

/// Chooses among publications with the same topic and source timestamp.
///
/// A subscription gets each sample once, and none before it was sent; what then
/// remains goes by order of publication, because samples of one writer arrive in
/// that order. Certain only if one remains.
fn among_equal(
    records: &Records,
    take: TakeId,
    candidates: &[(i64, PublicationId)],
    given: &mut Given,
) -> Option<Link> {
    let take = &records.takes[take];
    let given = given
        .entry((take.subscription, candidates[0].0))
        .or_default();
    let sent_before = |id: PublicationId| {
        records.publications[id]
            .rmw_ns
            .is_some_and(|sent| sent <= take.time_ns)
    };
    let mut possible = candidates
        .iter()
        .map(|&(_, id)| id)
        .filter(|&id| sent_before(id) && !given.contains(&id));
    let publication = possible.next()?;
    let confidence = if possible.next().is_none() && given.is_empty() {
        Confidence::Certain
    } else {
        Confidence::Ambiguous
    };
    given.push(publication);
    Some(Link {
        publication,
        method: LinkMethod::SourceTimestamp,
        confidence,
    })
}

/// Gives each take its arrival: same subscription and source timestamp; equal
/// ones in order.
fn arrivals(records: &mut Records) {
    let mut waiting: FxHashMap<(SubscriptionId, i64), Vec<TakeId>> = FxHashMap::default();
    for (id, take) in records.takes.iter().rev() {
        if let Some(stamp) = take.stamp {
            waiting
                .entry((take.subscription, stamp))
                .or_default()
                .push(id);
        }
    }
    for arrival in &mut records.arrivals {
        let Some(takes) = waiting.get_mut(&(arrival.subscription, arrival.stamp)) else {
            continue;
        };
        if let Some(id) = takes.pop() {
            let take = &mut records.takes[id];
            // The receive thread may record the arrival after the waiting
            // thread has already taken the sample: it was there at the take.
            take.arrival_ns = Some(arrival.time_ns.min(take.time_ns));
            arrival.take = Some(id);
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
