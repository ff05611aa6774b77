//! What a trace of any length contains, in bounded memory.

use crate::clocks::ClockDifference;
use crate::contents::Contents;
use crate::distribution::Distribution;
use crate::distributions::distributions;
use crate::event::Discard;
use crate::graph::Graph;
use crate::ids::{CallbackId, Id, ProcessId, PublisherId, SubscriptionId, TopicId};
use crate::marks::Marks;
use crate::repeats::Repeats;
use crate::services::ServiceCalls;
use crate::settle::{Counted, OfEdge};
use crate::summary::{CallbackSummary, LinkSummary, TopicSummary};
use crate::tracker::Gaps;
use crate::window::Window;

/// A trace, counted: entities, callbacks, links, what leads where. Unlike an
/// [`Analysis`](crate::Analysis) it keeps no single instance, so that its memory
/// depends on the system and not on how long it was recorded.
#[derive(Debug)]
pub struct Overview {
    /// The entities.
    pub graph: Graph,
    /// Instants and totals that single events state.
    pub marks: Marks,
    /// What could not be placed.
    pub gaps: Gaps,
    /// Where events were discarded.
    pub discards: Vec<Discard>,
    /// Hosts whose clocks do not agree.
    pub clocks: Vec<ClockDifference>,
    /// Calls of services, by service and client.
    pub services: Vec<ServiceCalls>,
    /// What the streams hold.
    pub contents: Contents,
    /// Where streams are broken.
    pub damage: Vec<stowplan_ctf::CtfError>,
    /// What several traces say of the same.
    pub repeats: Repeats,
    /// Number of events read.
    pub events: u64,
    /// First and last event of ROS 2, nanoseconds; `None` for a trace without.
    pub extent: Option<Window>,
    pub(crate) counted: Counted,
}

/// Messages from one callback to another.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeSummary {
    /// The callback that published.
    pub from: CallbackId,
    /// The callback that got the messages.
    pub to: CallbackId,
    /// Their topic.
    pub topic: Option<TopicId>,
    /// How many.
    pub messages: u64,
    /// Publication → start of the callback; `None` between hosts whose clocks do not agree.
    pub latency: Option<Distribution>,
}

/// Messages from a publisher to a subscription that were published outside callbacks, or
/// that no callback got: by threads of the program's own, or by rclpy.
#[derive(Debug, Clone, PartialEq)]
pub struct OutsideSummary {
    /// The publisher.
    pub publisher: PublisherId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// How many.
    pub messages: u64,
    /// Publication → start of the callback; `None` where none got them, and between hosts whose
    /// clocks do not agree.
    pub latency: Option<Distribution>,
}

impl Overview {
    /// Without the durations of callbacks and latencies of messages, of which a long trace has many: what remains is enough
    /// for [`Analysis::of_chains`](crate::Analysis::of_chains).
    #[must_use]
    pub fn without_durations(mut self) -> Self {
        self.counted.callbacks = Vec::new();
        self.counted.edges = Default::default();
        self.counted.outside = Default::default();
        self
    }

    /// Callbacks that ran, in the order in which the trace first names them.
    #[must_use]
    pub fn callback_summaries(&self) -> Vec<CallbackSummary> {
        let ids = self.graph.callbacks.ids().zip(&self.counted.callbacks);
        ids.filter(|(_, of)| of.count > 0)
            .map(|(callback, of)| {
                let process = self.graph.callbacks[callback].process;
                let mut vtids = of.threads.clone();
                vtids.sort_unstable();
                CallbackSummary {
                    callback,
                    identity: self.graph.identity_of(callback),
                    vpid: self.graph.processes[process].key.vpid,
                    vtids,
                    count: of.count,
                    unfinished: of.unfinished,
                    touched_by_discard: of.touched,
                    durations: of.durations.clone().distribution(),
                }
            })
            .collect()
    }

    /// How many messages were linked, and how.
    #[must_use]
    pub fn link_summary(&self) -> &LinkSummary {
        &self.counted.links
    }

    /// Edges that carried messages, by callbacks.
    #[must_use]
    pub fn edge_summaries(&self) -> Vec<EdgeSummary> {
        let mut edges: Vec<EdgeSummary> = self
            .counted
            .edges
            .iter()
            .map(|(&(from, to), edge)| {
                let process = |id: CallbackId| self.graph.callbacks[id].process;
                EdgeSummary {
                    from,
                    to,
                    topic: self.graph.topic_of(to),
                    messages: edge.messages,
                    latency: self.latency(edge, process(from), process(to)),
                }
            })
            .collect();
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        edges
    }

    /// Messages that are on no edge between callbacks.
    #[must_use]
    pub fn outside_summaries(&self) -> Vec<OutsideSummary> {
        let outside = self.counted.outside.iter();
        let mut all: Vec<OutsideSummary> = outside
            .map(|(&(publisher, subscription), edge)| {
                let from = self.graph.publishers[publisher].process;
                let to = self.graph.subscriptions[subscription].process;
                OutsideSummary {
                    publisher,
                    subscription,
                    messages: edge.messages,
                    latency: self.latency(edge, from, to),
                }
            })
            .collect();
        all.sort_unstable_by_key(|of| (of.publisher, of.subscription));
        all
    }

    /// The latency of an edge; `None` also where the clocks of its ends do not agree.
    fn latency(&self, edge: &OfEdge, from: ProcessId, to: ProcessId) -> Option<Distribution> {
        let host = |process: ProcessId| self.graph.processes[process].key.host.as_str();
        let mut clocks = self.clocks.iter();
        let apart = clocks.any(|clocks| clocks.is_between(host(from), host(to)));
        (!apart).then(|| edge.latency.clone().distribution())?
    }

    /// Durations of a callback at these shares (0 to 1) of its instances, nanoseconds, after
    /// Hyndman and Fan 7; `None` if none counts.
    #[must_use]
    pub fn duration_quantiles(&self, callback: CallbackId, shares: &[f64]) -> Option<Vec<f64>> {
        let of = self.counted.callbacks.get(callback.index())?;
        of.durations.quantiles(shares)
    }

    /// Topics in the order in which the trace first names them.
    #[must_use]
    pub fn topic_summaries(&self) -> Vec<TopicSummary> {
        let mut topics = TopicSummary::all(&self.graph);
        for (id, publisher) in self.graph.publishers.iter() {
            if let Some(topic) = publisher.topic {
                let count = self.counted.publications.get(id.index());
                topics[topic.index()].publications += count.map_or(0, |count| count.0);
            }
        }
        for (id, subscription) in self.graph.subscriptions.iter() {
            let topic = &mut topics[subscription.topic.index()];
            let counts = self.counted.takes.get(id.index());
            let (takes, linked) = counts.copied().unwrap_or_default();
            topic.takes += takes;
            topic.linked += linked;
        }
        topics
    }

    /// The distributions of ROS 2 that the trace comes from.
    ///
    /// # Errors
    /// The reason, where nothing tells.
    pub fn distributions(&self) -> Result<Vec<&'static str>, String> {
        distributions(&self.graph, &self.contents)
    }
}
