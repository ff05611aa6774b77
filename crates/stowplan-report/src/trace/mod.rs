//! The page of a recorded trace.

mod callbacks;
mod chains;
mod data;
mod over_time;
mod startup;
mod timeline;

use std::path::Path;

use stowplan_trace::{Analysis, ChainResult, Overview};

use crate::error::ReportError;
use crate::html;

/// What the page of a trace is made of.
#[derive(Debug, Clone, Copy)]
pub struct TraceReport<'a> {
    /// Its heading.
    pub name: &'a str,
    /// The trace, counted.
    pub overview: &'a Overview,
    /// What of it was kept for the chains.
    pub analysis: &'a Analysis,
    /// Chains that were measured.
    pub chains: &'a [ChainResult],
    /// What the trace lacks, in words.
    pub missing: &'a [String],
}

impl TraceReport<'_> {
    /// The page.
    pub fn html(&self) -> Result<String, ReportError> {
        Ok(html::page(&html::Content {
            title: self.name,
            data: &data::json(self)?,
            version: env!("CARGO_PKG_VERSION"),
            as_text: "stowplan trace info, callbacks, links, analyze, start-up, graph",
            after: "",
        }))
    }

    /// Writes the page.
    pub fn write_html(&self, out: &Path) -> Result<(), ReportError> {
        html::write(&self.html()?, out)
    }
}
