//! Reads a trace of any length in bounded memory: what is settled is counted and
//! forgotten, what is open is kept.
//!
//! A publication, a take or a callback instance is settled when it is older than
//! what can still change: a callback that runs stays open as long as it runs, and a
//! publication can be taken as long as the depths of its topic let it be.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::blocks::ByBlock;
use crate::clocks::{Evidence, is_sure};
use crate::durations::{Budget, Durations};
use crate::event::Discard;
use crate::graph::Graph;
use crate::holes::Holes;
use crate::ids::{
    CallbackId, Id, InstanceId, PublicationId, PublisherId, SubscriptionId, TakeId, TopicId,
};
use crate::keep::Keep;
use crate::links::{Linker, arrivals};
use crate::record::{Confidence, LinkMethod, Take};
use crate::sent::{Sent, SentTable};
use crate::summary::LinkSummary;
use crate::tracker::Records;

/// How long after an event its meaning may still change, nanoseconds.
const LAG_NS: i64 = 1_000_000_000;
/// How long publications are kept in any case, nanoseconds.
const KEEP_NS: i64 = 5_000_000_000;
/// The deepest history that is kept.
const DEEPEST: u64 = 1_000;
/// Publications that are kept beyond a topic's depth: those on their way.
const ON_THE_WAY: usize = 16;

/// A message that was taken and whose publication is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The publication, nanoseconds of the trace's clock.
    pub published_ns: i64,
    /// The take.
    pub taken_ns: i64,
    /// The publisher.
    pub publisher: PublisherId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Source timestamp, CLOCK_REALTIME nanoseconds, where the take has it.
    pub stamp: Option<i64>,
    /// How the link was found.
    pub method: LinkMethod,
    /// How sure it is.
    pub confidence: Confidence,
}

/// A callback so far.
#[derive(Debug, Default)]
pub(crate) struct OfCallback {
    pub count: u64,
    pub unfinished: u64,
    pub touched: u64,
    pub durations: Durations,
    pub threads: Vec<i64>,
    pub first_ns: Option<i64>,
}

/// Messages from one callback to another on a topic so far.
#[derive(Debug, Default)]
pub(crate) struct OfEdge {
    pub messages: u64,
    pub latency: Durations,
}

/// What has been counted.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub callbacks: Vec<OfCallback>,
    pub edges: FxHashMap<(CallbackId, CallbackId), OfEdge>,
    /// Messages that no callback published, or that none got.
    pub outside: FxHashMap<(PublisherId, SubscriptionId), OfEdge>,
    pub publishes: FxHashSet<(CallbackId, TopicId)>,
    /// By publisher: number and first.
    pub publications: Vec<(u64, i64)>,
    /// By subscription: takes and links.
    pub takes: Vec<(u64, u64)>,
    pub links: LinkSummary,
    pub clocks: Evidence,
    pub pairs: Vec<Pair>,
    /// Where asked for: callbacks and edges by block of time.
    pub by_block: Option<ByBlock>,
    budget: Budget,
}

impl Counted {
    /// A call of which no more is known.
    pub fn call(&mut self, callback: CallbackId) {
        self.callback(callback).count += 1;
    }

    fn callback(&mut self, callback: CallbackId) -> &mut OfCallback {
        let index = callback.index();
        if self.callbacks.len() <= index {
            self.callbacks.resize_with(index + 1, OfCallback::default);
        }
        &mut self.callbacks[index]
    }
}

/// Settles what is old enough.
#[derive(Debug, Default)]
pub(crate) struct Settler {
    /// Whether pairs are wanted.
    pub with_pairs: bool,
    pub counted: Counted,
    /// What is kept for chains. It was counted before: then latencies and durations are not counted again.
    pub keep: Option<Keep>,
    linker: Linker,
    sent: SentTable,
    next_publication: usize,
    next_take: usize,
    next_instance: usize,
    open: Vec<InstanceId>,
    abandoned: FxHashSet<InstanceId>,
    /// For so many discards and processes.
    holes: Option<((usize, usize), Holes)>,
}

