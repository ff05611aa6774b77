//! What happened in the steady part of a trace: calls, durations and publications by callback.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_stats::Sorted;
use stowplan_trace::{
    Analysis, CallbackId, Id, Instance, NodeId, Owner, Publication, ThreadId, TopicId, Window,
};

use crate::names;

/// Topics whose endpoints every node has.
const IMPLICIT: [&str; 2] = ["/rosout", "/parameter_events"];

/// Whether a node has endpoints on this topic without being asked for them.
pub(super) fn is_implicit(topic: &str) -> bool {
    IMPLICIT.contains(&topic)
}

/// Events that repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stream {
    pub count: u64,
    first_ns: i64,
    last_ns: i64,
}

impl Stream {
    pub fn add(&mut self, time_ns: i64) {
        if self.count == 0 {
            (self.first_ns, self.last_ns) = (time_ns, time_ns);
        }
        self.count += 1;
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
    }

    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            self.count += other.count;
            self.first_ns = self.first_ns.min(other.first_ns);
            self.last_ns = self.last_ns.max(other.last_ns);
        }
    }

    /// Mean time between two events in nanoseconds; `None` with fewer than two. What fills less than
    /// half of the window is a burst: it counts over the whole window.
    pub fn period_ns(&self, window: Window) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let (span, whole) = (self.last_ns - self.first_ns, window.to_ns - window.from_ns);
        if span * 2 >= whole && span > 0 {
            Some(span as f64 / (self.count - 1) as f64)
        } else {
            Some(whole.max(1) as f64 / self.count as f64)
        }
    }

    pub fn per_s(&self, window: Window) -> Option<f64> {
        self.period_ns(window).map(|ns| 1e9 / ns)
    }
}

/// What a callback did.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub stream: Stream,
    /// Starts in the order of the trace, nanoseconds.
    starts: Vec<i64>,
    /// Wall durations of finished calls.
    pub wall_ns: Vec<f64>,
    /// The same without the time in which its messages were sent.
    pub work_ns: Vec<f64>,
    /// Publications by topic.
    pub published: BTreeMap<TopicId, Stream>,
    pub threads: BTreeSet<ThreadId>,
}

impl Calls {
    /// Median time between two starts in nanoseconds: what a timer keeps that now and then is late.
    pub fn interval_ns(&self) -> Option<f64> {
        let between = self
            .starts
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64);
        Self::quantile(&between.collect::<Vec<_>>(), 0.5)
    }

    /// Median time that sending took in a call, in nanoseconds.
    pub fn sent_ns(&self) -> Option<f64> {
        let calls = self.wall_ns.iter().zip(&self.work_ns);
        let sent: Vec<f64> = calls.map(|(wall, work)| wall - work).collect();
        Self::quantile(&sent, 0.5)
    }

    /// Half the width of the 95 % interval of the mean time between two starts, as a share of it; `None` with fewer
    /// than three starts.
    pub fn rate_error(&self) -> Option<f64> {
        let between: Vec<f64> = self
            .starts
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let interval = stowplan_stats::t_interval(&between, 0.95).ok()?;
        let mean = between.iter().sum::<f64>() / between.len() as f64;
        (mean > 0.0).then(|| interval.half_width() / mean)
    }

    /// A 95 % interval of the median by order statistics (normal approximation of the binomial distribution);
    /// `None` where it would reach beyond the sample.
    pub fn median_range(sample: &[f64]) -> Option<(f64, f64)> {
        let [low, high] = median_shares(sample.len())?;
        Some((Self::quantile(sample, low)?, Self::quantile(sample, high)?))
    }

    /// A quantile of a sample; `None` of an empty one.
    pub fn quantile(sample: &[f64], q: f64) -> Option<f64> {
        Sorted::new(sample.to_vec())
            .ok()
            .map(|sorted| sorted.quantile(q))
    }
}

/// Shares of a sorted sample at which the 95 % interval of its median ends: those of order statistics, so that
/// a quantile there is a value of the sample. `None` where the interval would reach beyond it.
pub(super) fn median_shares(calls: usize) -> Option<[f64; 2]> {
    let n = calls as f64;
    let reach = 1.959_963_984_540_054 * n.sqrt() / 2.0;
    let (low, high) = ((n / 2.0 - reach).floor(), (n / 2.0 + 1.0 + reach).ceil());
    (low >= 1.0 && high <= n).then(|| [low, high].map(|rank| (rank - 1.0) / (n - 1.0)))
}

/// The steady part of a trace.
pub(super) struct Observed<'a> {
    pub analysis: &'a Analysis,
    pub window: Window,
    /// By index of the callback.
    pub calls: Vec<Calls>,
    /// Publications outside of callbacks of timers and subscriptions, by node and topic.
    pub loose: BTreeMap<(NodeId, TopicId), Stream>,
}

impl<'a> Observed<'a> {
    pub fn new(analysis: &'a Analysis) -> Self {
        let window = steady(analysis);
        let mut calls = Vec::new();
        calls.resize_with(analysis.graph.callbacks.len(), Calls::default);
        let mut observed = Self {
            analysis,
            window,
            calls,
            loose: BTreeMap::new(),
        };
        let sending = observed.sending_ns();
        for (_, instance) in analysis.records.instances.iter() {
            if window.contains(instance.start_ns) {
                observed.instance(instance, sending);
            }
        }
        for (_, publication) in analysis.records.publications.iter() {
            if window.contains(publication.time_ns) {
                observed.publication(publication);
            }
        }
        observed
    }

