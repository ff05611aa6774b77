//! `stowplan trace callbacks`.

use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_trace::{CallbackSummary, Distribution, Overview, Reading, Scheduled, Trigger};

use crate::documents;
use crate::documents::trace::{
    Behind, CallbackKind, Durations, TopicOrPeriod, TraceCallbacks, TracedCallback,
};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// Runs the command.
pub fn run(dir: &Path, json: bool) -> Result<(), CommandError> {
    let overview = Overview::from_ctf(dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let document = TraceCallbacks {
        schema: "stowplan.trace-callbacks/1",
        callbacks: overview
            .callback_summaries()
            .into_iter()
            .map(|summary| traced(&overview, summary))
            .collect(),
        missing: super::missing(&overview),
    };
    if json {
        return documents::print(&document);
    }
    let with_cpu = document.callbacks.iter().any(|c| c.cpu_ns.is_some());
    let mut columns = vec![
        "node",
        "started by",
        "count",
        "mean",
        "median",
        "P99",
        "max",
    ];
    if with_cpu {
        columns.push("median CPU");
    }
    let with_scheduler = document.callbacks.iter().any(|c| c.preempted_ns.is_some());
    if with_scheduler {
        columns.extend(["mean preempted", "mostly behind"]);
    }
    let mut table = table::new(columns);
    for callback in &document.callbacks {
        let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), show_ns);
        let of = callback.duration_ns.as_ref();
        let mut row = vec![
            callback.node.clone().unwrap_or_else(|| "–".to_owned()),
            started_by(callback),
            callback.count.to_string(),
            shown(of.map(|d| d.mean)),
            shown(of.map(|d| d.q50)),
            shown(of.and_then(|d| d.p99)),
            shown(of.map(|d| d.max as f64)),
        ];
        if with_cpu {
            row.push(shown(callback.cpu_ns.as_ref().map(|cpu| cpu.q50)));
        }
        if with_scheduler {
            row.push(shown(callback.preempted_ns.as_ref().map(|of| of.mean)));
            let first = callback.behind.first();
            row.push(first.map_or_else(|| "–".to_owned(), |of| of.thread.clone()));
        }
        table.add_row(row);
    }
    tell!("{table}")
}

fn started_by(callback: &TracedCallback) -> String {
    match (&callback.kind, &callback.topic_or_period) {
        (Some(CallbackKind::Timer), Some(TopicOrPeriod::Period(ns))) => {
            format!("timer {}", show_ns(*ns as f64))
        }
        (Some(CallbackKind::Client), Some(TopicOrPeriod::Name(name))) => {
            format!("response of {name}")
        }
        (_, Some(TopicOrPeriod::Name(name))) => name.clone(),
        _ => "–".to_owned(),
    }
}

fn traced(overview: &Overview, summary: CallbackSummary) -> TracedCallback {
    let graph = &overview.graph;
    let cpu = overview.marks.callback_cpu.get(&summary.callback);
    let scheduled = overview.marks.scheduled.get(&summary.callback);
    let (kind, topic_or_period) = match summary.identity.trigger {
        Trigger::Timer(ns) => (Some(CallbackKind::Timer), Some(TopicOrPeriod::Period(ns))),
        Trigger::Subscription(topic) => (
            Some(CallbackKind::Subscription),
            Some(TopicOrPeriod::Name(topic)),
        ),
        Trigger::Service(name) => (Some(CallbackKind::Service), Some(TopicOrPeriod::Name(name))),
        Trigger::Client(name) => (Some(CallbackKind::Client), Some(TopicOrPeriod::Name(name))),
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
        duration_ns: summary.durations.map(durations),
        cpu_ns: cpu.and_then(|cpu| cpu.distribution()).map(durations),
        preempted_ns: scheduled.and_then(Scheduled::preempted).map(durations),
        behind: scheduled.map(behind).unwrap_or_default(),
    }
}

fn behind(of: &Scheduled) -> Vec<Behind> {
    let all = of.behind_ns.iter().filter(|(_, total)| **total > 0);
    let mut all: Vec<Behind> = all
        .map(|(thread, &total_ns)| Behind {
            thread: thread.clone(),
            total_ns,
        })
        .collect();
    all.sort_by_key(|of| std::cmp::Reverse(of.total_ns));
    all
}

pub fn durations(of: Distribution) -> Durations {
    Durations {
        mean: of.mean_ns,
        min: of.min_ns,
        q50: of.median_ns,
        p99_reason: of.p99_ns.as_ref().err().map(ToString::to_string),
        p99: of.p99_ns.ok(),
        max: of.max_ns,
        exact: of.exact,
    }
}
