//! `stowplan trace compare --learnt`: a trace, and a run of the stack that was learnt from it.

use stowplan_learn::{Came, ReproducedCallback, Reproduction, hold};
use stowplan_model::units::show_ns;

use crate::cli::TraceCompareArgs;
use crate::commands::learn::{facts, of_runs};
use crate::documents;
use crate::documents::learnt::LearntComparison;
use crate::failure::CommandError;
use crate::output::tell;
use crate::table;

/// Runs the command.
pub fn run(args: &TraceCompareArgs) -> Result<(), CommandError> {
    let trace = facts(&args.a)?;
    let runs = of_runs(&args.b)?;
    let held = hold(&trace, &runs.at_speed(runs.counted_ns), runs.work_scale);
    if args.json {
        return documents::print(&LearntComparison::of(&held, args.b.len(), &runs));
    }
    if args.b.len() > 1 {
        tell!(
            "over {} runs: means and intervals are over runs",
            args.b.len()
        )?;
    }
    if let Some((took, counted)) = runs.ns_per_iteration.zip(runs.counted_ns) {
        tell!(
            "an iteration took {took:.3} ns and was counted as {counted:.3} ns: times of the run are told at that speed"
        )?;
    }
    show(&held, runs.work_scale)
}

fn show(held: &Reproduction, work_scale: f64) -> Result<(), CommandError> {
    let mut table = table::new([
        "callback",
        "per s",
        "run",
        "median",
        "run",
        "CPU",
        "came back",
    ]);
    let not_back = |h: &&ReproducedCallback| {
        let cpu = h.cpu.as_ref().is_none_or(|cpu| *cpu == Came::Back);
        h.rate != Came::Back || h.median != Came::Back || !cpu
    };
    for of in held.callbacks.iter().filter(not_back) {
        let run = of.run.as_ref();
        let per_s = |per_s: Option<f64>| per_s.map_or_else(String::new, |x| format!("{x:.3}"));
        let time = |ns: Option<f64>| ns.map_or_else(String::new, show_ns);
        table.add_row([
            format!("{}/{}", of.trace.node, of.trace.callback),
            per_s(of.trace.per_s),
            per_s(run.and_then(|run| run.per_s)),
            time(of.expected_ns),
            time(run.and_then(|run| run.median_ns)),
            time(run.and_then(|run| run.cpu_median_ns)),
            said(of),
        ]);
    }
    if held.callbacks.iter().any(|h| not_back(&h)) {
        tell!("{table}\n")?;
    }
    tell!(
        "callbacks called twice or more: {}; their work is scaled by {work_scale:.3}",
        held.callbacks.len()
    )?;
    tell!("rates within 2 %: {}", count(held, |h| Some(&h.rate)))?;
    tell!("medians within 15 %: {}", count(held, |h| Some(&h.median)))?;
    if held.callbacks.iter().any(|h| h.cpu.is_some()) {
        tell!(
            "medians of CPU time within 15 %: {}",
            count(held, |h| h.cpu.as_ref())
        )?;
    }
    let (a, b) = (&held.endpoints.trace, &held.endpoints.run);
    for (kind, a, b) in [
        ("publishers", a.publishers, b.publishers),
        ("subscriptions", a.subscriptions, b.subscriptions),
        ("services", a.services, b.services),
        ("clients", a.clients, b.clients),
        ("timers", a.timers, b.timers),
    ] {
        tell!("{kind} of nodes in both: {a} and {b}")?;
    }
    for (what, nodes) in [
        ("other endpoints", &held.endpoints.different),
        ("only in the trace", &held.endpoints.missing),
        ("only in the run", &held.endpoints.added),
    ] {
        if !nodes.is_empty() {
            tell!("{what}: {}", nodes.join(", "))?;
        }
    }
    if let Some([trace, run]) = held.launch {
        let shares = |of: [f64; 3]| of.map(|share| format!("{:.0}", share * 100.0)).join(", ");
        tell!(
            "evaluate, spawn, load: {} % and {} %",
            shares(trace),
            shares(run)
        )?;
    }
    Ok(())
}

fn said(of: &ReproducedCallback) -> String {
    let cpu = of.cpu.as_ref().map(|cpu| words("CPU", cpu));
    let all = [words("rate", &of.rate), words("median", &of.median)];
    all.into_iter().chain(cpu).collect::<Vec<_>>().join("; ")
}

fn words(what: &str, came: &Came) -> String {
    match came {
        Came::Back => format!("{what}: yes"),
        Came::Off => format!("{what}: NO"),
        Came::Unsaid(reason) => format!("{what}: {reason}"),
    }
}

fn count(held: &Reproduction, which: impl Fn(&ReproducedCallback) -> Option<&Came>) -> String {
    let of = |wanted: fn(&Came) -> bool| {
        let all = held.callbacks.iter();
        all.filter_map(&which).filter(|came| wanted(came)).count()
    };
    let back = of(|came| *came == Came::Back);
    let off = of(|came| *came == Came::Off);
    let unsaid = of(|came| matches!(came, Came::Unsaid(_)));
    format!("{back} of {}, {unsaid} cannot be said", back + off)
}
