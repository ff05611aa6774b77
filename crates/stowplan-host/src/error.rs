//! The one error of this crate.

use std::error::Error;
use std::path::Path;

use stowplan_wire::agent::FailureKind;

/// What failed on a host, why, and what can be done about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// Of which kind it is.
    pub kind: FailureKind,
    /// What failed, naming the thing.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl HostError {
    /// An error without a cause below it.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Other,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// `VERB PATH` failed with `source`.
    #[must_use]
    pub fn io(verb: &str, path: &Path, source: impl Into<std::io::Error>) -> Self {
        let source = source.into();
        let kind = FailureKind::of_io(&source);
        let error = Self::new(format!("cannot {verb} {}", path.display()));
        error.of_kind(kind).because(source)
    }

    /// Says of which kind it is.
    #[must_use]
    pub fn of_kind(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
