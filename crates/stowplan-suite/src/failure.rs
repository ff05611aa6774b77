//! A run that failed.

use stowplan_results::ResultsError;

/// A run failed and is recorded as failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunFailed {
    /// Which run, what failed, why.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// Whether going on makes no sense, as with a full disk or an agent that is gone.
    pub fatal: bool,
}

impl RunFailed {
    /// A result that cannot be written ends the experiment. `what` names what was to be kept.
    #[must_use]
    pub fn of_results(what: &str, error: &ResultsError) -> Self {
        Self {
            message: format!("{what}: {}", stowplan_wire::causes::chain(error)),
            hint: error.hint(),
            fatal: true,
        }
    }
}
