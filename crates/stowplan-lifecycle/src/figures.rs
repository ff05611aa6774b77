//! The figures of the suite, as rows of measurements have them.

use stowplan_results::{Better, MeasurementRow, ScheduledRun};

use crate::fault::{Fault, Keeper};

/// Unit of all of them.
const UNIT: &str = "ns";

/// What a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// `create` alone.
    Create,
    /// From `start` of what was created until it is ready.
    StartCreated,
    /// From `create` until it is ready.
    Start,
    /// From `stop` until every process has ended.
    Stop,
    /// From `stop` of what runs until it is ready again.
    Restart,
    /// `pause` alone.
    Pause,
    /// From `resume` of what is paused until every process has answered.
    Resume,
}

impl Operation {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 7] = [
        Self::Create,
        Self::StartCreated,
        Self::Start,
        Self::Pause,
        Self::Resume,
        Self::Stop,
        Self::Restart,
    ];

    /// Name of the metric.
    #[must_use]
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::StartCreated => "start_created",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::StartCreated => "start (created) → ready",
            Self::Start => "create and start → ready",
            Self::Stop => "stop",
            Self::Restart => "restart → ready",
            Self::Pause => "pause",
            Self::Resume => "resume → answers",
        }
    }
}

/// The metric of the time until a fault is detected.
pub const DETECTED: &str = "fault_detected";

/// The metric of the time until a service is ready again after a fault.
pub const READY_AGAIN: &str = "fault_ready_again";

/// The metric that answers the question of the suite: how long until it is back?
pub const PRIMARY: &str = "restart";

/// Names of all metrics.
#[must_use]
pub fn metrics() -> Vec<&'static str> {
    let all = Operation::ALL.into_iter().map(Operation::metric);
    all.chain([DETECTED, READY_AGAIN]).collect()
}

/// What a row of a fault is of.
#[must_use]
pub fn subject(fault: Fault, keeper: Keeper) -> String {
    format!("{fault}, {}", keeper.name())
}

/// One figure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Metric.
    pub metric: &'static str,
    /// What it is of, where the metric does not say it all.
    pub subject: Option<String>,
    /// Nanoseconds, or why there is none.
    pub value: Result<u64, String>,
}

impl Figure {
    /// Of a verb.
    #[must_use]
    pub const fn of(operation: Operation, value: Result<u64, String>) -> Self {
        Self {
            metric: operation.metric(),
            subject: None,
            value,
        }
    }

    /// Of a fault and who brought the service back, or was to.
    #[must_use]
    pub fn of_fault(
        metric: &'static str,
        fault: Fault,
        keeper: Keeper,
        value: Result<u64, String>,
    ) -> Self {
        Self {
            metric,
            subject: Some(subject(fault, keeper)),
            value,
        }
    }

    /// As a row of a run.
    #[must_use]
    pub fn row(&self, run: &ScheduledRun) -> MeasurementRow {
        let ns = self.value.as_ref().ok().map(|ns| *ns as f64);
        MeasurementRow {
            subject: self.subject.as_deref().map(Into::into),
            value: ns,
            reason: self.value.as_ref().err().map(|why| why.as_str().into()),
            ..MeasurementRow::new(run, self.metric, UNIT, Better::Lower, 0.0)
        }
    }
}
