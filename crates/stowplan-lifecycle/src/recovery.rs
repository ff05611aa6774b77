//! One recovery of each fault, step by step, as it happened.

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
    let finished: Vec<(u32, u32)> = finished.map(|run| (run.run, run.block)).collect();
    let mut found: Vec<Recovery> = Vec::new();
    let rows = results.measurements()?;
    for fault in Fault::ALL {
        for keeper in Keeper::of(fault).iter().copied() {
            for deployment in &results.experiment.deployments {
                let first = finished.iter().find_map(|(run, block)| {
                    let of_run = |step: &RecoveryStep| {
                        let subject = step_subject(fault, keeper, *step);
                        let mut rows = rows.iter();
                        let row = rows.find(|row| {
                            (row.run, &*row.metric) == (*run, RECOVERY)
                                && *row.deployment == *deployment.id
                                && row.subject.as_deref() == Some(&*subject)
                        });
                        row.and_then(|row| row.value)
                    };
                    let all = RecoveryStep::ALL.into_iter();
                    let steps = all.filter_map(|step| Some((step, of_run(&step)?)));
                    let steps: Vec<(RecoveryStep, f64)> = steps.collect();
                    (!steps.is_empty()).then_some((*block, steps))
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
