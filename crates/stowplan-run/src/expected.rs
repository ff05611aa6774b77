//! How long an experiment takes at least, before anything is started.

use stowplan_plan::{MachineFacts, PlanOptions, Schedule};

use crate::error::ExperimentError;
use crate::request::{Request, Starts};

/// Expected durations in seconds, each the least that can be expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// One run of each deployment by its label; a run of several starts in a row has all of them.
    pub runs: Vec<(String, f64)>,
    /// One block: one run of every deployment.
    pub block_s: f64,
    /// Blocks; with a pilot the most that it may fix.
    pub blocks: u32,
    /// Blocks of the pilot, if there is one.
    pub pilot: Option<u32>,
}

impl Expected {
    /// So many blocks.
    #[must_use]
    pub fn blocks_s(&self, blocks: u32) -> f64 {
        self.block_s * f64::from(blocks)
    }
}

/// Durations of the experiment that is asked for; `None` where the machine's speed is not known.
///
/// # Errors
/// When the stack or a name is wrong.
pub fn expected(
    request: &Request,
    machine: &MachineFacts,
) -> Result<Option<Expected>, ExperimentError> {
    let spec = request.spec()?;
    let asked = PlanOptions {
        utilisation: request.utilisation,
        dds: request.dds_profile()?,
        schedule: Some(Schedule {
            deployments: 1,
            blocks: 1,
            warm_up_ns: request.warm_up_ns,
            window_ns: request.window_ns,
            starts: match request.starts {
                Starts::Warm | Starts::Cold => 1,
                Starts::ReRun | Starts::ColdThenReRun => 3,
            },
        }),
        ..PlanOptions::default()
    };
    let mut runs = Vec::new();
    for deployment in request.deployments(spec.stack())? {
        let options = PlanOptions {
            launching: deployment.launching(),
            ..asked.clone()
        };
        let plan = stowplan_plan::plan(spec.stack(), &deployment.partition, machine, &options)?;
        let Some(duration) = plan.duration else {
            return Ok(None);
        };
        runs.push((deployment.label(), duration.run_s));
    }
    Ok(Some(Expected {
        block_s: runs.iter().map(|(_, run_s)| run_s).sum(),
        blocks: request.blocks,
        pilot: crate::size::pilot(request).map(|pilot| pilot.blocks),
        runs,
    }))
}

#[cfg(test)]
mod tests {
    use stowplan_model::WorkSpeed;

    use super::*;
    use crate::request::tests::request;

    fn of(request: &Request) -> Expected {
        let machine = MachineFacts {
            cpus: 2,
            speed: Some(WorkSpeed::everywhere(1.0)),
            memory_bytes: None,
            multicast: true,
        };
        expected(request, &machine).unwrap().unwrap()
    }

    #[test]
    fn a_block_has_a_run_of_every_deployment_and_a_run_all_its_starts() {
        let mut request = request();
        (request.warm_up_ns, request.window_ns) = (2_000_000_000, 10_000_000_000);
        let once = of(&request);
        assert_eq!(once.runs.len(), 4);
        assert!(once.runs.iter().all(|(_, run_s)| *run_s > 14.0));
        let sum: f64 = once.runs.iter().map(|(_, run_s)| run_s).sum();
        assert!((once.block_s - sum).abs() < 1e-9);
        assert!((once.blocks_s(6) - 6.0 * sum).abs() < 1e-9);
        request.starts = Starts::ReRun;
        assert!((of(&request).block_s - 3.0 * sum).abs() < 1e-9);
        assert_eq!(once.pilot, None);
        request.pilot = true;
        request.blocks = 40;
        assert_eq!((of(&request).pilot, of(&request).blocks), (Some(10), 40));
    }
}
