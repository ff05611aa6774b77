//! A table of texts, which every view draws in its own way.

use serde::Serialize;
use stowplan_judge::Judgement;

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TextTable {
    pub(crate) title: String,
    /// How to read it, one sentence.
    pub(crate) note: String,
    /// Leading columns that name the row: left-aligned, and repeated where a table is split.
    pub(crate) keys: usize,
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(
        title: impl Into<String>,
        note: impl Into<String>,
        keys: &[&str],
        rest: &[&str],
    ) -> Self {
        let headers = keys.iter().chain(rest).map(|h| (*h).to_owned());
        Self {
            title: title.into(),
            note: note.into(),
            keys: keys.len(),
            headers: headers.collect(),
            rows: Vec::new(),
        }
    }
}

/// When usage is told of, as titles have it.
pub(crate) fn when(report: &Judgement) -> &'static str {
    if report.figures.experiment.window_s > 0.0 {
        "in the measured window"
    } else {
        "from t0 to the first outputs"
    }
}