impl Settler {
    /// Settles what lies far enough before `now_ns`.
    pub fn settle(
        &mut self,
        graph: &Graph,
        records: &mut Records,
        discards: &[Discard],
        now_ns: i64,
    ) {
        let cut_ns = now_ns.saturating_sub(LAG_NS);
        let known = (discards.len(), graph.processes.len());
        if self.holes.as_ref().is_none_or(|holes| holes.0 != known) {
            self.holes = Some((known, Holes::new(graph, discards)));
        }
        self.abandoned.extend(records.abandoned.drain(..));
        if let Some(keep) = &mut self.keep {
            keep.reserve(records, cut_ns);
        }
        self.publications(graph, records, cut_ns);
        self.takes(graph, records, cut_ns);
        self.instances(graph, records, cut_ns);
        match &mut self.keep {
            Some(keep) => keep.others(graph, records, self.next_publication),
            None => {
                records.arrivals.clear();
                records.ring_overwrites.clear();
            }
        }
        let depths = depths(graph);
        let keep = |topic: TopicId| depths[topic.index()];
        let (sent, keep_of) = (&mut self.sent, &mut self.keep);
        let before_ns = cut_ns.saturating_sub(KEEP_NS);
        self.linker.forget(graph, before_ns, keep, |id| {
            sent.remove(id);
            if let Some(keep) = keep_of {
                keep.gone(id);
            }
        });
        sent.age(before_ns);
    }

    /// The trace has ended.
    pub fn finish(
        mut self,
        graph: &Graph,
        records: &mut Records,
        discards: &[Discard],
    ) -> (Counted, Records) {
        self.settle(graph, records, discards, i64::MAX);
        for id in std::mem::take(&mut self.open) {
            let callback = records.instances[id].callback;
            self.counted.callbacks[callback.index()].unfinished += 1;
        }
        let mut kept = self.keep.map(Keep::finish).unwrap_or_default();
        arrivals(&mut kept);
        kept.gaps = records.gaps;
        (self.counted, kept)
    }

    fn publications(&mut self, graph: &Graph, records: &mut Records, cut_ns: i64) {
        while self.next_publication < records.publications.len() {
            let id = PublicationId::new(self.next_publication);
            let publication = &records.publications[id];
            if publication.time_ns >= cut_ns && cut_ns < i64::MAX - LAG_NS {
                break;
            }
            self.next_publication += 1;
            let instance = publication
                .instance
                .and_then(|id| records.instances.get(id));
            let sent = Sent {
                publisher: publication.publisher,
                time_ns: publication.time_ns,
                callback: instance.map(|instance| instance.callback),
            };
            let index = sent.publisher.index();
            let counts = &mut self.counted.publications;
            if counts.len() <= index {
                counts.resize(index + 1, (0, sent.time_ns));
            }
            if counts[index].0 == 0 {
                counts[index].1 = sent.time_ns;
            }
            counts[index].0 += 1;
            let topic = graph.publishers[sent.publisher].topic;
            if let Some(keep) = &mut self.keep {
                keep.publication(topic, id, publication);
            }
            if let Some(topic) = topic {
                self.linker.add(graph, id, publication);
                self.sent.insert(id, sent);
                if let Some(callback) = sent.callback {
                    self.counted.publishes.insert((callback, topic));
                }
            }
            records.publications.forget(id);
        }
    }

    fn takes(&mut self, graph: &Graph, records: &mut Records, cut_ns: i64) {
        let from = self.next_take;
        let mut to = from;
        while to < records.takes.len() && records.takes[TakeId::new(to)].time_ns < cut_ns {
            to += 1;
        }
        self.next_take = to;
        if let Some((_, holes)) = &self.holes {
            self.linker.link(graph, holes, records, from..to);
        }
        for index in from..to {
            let id = TakeId::new(index);
            match &mut self.keep {
                Some(keep) => keep.take(graph, &records.takes[id]),
                None => self.taken(graph, records, &records.takes[id]),
            }
            records.takes.forget(id);
        }
    }

