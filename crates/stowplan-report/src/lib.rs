//! HTML, terminal and Markdown views of saved results.
//!
//! A pure view: everything shown is computed from the files of a result, or from a recorded
//! trace, so that a report can be made again without the machine.
#![forbid(unsafe_code)]

mod ablation;
mod ablation_tables;
mod across_results;
mod callbacks;
mod common;
mod compare;
mod configured;
mod controls;
mod difference_tables;
mod engine_tables;
mod equality;
mod error;
mod format;
mod graph;
mod html;
mod instrument;
mod isolation;
mod latency;
mod losses;
mod marked;
mod memory;
mod metrics;
mod modules;
mod page;
mod phases;
mod places;
mod remeasured;
mod report;
mod sensitivity;
mod sensitivity_tables;
mod setting_tables;
mod size;
mod slower;
mod slower_tables;
mod startup;
mod tables;
mod text;
mod trace;
mod usage;
mod work;

use std::path::Path;

use stowplan_results::{Comparisons, Results};

pub use across_results::across;
pub use callbacks::{CallTimes, CallbackTimes};
pub use common::can_compare;
pub use controls::lacking_controls;
pub use error::ReportError;
pub use graph::{Form, GraphEdge, GraphNode, Limits, NodeGraph, View};
pub use latency::{ChainLatency, Part, PartFigures, RunFigures};
pub use losses::DeploymentLosses;
pub use memory::{DeploymentMemory, RunMemory, SharedMemory};
pub use phases::TimerPhases;
pub use remeasured::again;
pub use report::Report;
pub use size::Size;
pub use slower_tables::{regressions, slower_lines};
pub use startup::{DeploymentStartup, ModuleTimes, RunStartup, Spread};
pub use trace::TraceReport;
pub use usage::{DeploymentUsage, RunUsage, Series};
pub use work::WorkRatio;

/// Writes the report as one HTML file that works offline.
pub fn write_html(results: &Results, out: &Path) -> Result<(), ReportError> {
    Report::read(results)?.write_html(out)
}

/// The tables for a terminal that is `width` columns wide.
pub fn terminal(results: &Results, width: usize) -> Result<String, ReportError> {
    Ok(Report::read(results)?.terminal(width))
}

/// The tables as Markdown.
pub fn markdown(results: &Results) -> Result<String, ReportError> {
    Ok(Report::read(results)?.markdown())
}

/// One deployment of a result against another, by their ids, and where chains got slower.
pub fn pair(
    results: &Results,
    reference: &str,
    candidate: &str,
) -> Result<Comparisons, ReportError> {
    let report = Report::read(results)?;
    let mut comparisons = report.comparisons_with(Some(reference))?;
    comparisons.retain(|c| c.reference == reference && c.candidate == candidate);
    let slower = compare::slower(&report, &comparisons)?;
    Ok(Comparisons::new(comparisons).with_slower(slower))
}
