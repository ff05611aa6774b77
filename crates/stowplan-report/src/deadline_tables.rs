//! The table of deadlines that chains missed.

use stowplan_judge::Judgement;

use crate::format::{count, value};
use crate::text_table::TextTable;

/// A row for each chain with a deadline, and deployment.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Deadlines",
        "An input misses its chain's deadline where the reaction to it, from its release by the sensor, takes longer or never comes.",
        &["Chain", "Deployment"],
        &["Deadline", "Inputs", "Missed", "Share"],
    );
    let deadlines = &report.figures.experiment.stack.deadlines_ns;
    for view in &report.figures.latency {
        let (Some(late), Some(deadline_ns)) = (view.late, deadlines.get(&view.chain)) else {
            continue;
        };
        let share = (view.inputs > 0).then(|| late as f64 / view.inputs as f64);
        table.rows.push(vec![
            view.chain.clone(),
            report.figures.label(&view.deployment).to_owned(),
            value("ns", Some(*deadline_ns as f64)),
            count(view.inputs),
            count(late),
            value("share", share),
        ]);
    }
    table
}
