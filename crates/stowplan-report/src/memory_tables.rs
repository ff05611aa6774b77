//! The table of memory after the window.

use stowplan_judge::Judgement;
use stowplan_judge::memory::FIGURES;

use crate::format::{bytes, dash};
use crate::text_table::TextTable;

/// A row for each deployment.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Memory by share, just after the window",
        "Proportional set size (PSS): pages that several processes map count for each by its share, so that a page that services \
         read from one file counts once. Mean over the runs. The trace buffers of the node programs are shared memory.",
        &["Deployment"],
        &FIGURES,
    );
    for view in &report.figures.memory {
        let mut row = vec![report.figures.label(&view.deployment).to_owned()];
        let figures = view.figures().into_iter();
        row.extend(figures.map(|figure| figure.map_or_else(dash, bytes)));
        table.rows.push(row);
    }
    table
}
