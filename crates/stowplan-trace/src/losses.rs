//! Messages that were published and not taken, by cause (docs/measuring.md §4).
//!
//! What never reached the reader's cache left no event of its own. The receiving
//! process says how many datagrams its sockets dropped in the window: where that
//! is none, no message was lost there; where it is some, which messages they were
//! part of is not known. Lost in reassembly, replaced in the writer's history
//! before it was sent, or never sent are not told apart.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::Analysis;
use crate::ids::{Id, ProcessId, PublicationId, PublisherId, SubscriptionId, TopicId};
use crate::window::Window;

/// How the messages of an edge reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// By pointer, inside a process.
    Pointer,
    /// Through DDS, inside a process.
    SameProcess,
    /// Through DDS, from one process to another.
    OtherProcess,
}

/// Messages from one publisher to one subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeLosses {
    /// The publisher.
    pub publisher: PublisherId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// How they travel; `None` inside a process where nothing that was taken tells.
    pub way: Option<Transport>,
    /// Publications that could reach it.
    pub published: u64,
    /// Taken.
    pub taken: u64,
    /// Published before the two had found each other.
    pub not_matched: u64,
    /// On its way, or still to be taken, when the trace ended.
    pub undecided: u64,
    /// None of these: overwritten or missing.
    pub not_taken: u64,
    /// In the reader's cache and replaced before it was taken; `None` where the
    /// trace records no arrivals, or `sample_lost` is not known.
    pub overwritten: Option<u64>,
    /// Offered to the reader's cache and refused by it, as DDS reports; `None`
    /// where it reports some and several publishers reach the subscription.
    pub sample_lost: Option<u64>,
    /// Never in the reader's cache; `None` where the trace records no arrivals.
    pub missing: Option<u64>,
    /// Datagrams, of whatever message, that the sockets of the receiving process
    /// dropped in the window; `None` where the trace does not say.
    pub datagrams_dropped: Option<u64>,
}

/// Losses of all edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Losses {
    /// By subscription and publisher.
    pub edges: Vec<EdgeLosses>,
    /// Samples that DDS reports lost, per subscription that reports any.
    pub samples_lost: Vec<(SubscriptionId, u64)>,
    /// Whether the trace records arrivals, of one process at least.
    pub arrivals_recorded: bool,
}

impl Analysis {
    /// Losses among the messages published in a window.
    #[must_use]
    pub fn losses(&self, window: Window) -> Losses {
        let seen = Received::new(self);
        let mut by_topic: FxHashMap<TopicId, Vec<(PublisherId, Vec<PublicationId>)>> =
            FxHashMap::default();
        for (publisher, publications) in self.publications_by_publisher() {
            if let Some(topic) = self.graph.publishers[publisher].topic {
                by_topic
                    .entry(topic)
                    .or_default()
                    .push((publisher, publications));
            }
        }
        let mut edges = Vec::new();
        for (subscription, entry) in self.graph.subscriptions.iter() {
            for (publisher, publications) in by_topic.get(&entry.topic).into_iter().flatten() {
                let edge = Edge::new(self, &seen, *publisher, subscription, publications);
                edges.push(edge.count(window));
            }
        }
        edges.retain(|edge| edge.published > 0);
        let samples_lost = self.samples_lost(window);
        refused(&mut edges, &samples_lost);
        Losses {
            edges,
            samples_lost,
            arrivals_recorded: seen.arrivals_recorded,
        }
    }

    fn publications_by_publisher(&self) -> Vec<(PublisherId, Vec<PublicationId>)> {
        let mut lists = vec![Vec::new(); self.graph.publishers.len()];
        for (id, publication) in self.records.publications.iter() {
            lists[publication.publisher.index()].push(id);
        }
        self.graph.publishers.ids().zip(lists).collect()
    }

    /// What the totals grew by in the window.
    fn samples_lost(&self, window: Window) -> Vec<(SubscriptionId, u64)> {
        let mut totals: FxHashMap<SubscriptionId, (u64, u64)> = FxHashMap::default();
        for &(subscription, total, time_ns) in &self.marks.samples_lost {
            let entry = totals.entry(subscription).or_default();
            if time_ns < window.from_ns {
                entry.0 = total;
            }
            if time_ns <= window.to_ns {
                entry.1 = total;
            }
        }
        let mut lost: Vec<_> = totals
            .into_iter()
            .map(|(subscription, (before, after))| (subscription, after.saturating_sub(before)))
            .filter(|&(_, lost)| lost > 0)
            .collect();
        lost.sort_unstable();
        lost
    }

    /// Datagrams dropped between the last count before the window and the first
    /// after it.
    fn datagrams_dropped(&self, process: ProcessId, window: Window) -> Option<u64> {
        let counts = || {
            let all = self.marks.datagrams_dropped.iter();
            all.filter(|count| count.0 == process)
        };
        let before = counts().rfind(|count| count.2 <= window.from_ns)?;
        let after = counts().find(|count| count.2 >= window.to_ns)?;
        Some(after.1.saturating_sub(before.1))
    }

