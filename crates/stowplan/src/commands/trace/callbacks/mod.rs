//! `stowplan trace callbacks`.

mod select;
mod show;

use stowplan_trace::{CallbackSummary, Distribution, Overview, Reading, Scheduled, Trigger};

use crate::cli::TraceCallbacksArgs;
use crate::documents;
use crate::documents::trace::{
    Behind, CallbackKind, Durations, TopicOrPeriod, TraceCallbacks, TracedCallback,
};
use crate::failure::{CommandError, ExitCode, OrExit};

/// Runs the command.
pub fn run(args: &TraceCallbacksArgs) -> Result<(), CommandError> {
    let overview =
        Overview::of_callbacks(&args.dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let all = overview.callback_summaries().into_iter();
    let mut callbacks: Vec<TracedCallback> = all.map(|of| traced(&overview, of)).collect();
    // The busiest first; those without durations by their calls.
    callbacks.sort_by(|a, b| {
        let by = |of: &TracedCallback| (of.busy_share.unwrap_or(0.0), of.count as f64);
        let (a, b) = (by(a), by(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    select::filter(&mut callbacks, args)?;
    let document = TraceCallbacks {
        schema: "stowplan.trace-callbacks/1",
        callbacks,
        missing: super::missing_of_calls(&overview),
    };
    if args.json {
        return documents::print(&document);
    }
    if args.csv {
        return show::csv(&document.callbacks);
    }
    show::table(document.callbacks, args.every_topic)
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
    let span_ns = overview.extent.map(|extent| extent.to_ns - extent.from_ns);
    let span_ns = span_ns.filter(|&ns| ns > 0).map(|ns| ns as f64);
    let busy_ns = summary
        .durations
        .as_ref()
        .map(|of| of.mean_ns * of.count as f64);
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
        per_s: span_ns.map(|ns| summary.count as f64 * 1e9 / ns),
        busy_share: span_ns.zip(busy_ns).map(|(span, busy)| busy / span),
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
