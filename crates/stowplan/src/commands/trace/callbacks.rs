//! `stowplan trace callbacks`.

use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{CallbackSummary, Graph, Overview, Reading, Trigger};

use crate::documents;
use crate::documents::trace::{
    CallbackKind, Durations, TopicOrPeriod, TraceCallbacks, TracedCallback,
};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// Runs the command.
pub fn run(dir: &Path, json: bool) -> Result<(), CommandError> {
    let overview = Overview::from_ctf(dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    let document = TraceCallbacks {
        schema: "stowplan.trace-callbacks/1",
        callbacks: overview
            .callback_summaries()
            .into_iter()
            .map(|summary| traced(&overview.graph, summary))
            .collect(),
        missing: super::missing(&overview),
    };
    if json {
        return documents::print(&document);
    }
    let mut table = table::new([
        "node",
        "started by",
        "count",
        "mean",
        "median",
        "P99",
        "max",
    ]);
    for callback in &document.callbacks {
        let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), show_ns);
        let of = callback.duration_ns.as_ref();
        table.add_row([
            callback.node.clone().unwrap_or_else(|| "–".to_owned()),
            started_by(callback),
            callback.count.to_string(),
            shown(of.map(|d| d.mean)),
            shown(of.map(|d| d.q50)),
            shown(of.and_then(|d| d.p99)),
            shown(of.map(|d| d.max as f64)),
        ]);
    }
    tell!("{table}")
}

fn started_by(callback: &TracedCallback) -> String {
    match (&callback.kind, &callback.topic_or_period) {
        (Some(CallbackKind::Timer), Some(TopicOrPeriod::Period(ns))) => {
            format!("timer {}", show_ns(*ns as f64))
        }
        (_, Some(TopicOrPeriod::Name(name))) => name.clone(),
        _ => "–".to_owned(),
    }
}

fn traced(graph: &Graph, summary: CallbackSummary) -> TracedCallback {
    let (kind, topic_or_period) = match summary.identity.trigger {
        Trigger::Timer(ns) => (Some(CallbackKind::Timer), Some(TopicOrPeriod::Period(ns))),
        Trigger::Subscription(topic) => (
            Some(CallbackKind::Subscription),
            Some(TopicOrPeriod::Name(topic)),
        ),
        Trigger::Service(name) => (Some(CallbackKind::Service), Some(TopicOrPeriod::Name(name))),
        Trigger::Unknown => (None, None),
    };
    let process = &graph.processes[graph.callbacks[summary.callback].process];
    TracedCallback {
        node: summary.identity.node,
        kind,
        topic_or_period,
        symbol: summary.identity.symbol,
        ordinal: summary.identity.ordinal,
        pid: summary.vpid,
        pid_ns: process.key.pid_namespace,
        host: process.key.host.clone(),
        trace: process.key.trace.clone(),
        tid: summary.vtids.first().copied().unwrap_or(summary.vpid),
        tids: summary.vtids,
        count: summary.count,
        unfinished: summary.unfinished,
        invalid: summary.touched_by_discard,
        duration_ns: summary.durations.map(|durations| Durations {
            mean: durations.mean_ns,
            min: durations.min_ns,
            q50: durations.median_ns,
            p99_reason: durations.p99_ns.as_ref().err().map(ToString::to_string),
            p99: durations.p99_ns.ok(),
            max: durations.max_ns,
            exact: durations.exact,
        }),
    }
}
