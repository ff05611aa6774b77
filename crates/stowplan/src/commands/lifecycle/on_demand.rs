//! Services that are started on demand: what is asked, and what it showed on one screen.

use std::collections::BTreeSet;
use std::time::Duration;

use stowplan_lifecycle::Trial;
use stowplan_lifecycle::scenario::{ChainRow, ScenarioSummary, StartCell, StartRow};
use stowplan_model::units::{show_bytes, show_ns};
use stowplan_run::Request;
use stowplan_spec::{Scenario, Strategy};

use crate::cli::LifecycleArgs;
use crate::commands::measure::or_default;
use crate::engines;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::table;

use super::Asked;
use super::show::{NONE, or_none};

/// Beside the timeline: until services wait, are armed and have ended.
const ALLOWANCE_NS: u64 = 15_000_000_000;

/// What is to be measured of a scenario.
pub(super) fn asked(
    args: &LifecycleArgs,
    name: &str,
    budget: Option<Duration>,
) -> Result<(Request, Trial), CommandError> {
    let (mut scenario, base) = stowplan_spec::find_scenario(name).or_exit(ExitCode::BadInput)?;
    if !args.strategies.is_empty() {
        let words = args.strategies.iter();
        let strategies = words.map(|word| word.parse::<Strategy>());
        scenario.strategies = strategies
            .collect::<Result<_, _>>()
            .or_exit(ExitCode::Usage)?;
    }
    let (file, text) = inputs::stack_text(&scenario.stack, &base)?;
    let spec = stowplan_spec::parse_spec(&text, &file).or_exit(ExitCode::BadInput)?;
    let choice = stowplan_spec::find_partition(&scenario.partition, &base);
    let choice = choice.or_exit(ExitCode::BadInput)?;
    let partition = stowplan_plan::partition(spec.stack(), &choice).or_exit(ExitCode::BadInput)?;
    let places = match &args.place[..] {
        [] => or_default(&scenario.places, &engines::CONTROLLED),
        given => given.to_vec(),
    };
    let request = super::request(
        args,
        Asked {
            name: format!("lifecycle-{}", scenario.name),
            stack: (&file, &text),
            places,
            partition,
            recorded_ns: scenario.length_ns + ALLOWANCE_NS,
            utilisation: scenario.utilisation,
            budget,
        },
    )?;
    Ok((request, Trial::Scenario(scenario)))
}

/// Deadlines met and missed, then the chains around each start.
pub(super) fn screen(summary: &ScenarioSummary, scenario: &Scenario) -> String {
    let labels = || summary.deployments.iter().map(|(_, label)| label.as_str());
    let mut starts =
        table::new(std::iter::once("request → ready: median (max), memory").chain(labels()));
    let mut last = None;
    for row in &summary.starts {
        let of = (&row.event, &row.service);
        if last != Some(of) {
            starts.add_row([title(row)]);
            last = Some(of);
        }
        let cells = row.cells.iter().map(|cell| start(cell.as_ref()));
        starts.add_row(std::iter::once(format!("  {}", row.strategy)).chain(cells));
    }
    let mut chains =
        table::new(std::iter::once("latency: before → start (max) → after").chain(labels()));
    let mut last = None;
    for row in &summary.chains {
        let of = (&row.event, &row.chain);
        if last != Some(of) {
            chains.add_row([format!("{}: chain {}", row.event, row.chain)]);
            last = Some(of);
        }
        let cells = (0..row.cells.len()).map(|at| around(row, at));
        chains.add_row(std::iter::once(format!("  {}", row.strategy)).chain(cells));
    }
    let mut lines = vec![head(summary, scenario), String::new(), starts.to_string()];
    lines.extend([String::new(), chains.to_string(), String::new()]);
    lines.extend(notes(summary, scenario));
    lines.join("\n")
}

fn head(summary: &ScenarioSummary, scenario: &Scenario) -> String {
    let cells = summary
        .starts
        .iter()
        .flat_map(|row| row.cells.iter().flatten());
    let runs = cells.map(|cell| cell.ready.n).max().unwrap_or(0);
    format!(
        "Scenario '{}' on '{}'; {runs} of each start",
        scenario.name, scenario.stack
    )
}

fn title(row: &StartRow) -> String {
    let deadline = show_ns(row.deadline_ns as f64);
    format!("{}: {}, deadline {deadline}", row.event, row.service)
}

/// Median and largest time, the memory while it waits, and whether the deadline was met.
fn start(cell: Option<&StartCell>) -> String {
    let Some(cell) = cell else {
        return NONE.to_owned();
    };
    let took = match (cell.ready.median_ns, cell.ready.max_ns) {
        (Some(median), Some(max)) => format!("{} ({})", show_ns(median), show_ns(max)),
        _ if is_late(cell) => "never".to_owned(),
        _ => return NONE.to_owned(),
    };
    let memory = cell.memory.as_ref().and_then(|of| of.median_ns);
    let memory = memory.map_or_else(String::new, |bytes| format!(", {}", show_bytes(bytes)));
    let missed = match cell.missed() {
        0 => String::new(),
        missed => format!(", missed {missed} of {}", cell.ready.n),
    };
    format!("{took}{memory}{missed}")
}

fn is_late(cell: &StartCell) -> bool {
    let reason = cell.ready.reason.as_deref();
    reason.is_some_and(|why| why.starts_with("not ready"))
}

/// Medians before, during and after a start, with the largest during it.
fn around(row: &ChainRow, at: usize) -> String {
    let Some([before, during, after]) = &row.cells[at] else {
        return NONE.to_owned();
    };
    let show = |value| or_none(value, show_ns);
    format!(
        "{} → {} ({}) → {}",
        show(before.0.median_ns),
        show(during.0.median_ns),
        show(during.1.max_ns),
        show(after.0.median_ns)
    )
}

fn notes(summary: &ScenarioSummary, scenario: &Scenario) -> Vec<String> {
    let window = show_ns(scenario.window_ns as f64);
    let mut notes = vec![format!(
        "A start lasts until its services are ready, and {window} at least; before and after are {window} each."
    )];
    let cells = summary
        .starts
        .iter()
        .flat_map(|row| row.cells.iter().flatten());
    let (mut met, mut missed) = (0, 0);
    let mut reasons = BTreeSet::new();
    for cell in cells {
        let none = cell.ready.reason.as_deref().filter(|_| !is_late(cell));
        match none {
            Some(why) => {
                reasons.insert(why);
            }
            None => {
                met += cell.met;
                missed += cell.missed();
            }
        }
    }
    notes.push(format!("Deadlines: {met} met, {missed} missed."));
    notes.extend(reasons.into_iter().map(|why| format!("{NONE}: {why}.")));
    notes
}
