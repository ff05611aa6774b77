//! The callbacks of a trace and how long they took.

use serde::Serialize;
use stowplan_trace::{CallbackId, CallbackSummary, Id as _, Overview, Trigger};

/// Shares of the instances at which durations are given, for callbacks with more instances.
pub(super) const SHARES: [f64; 49] = shares();

const fn shares() -> [f64; 49] {
    // Even steps, and towards the end, where the tail is, finer ones.
    let mut shares = [0.0; 49];
    let mut i = 0;
    while i < 40 {
        shares[i] = i as f64 / 40.0;
        i += 1;
    }
    let tail = [0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999, 0.9995, 1.0];
    let mut at = 0;
    while at < 9 {
        shares[40 + at] = tail[at];
        at += 1;
    }
    shares
}

/// A callback.
#[derive(Serialize)]
pub(super) struct Callback {
    node: Option<String>,
    /// `timer`, `subscription`, `service`; null where the trace does not say.
    kind: Option<&'static str>,
    topic: Option<String>,
    period_ns: Option<i64>,
    symbol: Option<String>,
    ordinal: u32,
    /// Index among the processes of the start-up.
    process: usize,
    threads: usize,
    count: u64,
    /// Left out: not ended, or touched by discarded events.
    unfinished: u64,
    invalid: u64,
    mean: Option<f64>,
    min: Option<i64>,
    q50: Option<f64>,
    p99: Option<f64>,
    max: Option<i64>,
    /// Share of the trace's length that it ran, over all threads; null for a trace without length.
    busy: Option<f64>,
    /// Durations in ns: all of them, sorted, if they are few, else at the shares of the page.
    ns: Vec<i64>,
}

pub(super) fn all(overview: &Overview) -> Vec<Callback> {
    let summaries = overview.callback_summaries().into_iter();
    summaries.map(|of| callback(overview, of)).collect()
}

fn callback(overview: &Overview, of: CallbackSummary) -> Callback {
    let (kind, topic, period_ns) = match of.identity.trigger {
        Trigger::Timer(ns) => (Some("timer"), None, Some(ns)),
        Trigger::Subscription(topic) => (Some("subscription"), Some(topic), None),
        Trigger::Service(name) | Trigger::Client(name) => (Some("service"), Some(name), None),
        Trigger::Unknown => (None, None, None),
    };
    let durations = of.durations.as_ref();
    let length = overview.extent.map(|extent| extent.to_ns - extent.from_ns);
    let busy = durations.zip(length.filter(|&ns| ns > 0));
    let count = durations.map_or(0, |durations| durations.count);
    Callback {
        node: of.identity.node,
        kind,
        topic,
        period_ns,
        symbol: of.identity.symbol,
        ordinal: of.identity.ordinal,
        process: overview.graph.callbacks[of.callback].process.index(),
        threads: of.vtids.len(),
        count: of.count,
        unfinished: of.unfinished,
        invalid: of.touched_by_discard,
        mean: durations.map(|d| d.mean_ns.round()),
        min: durations.map(|d| d.min_ns),
        q50: durations.map(|d| d.median_ns),
        p99: durations.and_then(|d| d.p99_ns.ok()),
        max: durations.map(|d| d.max_ns),
        busy: busy.map(|(d, length)| rounded(d.mean_ns * d.count as f64 / length as f64)),
        ns: quantiles(overview, of.callback, count),
    }
}

/// Six decimals: a callback of a microsecond per second.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn quantiles(overview: &Overview, callback: CallbackId, count: u64) -> Vec<i64> {
    let few: Vec<f64>;
    let shares: &[f64] = if count > SHARES.len() as u64 {
        &SHARES
    } else {
        let last = count.saturating_sub(1).max(1) as f64;
        few = (0..count).map(|i| i as f64 / last).collect();
        &few
    };
    let found = overview.duration_quantiles(callback, shares);
    let found = found.unwrap_or_default().into_iter();
    found.map(|ns| ns.round() as i64).collect()
}
