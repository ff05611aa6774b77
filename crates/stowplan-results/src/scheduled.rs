//! Runs of the schedule, and their rows.

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rows::{RunRow, RunStatus, StartKind};

/// A run of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledRun {
    /// Number, from 1.
    pub run: u32,
    /// Block, from 1.
    pub block: u32,
    /// Place in the block, from 1.
    pub order: u32,
    /// Id of the deployment.
    pub deployment: String,
    /// State of the page cache.
    pub start: StartKind,
    /// Seed of the run.
    #[serde(default)]
    pub seed: u64,
}

impl RunRow {
    /// The row of a run of the schedule that begins now, with nothing but that.
    #[must_use]
    pub fn of_scheduled(run: &ScheduledRun, status: RunStatus) -> Self {
        let began = SystemTime::now().duration_since(UNIX_EPOCH);
        let began = began.unwrap_or_default().as_nanos();
        Self {
            run: run.run,
            block: run.block,
            order: run.order,
            deployment: run.deployment.as_str().into(),
            start: run.start,
            status,
            reason: None,
            start_unix_ns: i64::try_from(began).unwrap_or(i64::MAX),
            seed: run.seed,
            window_ns: None,
            calibration_ns: None,
            steal: None,
            changed: None,
            quiet: None,
            prepare_ns: None,
            cold: None,
            cold_reason: None,
            cold_resident: None,
            cold_read_bytes: None,
            events: None,
            discarded: None,
            published: None,
            taken: None,
            lost: None,
            tags: None,
            own_switches: None,
            own_cpu_ns: None,
            clock_uncertainty_ns: None,
            program_sha256: None,
            warnings: Vec::new(),
        }
    }
}
