//! Messages that were published and not taken, by cause (MEASURING §4).
//!
//! Losses in socket buffers and in reassembly leave no event: the host counts
//! them. Here they are part of `missing`, beside what DDS itself reports lost.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::Analysis;
use crate::ids::{Id, ProcessId, PublicationId, PublisherId, SubscriptionId, TopicId};
use crate::window::Window;

/// Messages from one publisher to one subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeLosses {
    /// The publisher.
    pub publisher: PublisherId,
    /// The subscription.
    pub subscription: SubscriptionId,
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
    /// trace records no arrivals.
    pub overwritten: Option<u64>,
    /// Never in the reader's cache; `None` likewise.
    pub missing: Option<u64>,
}

/// Losses of all edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Losses {
    /// By subscription and publisher.
    pub edges: Vec<EdgeLosses>,
    /// Samples that DDS reports lost, per subscription that reports any.
    pub samples_lost: Vec<(SubscriptionId, u64)>,
    /// Whether the trace records arrivals.
    pub arrivals_recorded: bool,
}

impl Analysis {
    /// Losses among the messages published in a window.
    #[must_use]
    pub fn losses(&self, window: Window) -> Losses {
        let seen = Seen::new(self);
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
        Losses {
            edges,
            samples_lost: self.samples_lost(window),
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

    /// When a process says that its declared endpoints have found their peers.
    fn matched_ns(&self, process: ProcessId) -> Option<i64> {
        self.marks
            .endpoints_matched
            .iter()
            .rfind(|matched| matched.0 == process)
            .map(|matched| matched.2)
    }
}

/// What readers got.
struct Seen {
    taken: FxHashSet<(SubscriptionId, PublicationId)>,
    arrived: FxHashMap<(SubscriptionId, i64), i64>,
    replaced: FxHashSet<(SubscriptionId, PublicationId)>,
    last_take: FxHashMap<SubscriptionId, i64>,
    arrivals_recorded: bool,
}

impl Seen {
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
            if let Some(link) = take.link {
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
    arrivals_recorded: bool,
}

impl<'a> Edge<'a> {
    fn new(
        analysis: &'a Analysis,
        seen: &Seen,
        publisher: PublisherId,
        subscription: SubscriptionId,
        publications: &[PublicationId],
    ) -> Self {
        let graph = &analysis.graph;
        let from = graph.publishers[publisher].process;
        let to = graph.subscriptions[subscription].process;
        let records = &analysis.records;
        let mut longest_ns = 0;
        let messages: Vec<(PublicationId, Reached)> = publications
            .iter()
            .filter(|&&id| from == to || records.publications[id].rmw_ns.is_some())
            .map(|&id| {
                let publication = &records.publications[id];
                let arrived = publication
                    .stamp
                    .and_then(|stamp| seen.arrived.get(&(subscription, stamp)));
                if let (Some(arrived), Some(sent)) = (arrived, publication.rmw_ns) {
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
        Self {
            analysis,
            publisher,
            subscription,
            first: messages.iter().position(|m| m.1 != Reached::Nothing),
            messages,
            matched_ns,
            decided_ns: last_ns.saturating_sub(longest_ns),
            arrivals_recorded: seen.arrivals_recorded,
        }
    }

    fn count(&self, window: Window) -> EdgeLosses {
        let mut edge = EdgeLosses {
            publisher: self.publisher,
            subscription: self.subscription,
            published: 0,
            taken: 0,
            not_matched: 0,
            undecided: 0,
            not_taken: 0,
            overwritten: None,
            missing: None,
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
    use crate::Window;
    use crate::event::Body;
    use crate::scripted::Script;

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
        let rmw_subscription = sub.rmw;
        for (time, total) in [(100, 2), (4500, 5)] {
            script.add(
                time,
                sink,
                Body::SampleLost {
                    rmw_subscription,
                    total,
                },
            );
        }
        let analysis = script.analyse();
        let losses = analysis.losses(Window::ALWAYS);
        let [edge] = &losses.edges[..] else {
            panic!("{losses:?}")
        };
        assert_eq!((edge.published, edge.taken), (8, 3));
        assert_eq!((edge.not_matched, edge.undecided), (1, 2));
        assert_eq!(edge.not_taken, 2);
        assert_eq!((edge.overwritten, edge.missing), (Some(1), Some(1)));
        assert_eq!(losses.samples_lost[0].1, 5);
        let window = Window {
            from_ns: 900,
            to_ns: 6500,
        };
        let losses = analysis.losses(window);
        assert_eq!(losses.edges[0].published, 6);
        assert_eq!(losses.samples_lost[0].1, 3);
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
