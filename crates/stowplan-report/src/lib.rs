//! HTML, terminal and Markdown views of a judged result, and of a recorded trace.
//!
//! They only draw: every figure and verdict comes from `stowplan-judge`.
#![forbid(unsafe_code)]

mod ablation_tables;
mod conclusion;
mod configured;
mod deadline_tables;
mod difference_tables;
mod engine_tables;
mod error;
mod format;
mod graph;
mod html;
mod measurement_tables;
mod memory_tables;
mod module_tables;
mod page;
mod phase_tables;
mod place_tables;
mod section;
mod sensitivity_tables;
mod setting_tables;
mod slower_tables;
mod tables;
mod text;
mod text_table;
mod trace;

use std::path::Path;

use stowplan_judge::Judgement;

pub use conclusion::{Screen, conclusion};
pub use error::ReportError;
pub use graph::{Form, GraphEdge, GraphNode, Limits, NodeGraph, View};
pub use section::{Piece, Section, Timeline, TimelineRow};
pub use slower_tables::{regression_lines, slower_lines};
pub use trace::TraceReport;

/// The tables for a terminal that is `width` columns wide.
#[must_use]
pub fn terminal(judgement: &Judgement, width: usize) -> String {
    text::terminal(judgement, &tables::all(judgement, false), width)
}

/// The tables as Markdown.
#[must_use]
pub fn markdown(judgement: &Judgement) -> String {
    text::markdown(judgement, &tables::all(judgement, true))
}

/// The report as one page that works offline.
///
/// # Errors
/// When its data cannot be put into JSON.
pub fn html(judgement: &Judgement) -> Result<String, ReportError> {
    html_with(judgement, &[])
}

/// The same with what a suite adds to it.
///
/// # Errors
/// When its data cannot be put into JSON.
pub fn html_with(judgement: &Judgement, sections: &[Section]) -> Result<String, ReportError> {
    let experiment = &judgement.figures.experiment;
    Ok(html::page(&html::Content {
        title: &experiment.name,
        data: &page::json(judgement)?,
        version: &experiment.stowplan_version,
        as_text: "stowplan report --form markdown",
        after: &section::html(sections),
    }))
}

/// Writes that page.
///
/// # Errors
/// When its data cannot be put into JSON, or the file cannot be written.
pub fn write_html(judgement: &Judgement, out: &Path) -> Result<(), ReportError> {
    html::write(&html(judgement)?, out)
}

/// Writes that page with what a suite adds to it.
///
/// # Errors
/// When its data cannot be put into JSON, or the file cannot be written.
pub fn write_html_with(
    judgement: &Judgement,
    sections: &[Section],
    out: &Path,
) -> Result<(), ReportError> {
    html::write(&html_with(judgement, sections)?, out)
}
