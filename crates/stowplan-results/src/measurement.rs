//! The table of what a suite measured that has no table of its own.

use crate::Label;
use crate::cell::words;
use crate::scheduled::ScheduledRun;
use crate::table::table;

words! {
    /// Which values of a measurement are better.
    Better {
        /// Smaller ones, as of a latency.
        Lower = "lower",
        /// Larger ones, as of a throughput.
        Higher = "higher",
    }
}

table! {
    /// One row per run and figure that has no table of its own, such as a benchmark's.
    MeasurementRow in "measurements" {
        /// Run.
        run: u32,
        /// Block.
        block: u32,
        /// Id of the deployment.
        deployment: Label,
        /// Name of the figure, as comparisons have it.
        metric: Label,
        /// What it is of, as the size of a message; null where the metric says it all.
        subject: Option<Label>,
        /// Unit: `ns`, `bytes`, `cpus`, `share`, or any other, which is shown as it is.
        unit: Label,
        /// Which values are better.
        better: Better,
        /// The figure; null where there is none.
        value: Option<f64>,
        /// Why there is none.
        reason: Option<Label>,
    }
}

impl MeasurementRow {
    /// A figure of a run of the schedule, and which values of it are better.
    #[must_use]
    pub fn new(run: &ScheduledRun, metric: &str, unit: &str, better: Better, value: f64) -> Self {
        Self {
            run: run.run,
            block: run.block,
            deployment: run.deployment.as_str().into(),
            metric: metric.into(),
            subject: None,
            unit: unit.into(),
            better,
            value: Some(value),
            reason: None,
        }
    }
}