    /// When a process says that its declared endpoints have found their peers.
    fn matched_ns(&self, process: ProcessId) -> Option<i64> {
        self.marks
            .endpoints_matched
            .iter()
            .rfind(|matched| matched.0 == process)
            .map(|matched| matched.2)
    }
}

/// Takes what DDS reports as refused out of what counts as overwritten. A refused
/// sample was offered to the cache, so it has an arrival.
fn refused(edges: &mut [EdgeLosses], samples_lost: &[(SubscriptionId, u64)]) {
    for &(subscription, lost) in samples_lost {
        let mut of: Vec<&mut EdgeLosses> = edges
            .iter_mut()
            .filter(|edge| edge.subscription == subscription)
            .collect();
        if let [edge] = &mut of[..] {
            edge.sample_lost = Some(lost);
            edge.overwritten = edge.overwritten.map(|all| all.saturating_sub(lost));
            continue;
        }
        for edge in of {
            edge.sample_lost = None;
            edge.overwritten = None;
        }
    }
}

/// What readers got.
struct Received {
    taken: FxHashSet<(SubscriptionId, PublicationId)>,
    arrived: FxHashMap<(SubscriptionId, i64), i64>,
    replaced: FxHashSet<(SubscriptionId, PublicationId)>,
    last_take: FxHashMap<SubscriptionId, i64>,
    arrivals_recorded: bool,
}

impl Received {
    fn new(analysis: &Analysis) -> Self {
        let records = &analysis.records;
        let mut seen = Self {
            taken: FxHashSet::default(),
            arrived: FxHashMap::default(),
            replaced: records.ring_overwrites.iter().copied().collect(),
            last_take: FxHashMap::default(),
            arrivals_recorded: !records.arrivals.is_empty(),
        };
        for (_, take) in records.takes.iter() {
            // Which publication it was may be in doubt; that one was taken is not.
            if let Some(link) = take.link.or(take.doubtful) {
                seen.taken.insert((take.subscription, link.publication));
            }
            seen.last_take.insert(take.subscription, take.time_ns);
        }
        for arrival in &records.arrivals {
            seen.arrived
                .insert((arrival.subscription, arrival.stamp), arrival.time_ns);
        }
        seen
    }
}

/// How far a message got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Taken,
    /// In the cache and not taken; whether the subscription took later messages.
    Cache {
        later_take: bool,
    },
    Nothing,
}

struct Edge<'a> {
    analysis: &'a Analysis,
    publisher: PublisherId,
    subscription: SubscriptionId,
    /// Publications that could reach the subscription.
    messages: Vec<(PublicationId, Reached)>,
    /// The first that reached it.
    first: Option<usize>,
    /// From when on all messages should arrive, where the trace says it.
    matched_ns: Option<i64>,
    /// Messages published later may not have had the time to arrive.
    decided_ns: i64,
    /// Whether the subscription's process records arrivals, and messages have the stamps by which they are found.
    arrivals_recorded: bool,
    way: Option<Transport>,
}

impl<'a> Edge<'a> {
    fn new(
        analysis: &'a Analysis,
        seen: &Received,
        publisher: PublisherId,
        subscription: SubscriptionId,
        publications: &[PublicationId],
    ) -> Self {
        let graph = &analysis.graph;
        let from = graph.publishers[publisher].process;
        let to = graph.subscriptions[subscription].process;
        let records = &analysis.records;
        let mut longest_ns = 0;
        let mut through_dds = false;
        let messages: Vec<(PublicationId, Reached)> = publications
            .iter()
            .filter(|&&id| from == to || records.publications[id].rmw_ns.get().is_some())
            .map(|&id| {
                let publication = &records.publications[id];
                let arrived = publication
                    .stamp
                    .get()
                    .and_then(|stamp| seen.arrived.get(&(subscription, stamp)));
                through_dds |= arrived.is_some();
                if let (Some(arrived), Some(sent)) = (arrived, publication.rmw_ns.get()) {
                    longest_ns = longest_ns.max(arrived - sent);
                }
                let reached = if seen.taken.contains(&(subscription, id)) {
                    Reached::Taken
                } else if seen.replaced.contains(&(subscription, id)) {
                    Reached::Cache { later_take: true }
                } else if let Some(&arrived) = arrived {
                    let last = seen.last_take.get(&subscription);
                    Reached::Cache {
                        later_take: last.is_some_and(|&last| last > arrived),
                    }
                } else {
                    Reached::Nothing
                };
                (id, reached)
            })
            .collect();
        let matched_ns = analysis
            .matched_ns(from)
            .zip(analysis.matched_ns(to))
            .map(|(a, b)| a.max(b));
        let last_ns = graph.processes[to].last_ns;
        let stamped = from == to
            || messages
                .iter()
                .all(|(id, _)| records.publications[*id].stamp.get().is_some());
        let recorded = seen.arrivals_recorded && graph.processes[to].kinds.arrivals;
        let taken = messages
            .iter()
            .any(|(_, reached)| *reached == Reached::Taken);
        let way = match (from == to, through_dds) {
            (false, _) => Some(Transport::OtherProcess),
            (true, true) => Some(Transport::SameProcess),
            (true, false) => (taken && recorded).then_some(Transport::Pointer),
        };
        Self {
            analysis,
            publisher,
            subscription,
            first: messages.iter().position(|m| m.1 != Reached::Nothing),
            messages,
            matched_ns,
            decided_ns: last_ns.saturating_sub(longest_ns),
            arrivals_recorded: recorded && stamped,
            way,
        }
    }

