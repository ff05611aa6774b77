//! Calls of a chain's callbacks and the messages between them, around the slowest instance of the chain.

use std::collections::HashMap;

use serde::Serialize;
use stowplan_trace::{Analysis, CallbackId, ChainResult, InstanceId};

/// Most calls of a chain that the page has.
const MOST: usize = 800;

/// A span of the trace. Times are ns.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Timeline {
    /// Its beginning since the first event of the trace.
    from: i64,
    /// Its length.
    length: i64,
    /// Whether it has every call of the chain's callbacks.
    whole: bool,
    /// Calls by their start: which callback of the chain each is of.
    lane: Vec<usize>,
    /// Starts since the beginning, each less the one before.
    start: Vec<i64>,
    /// Durations; null where the trace does not have the end.
    ns: Vec<Option<i64>>,
    /// Messages: from which call, to which, and how long after the start of the first it was published.
    messages: Vec<(usize, usize, i64)>,
    /// Instances of the chain: their calls in its order, and their end-to-end latency.
    flows: Vec<(Vec<usize>, i64)>,
    /// Which of them is the slowest; null without one.
    slowest: Option<usize>,
}

/// `origin_ns`: first event of the trace. `None` where no callback of the chain was called.
pub(super) fn of(analysis: &Analysis, chain: &ChainResult, origin_ns: i64) -> Option<Timeline> {
    let lanes = lanes(chain);
    let calls = span(analysis, chain, &lanes);
    let (&first, &last) = (calls.ids.first()?, calls.ids.last()?);
    let instance = |id: InstanceId| &analysis.records.instances[id];
    let from_ns = instance(first).start_ns;
    let ends = calls.ids.iter().filter_map(|&id| instance(id).end_ns.get());
    let to_ns = ends.max().unwrap_or(from_ns).max(instance(last).start_ns);
    let index: HashMap<InstanceId, usize> = calls
        .ids
        .iter()
        .enumerate()
        .map(|(at, &id)| (id, at))
        .collect();
    let mut before_ns = from_ns;
    let starts = calls.ids.iter().map(|&id| {
        let since = instance(id).start_ns - before_ns;
        before_ns = instance(id).start_ns;
        since
    });
    let start = starts.collect();
    let flows = flows(chain, &index);
    let slowest = (0..flows.len()).max_by_key(|&at| flows[at].1);
    Some(Timeline {
        from: from_ns - origin_ns,
        length: to_ns - from_ns,
        whole: calls.whole,
        lane: calls
            .ids
            .iter()
            .map(|&id| lanes[&instance(id).callback])
            .collect(),
        start,
        ns: calls
            .ids
            .iter()
            .map(|&id| Some(instance(id).end_ns.get()? - instance(id).start_ns))
            .collect(),
        messages: messages(analysis, &calls.ids, &index),
        flows,
        slowest,
    })
}

/// Calls in order of their start.
struct Calls {
    ids: Vec<InstanceId>,
    whole: bool,
}

fn lanes(chain: &ChainResult) -> HashMap<CallbackId, usize> {
    let callbacks = chain.chain.callbacks.iter().enumerate();
    callbacks
        .map(|(lane, &callback)| (callback, lane))
        .collect()
}

/// The calls of the chain's callbacks, or as many as the page has around the slowest instance.
fn span(analysis: &Analysis, chain: &ChainResult, lanes: &HashMap<CallbackId, usize>) -> Calls {
    let instances = &analysis.records.instances;
    let mut ids: Vec<InstanceId> = instances
        .iter()
        .filter(|(_, instance)| lanes.contains_key(&instance.callback))
        .map(|(id, _)| id)
        .collect();
    ids.sort_by_key(|&id| instances[id].start_ns);
    if ids.len() <= MOST {
        return Calls { ids, whole: true };
    }
    let slowest = chain.instances.iter().max_by_key(|i| i.e2e_ns);
    let start_ns = slowest.and_then(|i| i.steps.first()).map(|s| s.start_ns);
    let at = start_ns.map_or(0, |ns| {
        ids.partition_point(|&id| instances[id].start_ns < ns)
    });
    // A third before it: what made it slow began earlier.
    let begin = at.saturating_sub(MOST / 3).min(ids.len() - MOST);
    Calls {
        ids: ids[begin..begin + MOST].to_vec(),
        whole: false,
    }
}

fn messages(
    analysis: &Analysis,
    ids: &[InstanceId],
    index: &HashMap<InstanceId, usize>,
) -> Vec<(usize, usize, i64)> {
    let records = &analysis.records;
    let all = ids.iter().enumerate().filter_map(|(to, &id)| {
        let link = records.takes[records.instances[id].take?].link?;
        let publication = &records.publications[link.publication];
        let from = publication.instance?;
        let sent_ns = publication.time_ns - records.instances[from].start_ns;
        Some((*index.get(&from)?, to, sent_ns))
    });
    all.collect()
}

fn flows(chain: &ChainResult, index: &HashMap<InstanceId, usize>) -> Vec<(Vec<usize>, i64)> {
    let all = chain.instances.iter().filter_map(|of| {
        let calls = of.steps.iter().map(|step| index.get(&step.instance));
        let calls: Option<Vec<usize>> = calls.map(Option::<&usize>::copied).collect();
        Some((calls?, of.e2e_ns))
    });
    all.collect()
}
