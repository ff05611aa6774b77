//! Finds the publication of every taken message.
//!
//! Linking comes some time after the events are read, because a message can be
//! taken before the thread that published it has recorded what follows.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::event::Discard;
use crate::graph::Graph;
use crate::guess::{Bare, Guesses};
use crate::holes::Holes;
use crate::ids::{
    Id, ProcessId, PublicationId, PublisherId, SubscriptionId, TakeId, ThreadId, TopicId,
};
use crate::record::{Confidence, Link, LinkMethod, Publication, Take};
use crate::tracker::Records;

/// Links every take that can be linked and gives it its arrival.
pub(crate) fn link(graph: &Graph, records: &mut Records, discards: &[Discard]) {
    let holes = Holes::new(graph, discards);
    let mut linker = Linker::default();
    for (id, publication) in records.publications.iter() {
        linker.add(graph, id, publication);
    }
    let takes = 0..records.takes.len();
    linker.link(graph, &holes, records, takes);
    arrivals(records);
}

/// A publication with a recorded source timestamp.
#[derive(Debug, Clone, Copy)]
struct Stamped {
    stamp: i64,
    id: PublicationId,
    /// When it entered the middleware; of one that only dds events name, its publication.
    sent_ns: i64,
    method: LinkMethod,
}

/// A publication and when its source timestamp was taken, CLOCK_REALTIME.
#[derive(Debug, Clone, Copy)]
struct Timed {
    from_ns: i64,
    to_ns: i64,
    id: PublicationId,
}

/// Publications of one publisher and thread, in the order in which their source timestamps were taken.
#[derive(Debug, Default)]
struct Sends {
    list: VecDeque<Timed>,
    /// How many of them the last answer was: takes go forward in time, and so the next is a few more.
    last: Cell<usize>,
}

impl Sends {
    /// The last that may have been sent at this time.
    fn at(&self, stamp: i64) -> Option<Timed> {
        const NEAR: usize = 8;
        let is_before = |timed: &Timed| timed.from_ns <= stamp;
        let last = self.last.get().min(self.list.len());
        let near = self.list.range(last..).take(NEAR);
        let after = near.take_while(|timed| is_before(timed)).count();
        let is_far = last
            .checked_sub(1)
            .is_some_and(|at| !is_before(&self.list[at]));
        let count = if is_far || after == NEAR {
            self.list.partition_point(is_before)
        } else {
            last + after
        };
        self.last.set(count);
        Some(self.list[count.checked_sub(1)?])
    }

    /// Takes the first away.
    fn forget_first(&mut self) {
        self.list.pop_front();
        self.last.set(self.last.get().saturating_sub(1));
    }
}

/// Publications of one topic.
#[derive(Debug, Default)]
struct OfTopic {
    /// With a recorded source timestamp, by it and then by time.
    stamped: VecDeque<Stamped>,
    /// Without one, by publisher and thread.
    timed: FxHashMap<(PublisherId, ThreadId), Sends>,
    /// Those of which the trace has neither timestamp nor middleware.
    bare: VecDeque<Bare>,
    /// The processes that publish.
    processes: Vec<ProcessId>,
}

/// A source timestamp is drawn sooner than this after its publication began, nanoseconds.
const SLOWEST_NS: i64 = 1_000_000_000;

/// Mostly it is drawn sooner than this, nanoseconds.
const USUAL_NS: i64 = 10_000_000;

/// Publications already given to a take, where several have one stamp.
type Given = FxHashMap<(SubscriptionId, i64), Vec<PublicationId>>;

/// Publications so far, ready to be asked for.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    topics: Vec<OfTopic>,
    given: Given,
    guesses: Guesses,
}

