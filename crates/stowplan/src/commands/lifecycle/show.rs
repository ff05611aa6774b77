//! The life cycle on one screen, and in full.

use std::collections::BTreeSet;

use stowplan_judge::Judgement;
use stowplan_lifecycle::{Cell, Fault, Operation, Plan, Row, Step, Summary};
use stowplan_model::units::show_ns;
use stowplan_results::Comparison;
use stowplan_stats::Verdict;

use crate::table;

/// What stands where there is no figure.
pub(super) const NONE: &str = "–";

/// A figure as `show` has it, or what stands where there is none.
pub(super) fn or_none(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// Median and maximum of every figure, with the verdict on it against the reference, and what there is to say of them.
pub fn screen(summary: &Summary, judgement: &Judgement, plan: &Plan) -> String {
    let labels = summary.deployments.iter().map(|(_, label)| label.as_str());
    let mut table = table::new(std::iter::once("median (max)").chain(labels));
    let mut back: Vec<&Row> = Vec::new();
    // One screen is for a service's life; its images stand in the full table.
    let operations = summary.operations.iter().filter(|row| !is_of_images(row));
    let detected = summary.detected.iter().filter(|row| !is_of_deadlock(row));
    let mut groups: Vec<(&str, Vec<&Row>)> = vec![
        ("", operations.collect()),
        ("fault → detected", detected.collect()),
    ];
    for row in &summary.ready_again {
        // That somebody brings nothing back stands below, and not once for each fault.
        if !(row.is_never() || is_of_deadlock(row) || is_of(row, "engine-default")) {
            back.push(row);
        }
    }
    groups.push(("fault → ready again", back));
    let applications = summary.applications.iter();
    let applications = applications.filter(|row| is_on_screen(row));
    groups.push(("applications", applications.collect()));
    for (title, rows) in &groups {
        if !title.is_empty() && !rows.is_empty() {
            table.add_row([*title]);
        }
        for row in rows {
            let indent = if title.is_empty() { "" } else { "  " };
            let cells = row.cells.iter().zip(&summary.deployments);
            let cells = cells.map(|(cell, (id, _))| {
                let verdict = verdict(judgement, row, id);
                cell.as_ref()
                    .map_or_else(|| NONE.to_owned(), |c| in_short(c, verdict))
            });
            table.add_row(std::iter::once(format!("{indent}{}", row.label)).chain(cells));
        }
    }
    let mut lines = vec![
        head(summary, judgement, plan),
        String::new(),
        table.to_string(),
    ];
    lines.extend(notes(summary, judgement));
    lines.join("\n")
}

/// What was measured.
fn head(summary: &Summary, judgement: &Judgement, plan: &Plan) -> String {
    let all = summary.operations.iter().chain(&summary.detected);
    let runs = all.flat_map(|row| row.cells.iter().flatten());
    let runs = runs.map(|cell| cell.n).max().unwrap_or(0);
    let stack = &judgement.figures.experiment.stack.name;
    format!(
        "Life cycle of service '{}' of '{stack}' while the other services run; {runs} of each figure",
        plan.service
    )
}

fn notes(summary: &Summary, judgement: &Judgement) -> Vec<String> {
    let mut notes = vec![String::new()];
    let all = || summary.ready_again.iter();
    let mut alone = all().filter(|row| is_of(row, "engine"));
    if alone.clone().next().is_some() && alone.all(Row::is_never) {
        notes.push("Nothing came back by the engine alone, after any fault.".to_owned());
        notes.push(
            "supervisor: ours; it starts the service when the engine tells its end.".to_owned(),
        );
    }
    if all().any(|row| is_of(row, "policy") && !row.is_never()) {
        notes.push(
            "policy: the engine's own restart policy, without the delay that swarm has by default."
                .to_owned(),
        );
    }
    if all().any(|row| is_of(row, "engine-default")) {
        notes.push("engine-default: with that delay; in the report.".to_owned());
    }
    if all().any(|row| is_of(row, "watchdog")) {
        notes.push(
            "watchdog: ours; it also pings the service each 100 ms, and gives it up after 300 ms."
                .to_owned(),
        );
    }
    if all().any(|row| is_of(row, "health-check") && !row.is_never()) {
        notes.push(
            "health-check: the engine's own, each second, with its restart policy.".to_owned(),
        );
    }
    if all().any(|row| is_of(row, "health-check-supervisor")) {
        notes
            .push("health-check-supervisor: ours; it acts where the engine only tells.".to_owned());
    }
    if all().any(is_of_deadlock) {
        notes.push("deadlock: in the report.".to_owned());
    }
    if !summary.applications.is_empty() {
        notes.push("The other steps of applications: in the report.".to_owned());
    }
    let all = [&summary.operations, &summary.detected, &summary.ready_again];
    let shown = || all.into_iter().flatten().filter(|row| !is_of_images(row));
    let reasons = || {
        let cells = shown().flat_map(|row| row.cells.iter().flatten());
        cells.filter_map(|cell| cell.reason.as_deref())
    };
    let others: BTreeSet<&str> = reasons().filter(|why| !is_never(why)).collect();
    notes.extend(others.into_iter().map(|why| format!("{NONE}: {why}.")));
    if let Some(why) = reasons().find(|why| is_never(why)) {
        notes.push(format!("never: {}.", why.trim_start_matches("never, ")));
    }
    let reference = judgement.figures.experiment.reference_id();
    let reference = reference.map(|id| judgement.figures.label(id));
    let against =
        reference.filter(|_| judgement.comparisons.iter().any(|c| c.verdict.is_decided()));
    notes.extend(
        against.map(|label| format!("Verdicts are against {label}; without a word there is none.")),
    );
    notes
}

fn is_of_images(row: &Row) -> bool {
    let images = [
        Operation::ImageNew,
        Operation::ImageChanged,
        Operation::ImageThere,
    ];
    images.iter().any(|of| of.metric() == row.metric)
}

/// Whether a row of an application is one of the few that a screen has room for.
fn is_on_screen(row: &Row) -> bool {
    let steps = [Step::Build, Step::UpdateCached, Step::Start];
    steps.iter().any(|step| step.metric() == row.metric)
}

/// Whether a row is of a deadlock, which one screen has no room for beside a hang.
fn is_of_deadlock(row: &Row) -> bool {
    let fault = Fault::Deadlock.name();
    let subject = row.subject.as_deref();
    subject.is_some_and(|of| of.split(", ").next() == Some(fault))
}

/// Whether a row is of this keeper.
fn is_of(row: &Row, keeper: &str) -> bool {
    let subject = row.subject.as_deref();
    subject
        .and_then(|s| s.rsplit_once(", "))
        .is_some_and(|(_, of)| of == keeper)
}

/// Whether a reason says that something did not happen within the patience.
pub(super) fn is_never(why: &str) -> bool {
    why.starts_with("never")
}

/// Median, maximum, how often there was none, verdict.
fn in_short(cell: &Cell, verdict: Option<&Comparison>) -> String {
    let (Some(median), Some(max)) = (cell.median_ns, cell.max_ns) else {
        let never = cell.reason.as_deref().is_some_and(is_never);
        return if never { "never" } else { NONE }.to_owned();
    };
    let mut text = format!("{} ({})", show_ns(median), show_ns(max));
    if cell.without > 0 {
        text += &format!(", never {} of {}", cell.without, cell.n);
    }
    if let Some(of) = verdict.filter(|of| of.verdict.is_decided()) {
        let word = match of.verdict {
            Verdict::Equivalent => "same".to_owned(),
            _ => of.verdict.to_string(),
        };
        text += &format!(" {word}");
    }
    text
}

/// What was found of a figure of a deployment against the reference.
fn verdict<'a>(judgement: &'a Judgement, row: &Row, id: &str) -> Option<&'a Comparison> {
    let reference = judgement.figures.experiment.reference_id()?;
    let mut all = judgement.comparisons.iter();
    all.find(|of| {
        (&*of.metric, of.subject.as_deref()) == (row.metric, row.subject.as_deref())
            && (&*of.reference, &*of.candidate) == (reference, id)
    })
}

