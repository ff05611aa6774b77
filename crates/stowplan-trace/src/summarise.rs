//! Counts what was analysed: callbacks, topics, links, and the latencies of a chain.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Analysis;
use crate::chain::{ChainInstance, ChainResult, Parts};
use crate::distribution::Distribution;
use crate::holes::Holes;
use crate::ids::{CallbackId, Id};
use crate::summary::{CallbackSummary, ChainSummary, LinkSummary, TopicSummary};

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
            match instance.end_ns.get() {
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
        let mut topics = TopicSummary::all(&self.graph);
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