impl Linker {
    /// Adds the next publication, in the order of the trace.
    pub fn add(&mut self, graph: &Graph, id: PublicationId, publication: &Publication) {
        let publisher = &graph.publishers[publication.publisher];
        let Some(topic) = publisher.topic else { return };
        if self.topics.len() <= topic.index() {
            self.topics.resize_with(topic.index() + 1, OfTopic::default);
        }
        let of_topic = &mut self.topics[topic.index()];
        if !of_topic.processes.contains(&publisher.process) {
            of_topic.processes.push(publisher.process);
        }
        if let Some(stamp) = publication.stamp.get() {
            let entry = Stamped {
                stamp,
                id,
                sent_ns: publication.rmw_ns.get().unwrap_or(publication.time_ns),
                method: publication.stamp_by,
            };
            // Equal stamps stay in the order of publication. Mostly it is the last.
            let list = &mut of_topic.stamped;
            let mut at = list.len();
            while at > 0 && list[at - 1].stamp > stamp {
                at -= 1;
            }
            list.insert(at, entry);
        } else if let Some(rmw_ns) = publication.rmw_ns.get() {
            let Some(offset) = graph.processes[publisher.process].realtime_offset_ns else {
                return;
            };
            let slowest = publication.time_ns.saturating_add(SLOWEST_NS);
            let followed = publication
                .followed_ns
                .get()
                .unwrap_or(slowest)
                .min(slowest);
            let key = (publication.publisher, publication.thread);
            // The distributions that record timestamps draw them before `rmw_publish`.
            let from_ns = if publication.unstamped {
                publication.time_ns
            } else {
                rmw_ns
            };
            let sends = of_topic.timed.entry(key).or_default();
            sends.list.push_back(Timed {
                from_ns: from_ns.saturating_add(offset),
                to_ns: followed.saturating_add(offset),
                id,
            });
        } else {
            of_topic.bare.push_back(Bare {
                time_ns: publication.time_ns,
                id,
                process: publisher.process,
            });
        }
    }

    /// Links a range of takes; all publications before them were added.
    pub fn link(
        &mut self,
        graph: &Graph,
        holes: &Holes,
        records: &mut Records,
        takes: Range<usize>,
    ) {
        for index in takes {
            let id = TakeId::new(index);
            let take = &records.takes[id];
            let topic = graph.subscriptions[take.subscription].topic;
            if take.inferred {
                self.guesses.add(take.subscription, id, take);
                continue;
            }
            // A stamp of zero is what the middleware gives when it has none.
            let Some(stamp) = take.stamp.get().filter(|&stamp| stamp != 0) else {
                continue;
            };
            let Some(of_topic) = self.topics.get(topic.index()) else {
                continue;
            };
            let lost = Lost {
                graph,
                holes,
                processes: &of_topic.processes,
            };
            let (link, doubt) = of_topic.by_stamp(stamp, take, &lost, &mut self.given);
            records.takes[id].set_link(link, doubt);
        }
        let topics = &self.topics;
        self.guesses.link(graph, holes, records, |topic| {
            topics.get(topic.index()).map(|topic| &topic.bare)
        });
    }

    /// Forgets publications before a time of the trace, but the last `keep` of a
    /// topic (of each publisher where they lie apart): those may still be taken.
    /// Calls `gone` with each.
    pub fn forget(
        &mut self,
        graph: &Graph,
        before_ns: i64,
        keep: impl Fn(TopicId) -> usize,
        mut gone: impl FnMut(PublicationId),
    ) {
        self.given.clear();
        for (index, of_topic) in self.topics.iter_mut().enumerate() {
            let keep = keep(TopicId::new(index));
            while let Some(first) = of_topic.stamped.front()
                && of_topic.stamped.len() > keep
                && first.sent_ns < before_ns
            {
                gone(first.id);
                of_topic.stamped.pop_front();
            }
            for ((publisher, _), sends) in &mut of_topic.timed {
                let process = graph.publishers[*publisher].process;
                let offset = graph.processes[process].realtime_offset_ns.unwrap_or(0);
                while let Some(first) = sends.list.front()
                    && sends.list.len() > keep
                    && first.from_ns < before_ns.saturating_add(offset)
                {
                    gone(first.id);
                    sends.forget_first();
                }
            }
            while let Some(bare) = of_topic.bare.front()
                && of_topic.bare.len() > keep
                && bare.time_ns < before_ns
            {
                gone(bare.id);
                of_topic.bare.pop_front();
            }
        }
    }
}

