//! The tables of settings that differ.

use stowplan_judge::equality::is_of_a_start;
use stowplan_judge::{Judgement, differing_settings};

use crate::text_table::TextTable;

/// Settings that a terminal shows of one pair.
const SHOWN: usize = 6;

/// A table for each deployment, with every setting.
pub(crate) fn whole(report: &Judgement) -> Vec<TextTable> {
    let all = report.figures.deployments().into_iter();
    let tables = all.map(|own| {
        let mut table = TextTable::new(
            format!("Settings of {} that differ", report.figures.label(&own.id)),
            "As read back from the processes: there in the deployment that it is compared with, here in its own.",
            &["Against", "Setting", "There", "Here"],
            &[],
        );
        let rows = differing_settings(&report.figures, own).into_iter();
        table.rows = rows.map(Vec::from).collect();
        table
    });
    tables.collect()
}

/// All deployments in one table, a row for each that one is compared with: of many settings the first, what each start has
/// anew last.
pub(crate) fn short(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Settings that differ",
        "Setting: its value there → here, as read back from the processes. Markdown and the page have all.",
        &["Deployment", "Against"],
        &["Settings"],
    );
    for own in report.figures.alternatives() {
        let mut rows = differing_settings(&report.figures, own);
        rows.sort_by_key(|[_, name, ..]| is_of_a_start(name));
        let mut against: Vec<&String> = rows.iter().map(|[label, ..]| label).collect();
        against.sort();
        against.dedup();
        for label in against {
            let of = rows.iter().filter(|row| row[0] == *label);
            let shown = of.clone().take(SHOWN);
            let mut texts: Vec<String> = shown
                .map(|[_, name, there, here]| format!("{name}: {there} → {here}"))
                .collect();
            let more = of.count().saturating_sub(SHOWN);
            if more > 0 {
                texts.push(format!("and {more} more"));
            }
            let pair = [report.figures.label(&own.id), label].map(str::to_owned);
            table
                .rows
                .push(pair.into_iter().chain([texts.join("; ")]).collect());
        }
    }
    table
}