    fn instance(&mut self, instance: &Instance, sending_ns: f64) {
        let analysis = self.analysis;
        let calls = &mut self.calls[instance.callback.index()];
        calls.stream.add(instance.start_ns);
        calls.starts.push(instance.start_ns);
        calls.threads.insert(instance.thread);
        let Some(end_ns) = instance.end_ns.get() else {
            return;
        };
        let wall = (end_ns - instance.start_ns) as f64;
        let sent: f64 = publications(analysis, instance)
            .map(|publication| {
                let until = until(analysis, publication, end_ns);
                sending_ns.min((until - publication.time_ns) as f64)
            })
            .sum();
        calls.wall_ns.push(wall);
        calls.work_ns.push((wall - sent).max(0.0));
    }

    fn publication(&mut self, publication: &Publication) {
        let graph = &self.analysis.graph;
        let publisher = &graph.publishers[publication.publisher];
        let is_modelled_topic = |name: &str| !is_implicit(name) && names::is_topic(name);
        let Some(topic) = publisher
            .topic
            .filter(|&t| is_modelled_topic(&graph.topics[t]))
        else {
            return;
        };
        let callback = publication
            .instance
            .map(|id| self.analysis.records.instances[id].callback)
            .filter(|&callback| is_modelled(self.analysis, callback));
        if let Some(callback) = callback {
            let calls = &mut self.calls[callback.index()];
            calls
                .published
                .entry(topic)
                .or_default()
                .add(publication.time_ns);
        } else if let Some(node) = publisher.node {
            self.loose
                .entry((node, topic))
                .or_default()
                .add(publication.time_ns);
        }
    }

    /// What sending a message takes: the tenth percentile of the time from entering rclcpp to the next event of the
    /// thread. What takes longer has other work in it, or larger messages than a stack from a trace has, and no event
    /// tells either apart.
    fn sending_ns(&self) -> f64 {
        let mut times = Vec::new();
        for (_, instance) in self.analysis.records.instances.iter() {
            let Some(end_ns) = instance.end_ns.get() else {
                continue;
            };
            for publication in publications(self.analysis, instance) {
                let until = until(self.analysis, publication, end_ns);
                times.push((until - publication.time_ns).max(0) as f64);
            }
        }
        Calls::quantile(&times, 0.1).unwrap_or(0.0)
    }

    /// Publications in the window on each topic.
    pub fn topics(&self) -> BTreeMap<TopicId, Stream> {
        let mut topics: BTreeMap<TopicId, Stream> = BTreeMap::new();
        let inside = self.calls.iter().flat_map(|calls| &calls.published);
        let outside = self
            .loose
            .iter()
            .map(|((_, topic), stream)| (topic, stream));
        for (topic, stream) in inside.chain(outside) {
            topics.entry(*topic).or_default().merge(stream);
        }
        topics
    }
}

/// Whether a stack has callbacks of this kind: those of timers and of subscriptions that are not implicit.
pub(super) fn is_modelled(analysis: &Analysis, callback: CallbackId) -> bool {
    let graph = &analysis.graph;
    match graph.callbacks[callback].owner {
        Owner::Timer(_) => true,
        Owner::Subscription(id) => !is_implicit(&graph.topics[graph.subscriptions[id].topic]),
        Owner::Service(_) | Owner::Client(_) | Owner::Unknown => false,
    }
}

fn publications<'a>(
    analysis: &'a Analysis,
    instance: &Instance,
) -> impl Iterator<Item = &'a Publication> {
    let all = &analysis.records.publications;
    let mut next = instance.first_publication;
    std::iter::from_fn(move || {
        let publication = &all[next?];
        next = publication.next;
        Some(publication)
    })
}

/// When the thread goes on after a publication.
fn until(analysis: &Analysis, publication: &Publication, end_ns: i64) -> i64 {
    let next = publication
        .next
        .map(|id| analysis.records.publications[id].time_ns);
    publication
        .followed_ns
        .get()
        .or(next)
        .unwrap_or(end_ns)
        .clamp(publication.time_ns, end_ns.max(publication.time_ns))
}

/// The armed window of a trace of Stowplan; else from the last node that is created in the first half of
/// the trace to its end.
fn steady(analysis: &Analysis) -> Window {
    if let Some(window) = analysis.armed_window() {
        return window;
    }
    let extent = analysis.extent.unwrap_or(Window {
        from_ns: 0,
        to_ns: 0,
    });
    let half = extent.from_ns + (extent.to_ns - extent.from_ns) / 2;
    let inits = analysis.marks.node_init.iter().map(|init| init.1);
    Window {
        from_ns: inits
            .filter(|&time| time <= half)
            .max()
            .unwrap_or(extent.from_ns),
        to_ns: extent.to_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        from_ns: 0,
        to_ns: 1000,
    };

    fn stream(times: impl IntoIterator<Item = i64>) -> Stream {
        let mut stream = Stream::default();
        times.into_iter().for_each(|t| stream.add(t));
        stream
    }

    #[test]
    fn a_period_is_the_mean_between_first_and_last() {
        assert_eq!(
            stream((0..=9).map(|i| 100 * i)).period_ns(WINDOW),
            Some(100.0)
        );
        assert_eq!(stream([5]).period_ns(WINDOW), None);
    }

    #[test]
    fn a_burst_counts_over_the_window() {
        assert_eq!(stream([0, 1, 2, 3]).period_ns(WINDOW), Some(250.0));
        assert_eq!(stream([7, 7]).period_ns(WINDOW), Some(500.0));
    }

    #[test]
    fn streams_add_up() {
        let mut a = stream([0, 500]);
        a.merge(&stream([250, 750, 1000]));
        assert_eq!(a.period_ns(WINDOW), Some(250.0));
        let mut none = Stream::default();
        none.merge(&a);
        assert_eq!(none, a);
    }
}
