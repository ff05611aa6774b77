//! Why a run failed.

use std::time::Duration;

use stowplan_engine::EngineError;
use stowplan_host::HostError;
use stowplan_wire::agent::{Failure, FailureKind};

use crate::collect::CollectError;
use crate::progress::Fault;

/// Why a run failed: which service, what, and the end of its log.
#[derive(Debug, thiserror::Error)]
#[error("{message}{}", .log.as_ref().map(|log| format!("\n--- end of its log ---\n{}", log.trim_end())).unwrap_or_default())]
pub struct RunError {
    /// What failed and why.
    pub message: String,
    /// The service it is about.
    pub service: Option<String>,
    /// The end of that service's log.
    pub log: Option<String>,
    /// What the user can do.
    pub hint: Option<String>,
    /// Of which kind it is.
    pub kind: FailureKind,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl RunError {
    /// An error about no particular service.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            service: None,
            log: None,
            hint: None,
            kind: FailureKind::Other,
            source: None,
        }
    }

    /// Adds the end of the service's log.
    #[must_use]
    pub fn with_log(mut self, log: Option<String>) -> Self {
        self.log = self.log.or(log.filter(|text| !text.trim().is_empty()));
        self
    }

    /// Nothing was heard from a start that is not ready.
    #[must_use]
    pub fn stalled(missing: Option<Fault>, silence: Duration) -> Self {
        let seconds = silence.as_secs();
        let mut error = Self::not_ready(missing, silence);
        error.message = match &error.service {
            Some(_) => format!(
                "{}; no node program told anything for so long",
                error.message
            ),
            None => format!("the services are not ready and told nothing for {seconds} s"),
        };
        error
    }

    /// Services were not ready in time.
    #[must_use]
    pub fn not_ready(missing: Option<Fault>, timeout: Duration) -> Self {
        let seconds = timeout.as_secs();
        let hint = "look into the service's log; give it longer with a smaller stack or fewer services at once";
        let mut error = match &missing {
            Some(fault) => Self::new(format!("{fault} within {seconds} s")),
            None => Self::new(format!("the services were not ready within {seconds} s")),
        };
        error.service = missing.map(|fault| fault.service);
        error.hint = Some(hint.to_owned());
        error
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> Self {
        let mut error = Self::new(fault.to_string());
        error.service = Some(fault.service);
        error
    }
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        let failure = Failure::from(error);
        let mut run_error = Self::new(failure.message);
        run_error.kind = failure.kind;
        run_error.service = failure.service;
        run_error.hint = failure.hint;
        run_error
    }
}

impl From<HostError> for RunError {
    fn from(error: HostError) -> Self {
        let mut run_error = Self::new(stowplan_host::chain(&error));
        run_error.hint.clone_from(&error.hint);
        run_error.kind = error.kind;
        run_error
    }
}

impl From<CollectError> for RunError {
    fn from(error: CollectError) -> Self {
        let mut run_error = Self::new("cannot collect the trace");
        run_error.source = Some(Box::new(error));
        run_error
    }
}
