//! How a command ends: exit codes, and the one place where an error is told.

use std::error::Error;
use std::fmt;

use stowplan_engine::EngineError;
use stowplan_host::HostError;
pub use stowplan_host::chain as in_words;
use stowplan_judge::JudgeError;
use stowplan_plan::PlaceError;
use stowplan_replay::ReplayError;
use stowplan_report::ReportError;
use stowplan_results::ResultsError;

/// Documented exit codes (docs/reference/exit-codes.md). 0 is success; clap itself ends with 2 on wrong usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The options do not fit together.
    Usage = 2,
    /// A file is wrong.
    BadInput = 3,
    /// An engine cannot be used here.
    EngineUnavailable = 4,
    /// A run failed.
    RunFailed = 5,
    /// Something is worse than in the result of `--against`; the instrument does not pass its selftest.
    Regression = 6,
    /// No primary comparison has a verdict, with `--require-verdict`; a selftest did not come to its end.
    Inconclusive = 7,
    /// Ended by SIGINT or SIGTERM.
    Interrupted = 130,
}

/// Why a command did not succeed.
#[derive(Debug)]
pub struct CommandError {
    /// How the process ends.
    pub code: ExitCode,
    /// What happened, with its causes joined by `: `.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

impl CommandError {
    /// An error with a message of its own.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// An error of a library, with all its causes and what it says can be done.
    pub fn from_error(code: ExitCode, error: &(dyn Error + 'static)) -> Self {
        Self {
            hint: hint_of(error),
            ..Self::new(code, in_words(error))
        }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hint
            .as_ref()
            .map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

/// The hint of the first error of the chain that has one.
fn hint_of(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let hint = if let Some(results) = error.downcast_ref::<ResultsError>() {
            results.hint()
        } else if let Some(judged) = error.downcast_ref::<JudgeError>() {
            judged.hint()
        } else if let Some(report) = error.downcast_ref::<ReportError>() {
            report.hint()
        } else if let Some(place) = error.downcast_ref::<PlaceError>() {
            place.hint.clone()
        } else if let Some(replay) = error.downcast_ref::<ReplayError>() {
            replay.hint.clone()
        } else if let Some(host) = error.downcast_ref::<HostError>() {
            host.hint.clone()
        } else {
            error
                .downcast_ref::<EngineError>()
                .and_then(|engine| engine.hint.clone())
        };
        if hint.is_some() {
            return hint;
        }
        next = error.source();
    }
    None
}

/// Turns a library's error into a [`CommandError`] with this exit code.
pub trait OrExit<T> {
    /// The value, or an error that ends the command with `code`.
    fn or_exit(self, code: ExitCode) -> Result<T, CommandError>;
}

impl<T, E: Error + 'static> OrExit<T> for Result<T, E> {
    fn or_exit(self, code: ExitCode) -> Result<T, CommandError> {
        self.map_err(|error| CommandError::from_error(code, &error))
    }
}
