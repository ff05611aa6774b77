//! One recovery of each fault, step by step, as it happened.

use std::collections::BTreeMap;

use stowplan_results::{Results, ResultsError, RunStatus};

use crate::fault::{Fault, Keeper};
use crate::figures::{RECOVERY, RecoveryStep, step_subject};

/// A service that came back, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// Id of the deployment.
    pub deployment: String,
    /// What went wrong.
    pub fault: Fault,
    /// Who brought it back.
    pub keeper: Keeper,
    /// The block, from 1.
    pub block: u32,
    /// When each step was done, in ns since the fault, in order of time.
    pub steps: Vec<(RecoveryStep, f64)>,
}

/// The first recovery from each fault by each keeper at each deployment.
///
/// # Errors
/// When a table cannot be read.
pub fn recoveries(results: &Results) -> Result<Vec<Recovery>, ResultsError> {
    let finished = results.runs.iter();
    let finished = finished.filter(|run| run.status == RunStatus::Finished);
    let finished: Vec<_> = finished.collect();
    let mut found: Vec<Recovery> = Vec::new();
    let rows = results.measurements()?.into_iter();
    let rows = rows.filter(|row| &*row.metric == RECOVERY);
    let done: BTreeMap<(u32, String), f64> = rows
        .filter_map(|row| Some(((row.run, row.subject?.to_string()), row.value?)))
        .collect();
    for fault in Fault::ALL {
        for keeper in Keeper::of(fault).iter().copied() {
            for deployment in &results.experiment.deployments {
                let runs = finished.iter();
                let mut runs = runs.filter(|run| *run.deployment == *deployment.id);
                let first = runs.find_map(|run| {
                    let of_run = |step| {
                        let key = (run.run, step_subject(fault, keeper, step));
                        Some((step, *done.get(&key)?))
                    };
                    let all = RecoveryStep::ALL.into_iter();
                    let steps: Vec<(RecoveryStep, f64)> = all.filter_map(of_run).collect();
                    (!steps.is_empty()).then_some((run.block, steps))
                });
                found.extend(first.map(|(block, steps)| Recovery {
                    deployment: deployment.id.clone(),
                    fault,
                    keeper,
                    block,
                    steps,
                }));
            }
        }
    }
    Ok(found)
}