    fn taken(&mut self, graph: &Graph, records: &Records, take: &Take) {
        let counted = &mut self.counted;
        let index = take.subscription.index();
        if counted.takes.len() <= index {
            counted.takes.resize(index + 1, (0, 0));
        }
        counted.takes[index].0 += 1;
        counted.links.add(graph, take);
        counted.takes[index].1 += u64::from(take.link.is_some());
        // Where messages lead to is told by those in doubt, too; how fast they are is not.
        let Some(link) = take.link.or(take.doubtful) else {
            return;
        };
        let Some(sent) = self.sent.get(link.publication) else {
            return;
        };
        let sure = take.link.is_some();
        if sure && is_sure(&link) {
            let from = graph.publishers[sent.publisher].process;
            let to = graph.subscriptions[take.subscription].process;
            let clocks = &mut counted.clocks;
            clocks.add(graph, (from, to), sent.time_ns, take.time_ns);
        }
        if sure && self.with_pairs {
            counted.pairs.push(Pair {
                published_ns: sent.time_ns,
                taken_ns: take.time_ns,
                publisher: sent.publisher,
                subscription: take.subscription,
                stamp: take.stamp.get(),
                method: link.method,
                confidence: link.confidence,
            });
        }
        let to = take.instance.and_then(|id| records.instances.get(id));
        let edge = match (sent.callback, to) {
            (Some(from), Some(to)) => counted.edges.entry((from, to.callback)).or_default(),
            _ => {
                let ends = (sent.publisher, take.subscription);
                counted.outside.entry(ends).or_default()
            }
        };
        edge.messages += 1;
        if let Some(to) = to.filter(|_| sure) {
            let latency = to.start_ns - sent.time_ns;
            edge.latency.add(latency, &mut counted.budget);
            if let (Some(by_block), Some(from)) = (&mut counted.by_block, sent.callback) {
                by_block.arrived((from, to.callback), to.start_ns, latency);
            }
        }
    }

    fn instances(&mut self, graph: &Graph, records: &mut Records, cut_ns: i64) {
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&id| !self.instance(graph, records, id, cut_ns));
        while self.next_instance < records.instances.len() {
            let id = InstanceId::new(self.next_instance);
            let instance = &records.instances[id];
            if instance.start_ns >= cut_ns {
                break;
            }
            self.next_instance += 1;
            if let Some(by_block) = &mut self.counted.by_block {
                let process = graph.threads[instance.thread].process;
                let holes = self.holes.as_ref();
                by_block.began(instance.callback, instance.start_ns, |from, to| {
                    !holes.is_some_and(|h| h.1.touch(process, from, to))
                });
            }
            let callback = self.counted.callback(instance.callback);
            callback.count += 1;
            callback.first_ns.get_or_insert(instance.start_ns);
            let vtid = graph.threads[instance.thread].vtid;
            if !callback.threads.contains(&vtid) {
                callback.threads.push(vtid);
            }
            if !self.instance(graph, records, id, cut_ns) {
                open.push(id);
            }
        }
        self.open = open;
    }

    /// Whether an instance is settled now.
    fn instance(
        &mut self,
        graph: &Graph,
        records: &mut Records,
        id: InstanceId,
        cut_ns: i64,
    ) -> bool {
        let instance = &records.instances[id];
        let callback = &mut self.counted.callbacks[instance.callback.index()];
        match instance.end_ns.get() {
            Some(end_ns) if end_ns < cut_ns && self.keep.is_some() => {}
            Some(end_ns) if end_ns < cut_ns => {
                let process = graph.threads[instance.thread].process;
                let holes = self.holes.as_ref();
                if holes.is_some_and(|h| h.1.touch(process, instance.start_ns, end_ns)) {
                    callback.touched += 1;
                } else {
                    let duration = end_ns - instance.start_ns;
                    callback.durations.add(duration, &mut self.counted.budget);
                    if let Some(by_block) = &mut self.counted.by_block {
                        by_block.ended(instance.callback, instance.start_ns, duration);
                    }
                }
            }
            None if self.abandoned.remove(&id) => callback.unfinished += 1,
            _ => return false,
        }
        if let Some(keep) = &mut self.keep {
            keep.instance(id, instance);
        }
        records.instances.forget(id);
        true
    }
}

/// By topic, how many publications of a publisher can still be taken.
fn depths(graph: &Graph) -> Vec<usize> {
    let mut depths = vec![0_u64; graph.topics.len()];
    let publishers = graph.publishers.iter().map(|(_, p)| (p.topic, p.depth));
    let subscriptions = graph
        .subscriptions
        .iter()
        .map(|(_, s)| (Some(s.topic), Some(s.depth)));
    for (topic, depth) in publishers.chain(subscriptions) {
        if let (Some(topic), Some(depth)) = (topic, depth) {
            let deepest = &mut depths[topic.index()];
            *deepest = depth.min(DEEPEST).max(*deepest);
        }
    }
    depths
        .into_iter()
        .map(|depth| depth as usize + ON_THE_WAY)
        .collect()
}
