//! Differences between deployments, as text.

use stowplan_judge::{Judgement, difference_name};
use stowplan_results::{Comparison, Effect};
use stowplan_stats::Verdict;

use crate::format::{dash, difference};
use crate::text_table::TextTable;

/// Metrics of the printed table; `comparisons.json` and the page have all.
const PRINTED: [&str; 9] = [
    "startup_first_output",
    "startup_last_node_loaded",
    "e2e_paper_mean",
    "e2e_paper_p99",
    "idle_mean",
    "communication_mean",
    "computation_mean",
    "cpu",
    "memory_peak",
];

pub(crate) fn printed(c: &Comparison) -> bool {
    c.primary || PRINTED.contains(&&*c.metric)
}

pub(crate) fn differences(report: &Judgement) -> TextTable {
    let reference = report.figures.experiment.reference_id().unwrap_or_default();
    let mut table = TextTable::new(
        format!("Differences from {}", report.figures.label(reference)),
        format!(
            "Paired by block, with the 95 % interval; * primary metric, Holm-corrected, all else is exploratory. {MORE}"
        ),
        &["Metric", "Candidate"],
        &["Difference", "95 % interval", "n", "Verdict"],
    );
    let against = report.comparisons.iter();
    for c in against.filter(|c| c.reference == reference && printed(c)) {
        let star = if c.primary { " *" } else { "" };
        let mut row = vec![
            format!("{}{star}", difference_name(c)),
            report.figures.label(&c.candidate).to_owned(),
        ];
        row.extend(outcome(c));
        table.rows.push(row);
    }
    table
}

/// Metrics of the tables of effects.
pub(crate) const APART: [&str; 5] = [
    "startup_first_output",
    "e2e_paper_mean",
    "idle_mean",
    "communication_mean",
    "computation_mean",
];

pub(crate) fn effects(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Effects, told apart",
        format!(
            "Splitting: another partition at the same place. Group scheduling: bare:flat to bare:grouped. Isolation: bare:grouped, or that with the groups of the engine, to an engine. All else equal, exploratory. {MORE}"
        ),
        &["Effect", "What changes"],
        &["Difference", "95 % interval", "n", "Verdict"],
    );
    let apart = report.comparisons.iter();
    let apart = apart.filter(|c| c.effect != Effect::Total && APART.contains(&&*c.metric));
    for c in apart {
        let mut row = vec![
            format!("{}: {}", difference_name(c), c.effect.word()),
            change(
                report.figures.label(&c.reference),
                report.figures.label(&c.candidate),
            ),
        ];
        row.extend(outcome(c));
        table.rows.push(row);
    }
    // One effect on one metric stands together, in the order of first mention.
    let mentioned: Vec<String> = table.rows.iter().map(|row| row[0].clone()).collect();
    table
        .rows
        .sort_by_key(|row| mentioned.iter().position(|effect| *effect == row[0]));
    table
}

/// What differs between two labels `PLACE · PARTITION`, and once what does not.
pub(crate) fn change(from: &str, to: &str) -> String {
    match (from.split_once(" · "), to.split_once(" · ")) {
        (Some((place, from)), Some((other, to))) if place == other => {
            format!("{from} → {to}, {place}")
        }
        (Some((from, partition)), Some((to, other))) if partition == other => {
            format!("{from} → {to}, {partition}")
        }
        _ => format!("{from} → {to}"),
    }
}

/// What a number behind a verdict says.
const MORE: &str = "n: blocks. Inconclusive, +N: about N more blocks should bring a verdict; without a number, none would.";

/// Difference, interval, blocks and verdict.
pub(crate) fn outcome(c: &Comparison) -> [String; 4] {
    let shown = |v| difference(c.relative, &c.unit, Some(v));
    let interval = match (c.low, c.high) {
        (Some(low), Some(high)) => format!("{} … {}", shown(low), shown(high)),
        _ => dash(),
    };
    let estimate = c.difference.map_or_else(dash, shown);
    [estimate, interval, c.blocks.to_string(), verdict(c)]
}

/// The verdict, blocks that it still needs, and what it is without marked runs where that takes it back.
pub(crate) fn verdict(c: &Comparison) -> String {
    let mut verdict = match (c.verdict, c.blocks_needed) {
        (Verdict::Inconclusive, Some(more)) => format!("inconclusive, +{more}"),
        (verdict, _) => verdict.to_string(),
    };
    if let Some(clean) = &c.unmarked
        && clean.verdict != Some(c.verdict)
        && c.verdict.is_decided()
    {
        let found = clean.verdict.unwrap_or(Verdict::Inconclusive);
        verdict += &format!("; {found} without marked runs");
    }
    verdict
}
