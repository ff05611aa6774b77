//! What goes wrong in a helper, as it is told to the agent.

use std::error::Error;
use std::fmt::Display;

use stowplan_host::{HostError, chain};
use stowplan_wire::agent::{Failure, FailureKind};

/// A failure with the causes already joined: it crosses a pipe.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct HelperError {
    kind: FailureKind,
    message: String,
    hint: Option<String>,
}

impl HelperError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Other,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure to answer with; the agent adds service and log.
    pub(crate) fn failure(self) -> Failure {
        Failure {
            kind: self.kind,
            message: self.message,
            hint: self.hint,
            service: None,
            log: None,
        }
    }
}

impl From<HostError> for HelperError {
    fn from(error: HostError) -> Self {
        Self {
            kind: error.kind,
            message: chain(&error),
            hint: error.hint,
        }
    }
}

/// Says what was tried when something failed.
pub(crate) trait Context<T> {
    /// Puts `what` before the error and its causes.
    fn context(self, what: impl Display) -> Result<T, HelperError>;
}

impl<T, E: Error + 'static> Context<T> for Result<T, E> {
    fn context(self, what: impl Display) -> Result<T, HelperError> {
        self.map_err(|error| HelperError::new(format!("{what}: {}", chain(&error))))
    }
}
