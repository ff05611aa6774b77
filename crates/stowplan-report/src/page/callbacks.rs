//! What a call of each callback took, for the page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stowplan_judge::{CallTimes, CallbackTimes, Judgement};

/// Callbacks that the page has: those of chains, then those that took most time.
const MOST: usize = 120;

#[derive(Serialize)]
pub(super) struct Callback<'a> {
    callback: &'a str,
    /// Chains that it is on.
    chains: Vec<&'a str>,
    by: BTreeMap<&'a str, Calls>,
}

/// Means over the blocks, ns.
#[derive(Serialize)]
struct Calls {
    calls: u64,
    wall_ns: Option<f64>,
    cpu_ns: Option<f64>,
    preempted_ns: Option<f64>,
}

pub(super) fn all(report: &Judgement) -> Vec<Callback<'_>> {
    let stack = &report.figures.experiment.stack;
    let mut rank: BTreeMap<&str, usize> = BTreeMap::new();
    let on_chains = stack
        .chains
        .iter()
        .filter_map(|c| stack.chain_callbacks.get(c));
    for (at, callback) in on_chains.flatten().enumerate() {
        rank.entry(callback).or_insert(at);
    }
    let mut all: Vec<&CallbackTimes> = report.figures.callbacks.iter().collect();
    all.sort_by_key(|of| rank.get(&*of.callback).copied().unwrap_or(usize::MAX));
    all.truncate(MOST);
    all.into_iter().map(|of| one(report, of)).collect()
}

fn one<'a>(report: &'a Judgement, of: &'a CallbackTimes) -> Callback<'a> {
    let chains = report.figures.experiment.stack.chain_callbacks.iter();
    let chains = chains.filter(|(_, callbacks)| callbacks.contains(&of.callback));
    let by = of.by.iter().map(|(deployment, times)| {
        let mean = |figure: fn(&CallTimes) -> Option<f64>| {
            of.mean_of_blocks(deployment, figure).map(f64::round)
        };
        let calls = Calls {
            calls: times.calls,
            wall_ns: mean(|times| Some(times.wall_mean_ns())),
            cpu_ns: mean(CallTimes::cpu_mean_ns),
            preempted_ns: mean(CallTimes::preempted_mean_ns),
        };
        (&**deployment, calls)
    });
    let chains: BTreeSet<&str> = chains.map(|(chain, _)| &**chain).collect();
    Callback {
        callback: &of.callback,
        chains: chains.into_iter().collect(),
        by: by.collect(),
    }
}
