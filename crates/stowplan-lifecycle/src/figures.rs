//! The figures of the suite, as rows of measurements have them.

use stowplan_results::{Better, MeasurementRow, ScheduledRun};

use crate::fault::{Fault, Keeper};

/// Unit of all of them but memory.
const UNIT: &str = "ns";

/// What a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Until an image that the engine knows nothing of is there, and the deployment is prepared.
    ImageNew,
    /// The same of an image that differs from a known one by a line.
    ImageChanged,
    /// The same of an image that is there.
    ImageThere,
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
    pub const ALL: [Self; 10] = [
        Self::ImageNew,
        Self::ImageChanged,
        Self::ImageThere,
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
            Self::ImageNew => "image_new",
            Self::ImageChanged => "image_changed",
            Self::ImageThere => "image_there",
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
            Self::ImageNew => "image from nothing → prepared",
            Self::ImageChanged => "image, one line changed → prepared",
            Self::ImageThere => "image is there → prepared",
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

/// The metric of the steps of a recovery: from the fault to each of them.
pub const RECOVERY: &str = "recovery_step";

/// A step on the way from a fault to a service that is ready again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveryStep {
    /// The engine's stamp of the end, or the instant at which an answer was missing for too long.
    Detected,
    /// The supervisor or the watchdog knows it.
    Heard,
    /// Nothing is left of the service that failed.
    Removed,
    /// It is created again.
    Created,
    /// Its program runs.
    Up,
    /// It is ready.
    Ready,
}

impl RecoveryStep {
    /// All of them, in order of time.
    pub const ALL: [Self; 6] = [
        Self::Detected,
        Self::Heard,
        Self::Removed,
        Self::Created,
        Self::Up,
        Self::Ready,
    ];

    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::Heard => "heard",
            Self::Removed => "removed",
            Self::Created => "created",
            Self::Up => "up",
            Self::Ready => "ready",
        }
    }
}

/// The metric of the memory of a service that waits to be started on demand.
pub const STANDING_MEMORY: &str = "standing_memory";

/// The metric that answers the question of the suite: how long until it is back?
pub const PRIMARY: &str = "restart";

/// Names of the metrics of operations and faults.
#[must_use]
pub fn metrics() -> Vec<&'static str> {
    let all = Operation::ALL.into_iter().map(Operation::metric);
    all.chain([DETECTED, READY_AGAIN, RECOVERY]).collect()
}

/// What a row of a step is of.
#[must_use]
pub fn step_subject(fault: Fault, keeper: Keeper, step: RecoveryStep) -> String {
    format!("{}, {}", subject(fault, keeper), step.name())
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
    /// Nanoseconds or bytes, or why there is none.
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

    /// Of a step of a recovery.
    #[must_use]
    pub fn of_step(
        fault: Fault,
        keeper: Keeper,
        step: RecoveryStep,
        value: Result<u64, String>,
    ) -> Self {
        Self {
            metric: RECOVERY,
            subject: Some(step_subject(fault, keeper, step)),
            value,
        }
    }

    /// As a row of a run.
    #[must_use]
    pub fn row(&self, run: &ScheduledRun) -> MeasurementRow {
        let value = self.value.as_ref().ok().map(|value| *value as f64);
        let unit = if self.metric == STANDING_MEMORY {
            "bytes"
        } else {
            UNIT
        };
        MeasurementRow {
            subject: self.subject.as_deref().map(Into::into),
            value,
            reason: self.value.as_ref().err().map(|why| why.as_str().into()),
            ..MeasurementRow::new(run, self.metric, unit, Better::Lower, 0.0)
        }
    }
}