    fn count(&self, window: Window) -> EdgeLosses {
        let graph = &self.analysis.graph;
        let mut edge = EdgeLosses {
            publisher: self.publisher,
            subscription: self.subscription,
            way: self.way,
            published: 0,
            taken: 0,
            not_matched: 0,
            undecided: 0,
            not_taken: 0,
            overwritten: None,
            sample_lost: Some(0),
            missing: None,
            datagrams_dropped: self
                .analysis
                .datagrams_dropped(graph.subscriptions[self.subscription].process, window),
        };
        let mut overwritten = 0;
        for (number, &(id, reached)) in self.messages.iter().enumerate() {
            let time_ns = self.analysis.records.publications[id].time_ns;
            if !window.contains(time_ns) {
                continue;
            }
            edge.published += 1;
            match reached {
                Reached::Taken => edge.taken += 1,
                Reached::Cache { later_take: true } => {
                    edge.not_taken += 1;
                    overwritten += 1;
                }
                Reached::Cache { later_take: false } => edge.undecided += 1,
                Reached::Nothing if !self.is_matched(number, time_ns) => edge.not_matched += 1,
                Reached::Nothing if time_ns > self.decided_ns => edge.undecided += 1,
                Reached::Nothing => edge.not_taken += 1,
            }
        }
        if self.arrivals_recorded {
            edge.overwritten = Some(overwritten);
            edge.missing = Some(edge.not_taken - overwritten);
        }
        edge
    }

