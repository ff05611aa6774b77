//! Why a selftest cannot be made or judged.

use std::path::PathBuf;

use stowplan_judge::JudgeError;
use stowplan_results::ResultsError;
use stowplan_run::ExperimentError;
use stowplan_spec::SpecError;
use stowplan_stats::StatsError;

/// Why a selftest cannot be made or judged.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// `read` or `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file that a selftest goes on from is not one.
    #[error("{} is not the request of a selftest", path.display())]
    Request {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// That file was written by another version.
    #[error("{} has version {found}, this program knows {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The stack is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The stack has no partition `single`.
    #[error(transparent)]
    Plan(#[from] stowplan_plan::PlanError),
    /// A known difference cannot be computed for any chain of the stack.
    #[error(
        "no chain of stack '{stack}' can be calibrated with: it takes one with a single timer after its first \
         callback, whose period fits a whole number of times into that of the chain's source, and with counted work \
         from the timer on"
    )]
    NoChain {
        /// The stack.
        stack: String,
    },
    /// An experiment of it gives no comparison.
    #[error("{} has no comparison of {metric}: {why}", result.display())]
    NotCompared {
        /// Its folder.
        result: PathBuf,
        /// The metric.
        metric: &'static str,
        /// What is missing.
        why: String,
    },
    /// The comparisons were measured on several machines or with several programs.
    #[error("{} was measured on another machine or with another stowplan-node than those before", result.display())]
    OtherStation {
        /// The first that differs.
        result: PathBuf,
    },
    /// An experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A result.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A judgement of a result.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// A figure.
    #[error(transparent)]
    Stats(#[from] StatsError),
}

impl SelftestError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoChain { .. } => Some("the shipped stack 'hello' has one".to_owned()),
            Self::NotCompared { .. } => {
                Some("go on with --resume, which repeats the runs that failed".to_owned())
            }
            Self::OtherStation { .. } => Some("begin a new selftest on this machine".to_owned()),
            Self::Results(error) => error.hint(),
            Self::Judge(error) => error.hint(),
            _ => None,
        }
    }
}