/// A row for every figure and deployment with its distribution, then every table of the report.
pub fn full(summary: &Summary, judgement: &Judgement) -> String {
    let head = [
        "figure",
        "deployment",
        "n",
        "none",
        "min",
        "median",
        "p95",
        "max",
        "why none",
    ];
    let mut table = table::new(head);
    let all = [
        &summary.operations,
        &summary.detected,
        &summary.ready_again,
        &summary.applications,
    ];
    for row in all.into_iter().flatten() {
        let name = match row.metric {
            stowplan_lifecycle::DETECTED => format!("detected: {}", row.label),
            stowplan_lifecycle::READY_AGAIN => format!("ready again: {}", row.label),
            _ => row.label.clone(),
        };
        for (cell, (_, label)) in row.cells.iter().zip(&summary.deployments) {
            let Some(cell) = cell else { continue };
            let value = |ns| or_none(ns, show_ns);
            table.add_row([
                name.clone(),
                label.clone(),
                cell.n.to_string(),
                cell.without.to_string(),
                value(cell.min_ns),
                value(cell.median_ns),
                value(cell.p95_ns),
                value(cell.max_ns),
                cell.reason.clone().unwrap_or_default(),
            ]);
        }
    }
    let tables = stowplan_report::terminal(judgement, table::width().into());
    format!("{table}\n\n{tables}")
}