impl OfTopic {
    /// The publication with this source timestamp, and whether events may be missing that
    /// are of another one.
    fn by_stamp(
        &self,
        stamp: i64,
        take: &Take,
        lost: &Lost<'_>,
        given: &mut Given,
    ) -> (Option<Link>, bool) {
        let stamped = &self.stamped;
        let from = stamped.partition_point(|s| s.stamp < stamp);
        let to = stamped.partition_point(|s| s.stamp <= stamp);
        match to - from {
            0 => self.at_time(stamp, lost),
            1 => {
                let link = Link {
                    publication: stamped[from].id,
                    method: stamped[from].method,
                    confidence: Confidence::Certain,
                };
                (Some(link), false)
            }
            _ => (among_equal(take, stamped.range(from..to), given), false),
        }
    }

    /// The publication whose source timestamp can be `stamp`. Of several, the latest.
    fn at_time(&self, stamp: i64, lost: &Lost<'_>) -> (Option<Link>, bool) {
        let mut best: Option<(Timed, PublisherId)> = None;
        let mut fitting = 0;
        for (&(publisher, _), sends) in &self.timed {
            let Some(last) = sends.at(stamp) else {
                continue;
            };
            if last.to_ns < stamp {
                continue;
            }
            fitting += 1;
            if best.is_none_or(|(best, _)| (best.from_ns, best.id) < (last.from_ns, last.id)) {
                best = Some((last, publisher));
            }
        }
        let Some((best, publisher)) = best else {
            return (None, lost.before(stamp, None));
        };
        let link = Link {
            publication: best.id,
            method: LinkMethod::TopicAndTime,
            confidence: if fitting == 1 {
                Confidence::Probable
            } else {
                Confidence::Ambiguous
            },
        };
        let process = lost.graph.publishers[publisher].process;
        let doubt = lost.between(process, best.from_ns, stamp);
        (Some(link), doubt || lost.before(stamp, Some(process)))
    }
}

/// Where publications of a topic may be missing.
struct Lost<'a> {
    graph: &'a Graph,
    holes: &'a Holes,
    /// The processes that publish on it.
    processes: &'a [ProcessId],
}

impl Lost<'_> {
    /// Whether events of a process may be missing between two times, CLOCK_REALTIME.
    fn between(&self, process: ProcessId, from_ns: i64, to_ns: i64) -> bool {
        let offset = self.graph.processes[process].realtime_offset_ns;
        offset.is_some_and(|offset| {
            let (from_ns, to_ns) = (from_ns.saturating_sub(offset), to_ns.saturating_sub(offset));
            self.holes.touch(process, from_ns, to_ns)
        })
    }

    /// Whether a publication with this source timestamp may be missing, of another process
    /// than one.
    fn before(&self, stamp: i64, but: Option<ProcessId>) -> bool {
        let mut others = self.processes.iter().filter(|&&id| Some(id) != but);
        others.any(|&id| self.between(id, stamp.saturating_sub(USUAL_NS), stamp))
    }
}

/// Chooses among publications with the same topic and source timestamp.
///
/// A subscription gets each sample once, and none before it was sent; what then
/// remains goes by order of publication, because samples of one writer arrive in
/// that order. Certain only if one remains.
fn among_equal<'s>(
    take: &Take,
    candidates: impl Iterator<Item = &'s Stamped>,
    given: &mut Given,
) -> Option<Link> {
    let given = given
        .entry((take.subscription, take.stamp.get()?))
        .or_default();
    let mut possible = candidates.filter(|c| c.sent_ns <= take.time_ns && !given.contains(&c.id));
    let first = *possible.next()?;
    let confidence = if possible.next().is_none() && given.is_empty() {
        Confidence::Certain
    } else {
        Confidence::Ambiguous
    };
    given.push(first.id);
    Some(Link {
        publication: first.id,
        method: first.method,
        confidence,
    })
}

/// Gives each take its arrival: same subscription and source timestamp; equal
/// ones in order.
pub(crate) fn arrivals(records: &mut Records) {
    let mut waiting: FxHashMap<(SubscriptionId, i64), Vec<TakeId>> = FxHashMap::default();
    if records.arrivals.is_empty() {
        return;
    }
    for (id, take) in records.takes.iter().rev() {
        if let Some(stamp) = take.stamp.get() {
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
            take.arrival_ns = Some(arrival.time_ns.min(take.time_ns)).into();
            arrival.take = Some(id);
        }
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
