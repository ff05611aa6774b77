//! The one error of engines.

use std::error::Error;

use stowplan_host::{HostError, chain};
use stowplan_wire::agent::{Failure, FailureKind};

/// What failed in an engine: which service, why, where its log is, what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}{message}", .service.as_ref().map(|s| format!("service '{s}': ")).unwrap_or_default())]
pub struct EngineError {
    /// Of which kind it is.
    pub kind: FailureKind,
    /// The service it is about, where there is one.
    pub service: Option<String>,
    /// Log file of that service on its host.
    pub log: Option<String>,
    /// What failed, naming the thing.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
    /// What the user can do.
    pub hint: Option<String>,
}

impl EngineError {
    /// An error about no particular service.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Other,
            service: None,
            log: None,
            message: message.into(),
            source: None,
            hint: None,
        }
    }

    /// Says of which kind it is.
    #[must_use]
    pub fn of_kind(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
        self
    }

    /// Names the service and its log.
    #[must_use]
    pub fn of_service(mut self, service: impl Into<String>, log: Option<String>) -> Self {
        self.service = Some(service.into());
        self.log = log;
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

impl From<HostError> for EngineError {
    fn from(error: HostError) -> Self {
        let hint = error.hint.clone();
        Self {
            kind: error.kind,
            service: None,
            log: None,
            message: error.message,
            source: error.source,
            hint,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self {
            kind: error.kind,
            message: chain(&error),
            hint: error.hint,
            service: error.service,
            log: error.log,
        }
    }
}

impl From<Failure> for EngineError {
    /// The service stands in the message already, which was joined on the other side.
    fn from(failure: Failure) -> Self {
        let message = failure.service.as_ref().map_or_else(
            || failure.message.clone(),
            |service| {
                failure
                    .message
                    .strip_prefix(&format!("service '{service}': "))
                    .unwrap_or(&failure.message)
                    .to_owned()
            },
        );
        Self {
            kind: failure.kind,
            service: failure.service,
            log: failure.log,
            message,
            source: None,
            hint: failure.hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_crosses_the_pipe_unchanged() {
        let error = EngineError::new("cannot start")
            .of_kind(FailureKind::Absent)
            .of_service("sensing", Some("/run/x.log".to_owned()))
            .because(std::io::Error::other("no such file"))
            .hint("build it");
        let failure = Failure::from(error);
        assert_eq!(
            failure.message,
            "service 'sensing': cannot start: no such file"
        );
        let back = EngineError::from(failure.clone());
        assert_eq!(Failure::from(back), failure);
    }
}
