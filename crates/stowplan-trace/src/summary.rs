//! Counts and distributions for tables: the trace, callbacks, topics, links, chains.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_stats::{Sorted, Unsupported};

use crate::analysis::Analysis;
use crate::chain::{ChainInstance, ChainResult, Parts};
use crate::graph::{CallbackIdentity, Graph};
use crate::holes::Holes;
use crate::ids::{CallbackId, Id, TopicId};
use crate::record::{Confidence, LinkMethod, Take};

/// A sample of durations in nanoseconds. Quantiles after Hyndman and Fan 7, given
/// only if enough samples lie beyond them (docs/measuring.md §4).
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Least.
    pub min_ns: i64,
    /// Median, of however few.
    pub median_ns: f64,
    /// Median.
    pub q50_ns: Result<f64, Unsupported>,
    /// 99th percentile.
    pub p99_ns: Result<f64, Unsupported>,
    /// Greatest.
    pub max_ns: i64,
    /// Whether the quantiles are those of the samples; else, in long traces, they
    /// are within 0.4 %.
    pub exact: bool,
}

impl Distribution {
    /// The distribution of samples; `None` without any.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut samples: Vec<i64> = samples.into_iter().collect();
        // Whole numbers sort faster than those that they become below.
        samples.sort_unstable();
        let (min_ns, max_ns) = (*samples.first()?, *samples.last()?);
        let sum: i128 = samples.iter().copied().map(i128::from).sum();
        let sorted = Sorted::new(samples.iter().map(|&ns| ns as f64).collect()).ok()?;
        Some(Self {
            count: samples.len() as u64,
            mean_ns: sum as f64 / samples.len() as f64,
            min_ns,
            median_ns: sorted.quantile(0.5),
            q50_ns: sorted.quantile_if_supported(0.5),
            p99_ns: sorted.quantile_if_supported(0.99),
            max_ns,
            exact: true,
        })
    }
}

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
    pub(crate) fn new(topic: TopicId, name: &str) -> Self {
        Self {
            topic,
            name: name.to_owned(),
            publishers: 0,
            subscriptions: 0,
            publications: 0,
            takes: 0,
            linked: 0,
        }
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
                let early_ns = take.stamp.zip(offset).map_or(0, |(stamp, offset)| {
                    stamp.saturating_sub(offset.saturating_add(take.time_ns))
                });
                self.unlinked_early += u64::from(early_ns > 0);
                self.most_early_ns = self.most_early_ns.max(early_ns);
            }
        }
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

impl ChainResult {
    /// Distributions over the instances.
    #[must_use]
    pub fn summary(&self) -> ChainSummary {
        let over = |value: &dyn Fn(&ChainInstance) -> Option<i64>| {
            // A part that some instances lack has no distribution.
            let all: Option<Vec<i64>> = self.instances.iter().map(value).collect();
            all.and_then(Distribution::of)
        };
        let part = |value: fn(&Parts) -> Option<i64>| over(&|i: &ChainInstance| value(&i.parts));
        ChainSummary {
            instances: self.instances.len() as u64,
            invalid: self.invalid.len() as u64,
            e2e: over(&|i| Some(i.e2e_ns)),
            e2e_full: over(&|i| i.e2e_full_ns),
            computation: part(|p| Some(p.computation_ns)),
            send: part(|p| Some(p.send_ns)),
            transport: part(|p| p.transport_ns),
            wait: part(|p| p.wait_ns),
            transit: part(|p| Some(p.transit_ns)),
            idle: part(|p| Some(p.idle_ns)),
            reaction: Distribution::of(
                self.inputs
                    .iter()
                    .filter(|input| !input.touched_by_discard)
                    .filter_map(|input| input.reaction_ns),
            ),
            age: over(&|i| Some(i.age_ns)),
        }
    }
}

impl Analysis {
    /// Callbacks that ran, in the order in which the trace first names them.
    #[must_use]
    pub fn callback_summaries(&self) -> Vec<CallbackSummary> {
        struct Entry {
            durations: Vec<i64>,
            vtids: BTreeSet<i64>,
            count: u64,
            unfinished: u64,
            touched: u64,
        }
        let holes = Holes::new(&self.graph, &self.discards);
        let mut entries: BTreeMap<CallbackId, Entry> = BTreeMap::new();
        for (_, instance) in self.records.instances.iter() {
            let entry = entries.entry(instance.callback).or_insert_with(|| Entry {
                durations: Vec::new(),
                vtids: BTreeSet::new(),
                count: 0,
                unfinished: 0,
                touched: 0,
            });
            let thread = &self.graph.threads[instance.thread];
            entry.count += 1;
            entry.vtids.insert(thread.vtid);
            match instance.end_ns {
                None => entry.unfinished += 1,
                Some(end) if holes.touch(thread.process, instance.start_ns, end) => {
                    entry.touched += 1;
                }
                Some(end) => entry.durations.push(end - instance.start_ns),
            }
        }
        entries
            .into_iter()
            .map(|(callback, entry)| {
                let process = self.graph.callbacks[callback].process;
                CallbackSummary {
                    callback,
                    identity: self.graph.identity_of(callback),
                    vpid: self.graph.processes[process].key.vpid,
                    vtids: entry.vtids.into_iter().collect(),
                    count: entry.count,
                    unfinished: entry.unfinished,
                    touched_by_discard: entry.touched,
                    durations: Distribution::of(entry.durations),
                }
            })
            .collect()
    }

    /// Topics in the order in which the trace first names them.
    #[must_use]
    pub fn topic_summaries(&self) -> Vec<TopicSummary> {
        let mut topics: Vec<TopicSummary> = self
            .graph
            .topics
            .iter()
            .map(|(topic, name)| TopicSummary::new(topic, name))
            .collect();
        for (_, publisher) in self.graph.publishers.iter() {
            if let Some(topic) = publisher.topic {
                topics[topic.index()].publishers += 1;
            }
        }
        for (_, subscription) in self.graph.subscriptions.iter() {
            topics[subscription.topic.index()].subscriptions += 1;
        }
        for (_, publication) in self.records.publications.iter() {
            if let Some(topic) = self.graph.publishers[publication.publisher].topic {
                topics[topic.index()].publications += 1;
            }
        }
        for (_, take) in self.records.takes.iter() {
            let topic = &mut topics[self.graph.subscriptions[take.subscription].topic.index()];
            topic.takes += 1;
            topic.linked += u64::from(take.link.is_some());
        }
        topics
    }

    /// How many messages were linked, and how.
    #[must_use]
    pub fn link_summary(&self) -> LinkSummary {
        let mut summary = LinkSummary::default();
        for (_, take) in self.records.takes.iter() {
            summary.add(&self.graph, take);
        }
        summary
    }

    /// tracetools versions of the processes, each once.
    #[must_use]
    pub fn tracetools_versions(&self) -> Vec<&str> {
        let versions: BTreeSet<&str> = self
            .graph
            .processes
            .iter()
            .filter_map(|(_, process)| process.tracetools_version.as_deref())
            .collect();
        versions.into_iter().collect()
    }
}