    /// Whether publisher and subscription had found each other: by what their
    /// processes say, else from the first message that reached the subscription.
    fn is_matched(&self, number: usize, time_ns: i64) -> bool {
        match self.matched_ns {
            Some(matched_ns) => time_ns >= matched_ns,
            None => self.first.is_some_and(|first| number > first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Transport;
    use crate::Window;
    use crate::event::Body;
    use crate::graph::EventKinds;
    use crate::scripted::{At, Script, Sub};

    #[test]
    fn each_message_is_counted_under_its_cause() {
        let mut script = Script::new();
        let source = script.process(1);
        let sink = script.process(2);
        let node = script.node(source, "source");
        let publisher = script.publisher(node, "/t");
        let node = script.node(sink, "sink");
        let sub = script.subscription(node, "/t", "sink::on");
        for k in 0..8 {
            script.publish(1000 * k, source, publisher, Some(1 + k));
        }
        // 0: published before they matched. 1: taken. 2: overwritten by 3, taken.
        // 4: missing. 5: taken. 6: in the cache at the end. 7: on its way.
        script.add(500, source, Body::EndpointsMatched { count: 1 });
        script.add(600, sink, Body::EndpointsMatched { count: 1 });
        for k in [1, 2, 3, 5, 6] {
            script.arrive(1000 * k + 100, sink, sub, 1 + k);
        }
        for k in [1, 3, 5] {
            let start = 1000 * k + 300;
            script.receive(start, start + 50, sink, sub, 1 + k);
        }
        let analysis = script.analyse();
        let losses = analysis.losses(Window::ALWAYS);
        let [edge] = &losses.edges[..] else {
            panic!("{losses:?}")
        };
        assert_eq!((edge.published, edge.taken), (8, 3));
        assert_eq!(edge.way, Some(Transport::OtherProcess));
        assert_eq!((edge.not_matched, edge.undecided), (1, 2));
        assert_eq!(edge.not_taken, 2);
        assert_eq!((edge.overwritten, edge.missing), (Some(1), Some(1)));
        assert_eq!((edge.sample_lost, edge.datagrams_dropped), (Some(0), None));
        let window = Window {
            from_ns: 900,
            to_ns: 6500,
        };
        let losses = analysis.losses(window);
        assert_eq!(losses.edges[0].published, 6);
    }

    /// One subscription that got three messages of each publisher and took the last ones.
    fn refusing(publishers: i64) -> (Script, At, Sub) {
        let mut script = Script::new();
        let sink = script.process(1);
        let node = script.node(sink, "sink");
        let sub = script.subscription(node, "/t", "sink::on");
        for number in 0..publishers {
            let source = script.process(2 + number);
            let node = script.node(source, "source");
            let publisher = script.publisher(node, "/t");
            for k in 0..3 {
                let stamp = 10 * k + 1 + number;
                script.publish(1000 * k, source, publisher, Some(stamp));
                script.arrive(1000 * k + 100, sink, sub, stamp);
            }
            let start = 2300 + 100 * number;
            script.receive(start, start + 50, sink, sub, 21 + number);
        }
        (script, sink, sub)
    }

    fn lost(script: &mut Script, sink: At, sub: Sub, time_ns: i64, total: u64) {
        let rmw_subscription = sub.rmw;
        let lost = Body::SampleLost {
            rmw_subscription,
            total,
        };
        script.add(time_ns, sink, lost);
    }

    #[test]
    fn what_the_cache_refuses_is_not_overwritten() {
        let (mut script, sink, sub) = refusing(1);
        lost(&mut script, sink, sub, 1100, 1);
        let analysis = script.analyse();
        let losses = analysis.losses(Window::ALWAYS);
        let edge = &losses.edges[0];
        assert_eq!((edge.not_taken, edge.missing), (2, Some(0)));
        assert_eq!((edge.sample_lost, edge.overwritten), (Some(1), Some(1)));
        // Before the window it has lost nothing of the window.
        let window = Window {
            from_ns: 1500,
            to_ns: 9000,
        };
        let losses = analysis.losses(window);
        assert!(losses.samples_lost.is_empty());
        assert_eq!(losses.edges[0].sample_lost, Some(0));
    }

    #[test]
    fn of_several_publishers_it_is_not_known_whose_was_refused() {
        let (mut script, sink, sub) = refusing(2);
        lost(&mut script, sink, sub, 1100, 1);
        let losses = script.analyse().losses(Window::ALWAYS);
        assert_eq!(losses.samples_lost[0].1, 1);
        assert_eq!(losses.edges.len(), 2);
        for edge in &losses.edges {
            assert_eq!((edge.sample_lost, edge.overwritten), (None, None));
        }
    }

    #[test]
    fn dropped_datagrams_are_those_of_the_window() {
        let (mut script, sink, _) = refusing(1);
        for (time, total) in [(400, 3), (900, 7), (2900, 9), (3500, 20)] {
            script.add(time, sink, Body::DatagramsDropped { total });
        }
        let analysis = script.analyse();
        let dropped = |from_ns, to_ns| {
            let window = Window { from_ns, to_ns };
            analysis.losses(window).edges[0].datagrams_dropped
        };
        assert_eq!(dropped(1000, 2500), Some(2));
        assert_eq!(dropped(500, 3000), Some(17));
        assert_eq!(dropped(300, 2500), None, "nothing was counted before");
        assert_eq!(dropped(1000, 4000), None, "nor after");
    }

    #[test]
    fn of_a_process_that_records_no_arrivals_they_are_not_told_apart_beside_one_that_does() {
        let (mut script, _, _) = refusing(1);
        let real = script.process(9);
        let kinds = EventKinds {
            arrivals: false,
            ..EventKinds::default()
        };
        script.builder.set_kinds(real.process, kinds);
        let node = script.node(real, "real");
        let sub = script.subscription(node, "/t", "real::on");
        script.receive(2400, 2450, real, sub, 21);
        let analysis = script.analyse();
        let losses = analysis.losses(Window::ALWAYS);
        let told: Vec<_> = losses
            .edges
            .iter()
            .map(|edge| (edge.taken, edge.overwritten, edge.missing))
            .collect();
        assert_eq!(told, [(1, Some(2), Some(0)), (1, None, None)]);
    }

    #[test]
    fn without_arrivals_overwritten_and_missing_are_not_told_apart() {
        let mut script = Script::new();
        let source = script.process(1);
        let sink = script.process(2);
        let node = script.node(source, "source");
        let publisher = script.publisher(node, "/t");
        let node = script.node(sink, "sink");
        let sub = script.subscription(node, "/t", "sink::on");
        for k in 0..4 {
            script.publish(1000 * k, source, publisher, Some(1 + k));
        }
        for k in [1, 3] {
            let start = 1000 * k + 300;
            script.receive(start, start + 50, sink, sub, 1 + k);
        }
        let losses = script.analyse().losses(Window::ALWAYS);
        let edge = &losses.edges[0];
        assert_eq!((edge.not_matched, edge.taken, edge.not_taken), (1, 2, 1));
        assert_eq!((edge.overwritten, edge.missing), (None, None));
    }
}
