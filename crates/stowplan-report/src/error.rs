//! Why a report cannot be made.

use std::path::PathBuf;

use stowplan_stats::StatsError;

/// A failure to make a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure of a trace cannot be computed.
    #[error("cannot compute {what}")]
    Stats {
        /// Figure and chain.
        what: String,
        /// Why.
        #[source]
        source: StatsError,
    },
    /// The data of the page cannot be put into JSON.
    #[error("the page's data cannot be written as JSON")]
    Page {
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The file cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl ReportError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Write { .. } => Some("name another file with --output".to_owned()),
            Self::Stats { .. } | Self::Page { .. } => None,
        }
    }

    pub(crate) fn stats(what: impl Into<String>) -> impl FnOnce(StatsError) -> Self {
        let what = what.into();
        move |source| Self::Stats { what, source }
    }
}
