//! How long an experiment takes at least, before anything is started.

use stowplan_model::units::show_ns;
use stowplan_plan::{PlanOptions, Schedule};
use stowplan_stats::MIN_BLOCKS;

use crate::error::ExperimentError;
use crate::prepare::{Planned, Prepared};
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
    /// Most blocks that the budget holds, if there is one: the first begins in any case.
    pub in_budget: Option<u32>,
}

impl Expected {
    /// What the budget leaves of the blocks, and of a verdict; `None` where it holds all of them.
    #[must_use]
    pub fn short_of(&self, budget_ns: u64) -> Option<String> {
        let blocks = self.in_budget.filter(|blocks| *blocks < self.blocks)?;
        let verdict = if (blocks as usize) < MIN_BLOCKS {
            format!("; no verdict can come of it, which takes {MIN_BLOCKS} blocks")
        } else {
            String::new()
        };
        Some(format!(
            "the budget of {} holds at most {blocks} of {} blocks{verdict}",
            show_ns(budget_ns as f64),
            self.blocks
        ))
    }

    /// So many blocks.
    #[must_use]
    pub fn blocks_s(&self, blocks: u32) -> f64 {
        self.block_s * f64::from(blocks)
    }
}

/// Durations of an experiment; `None` where the machine's speed is not known.
pub(crate) fn expected(
    request: &Request,
    prepared: &Prepared,
) -> Result<Option<Expected>, ExperimentError> {
    let stack = prepared.spec.stack();
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
    for Planned { deployment, .. } in &prepared.deployments {
        let options = PlanOptions {
            launching: deployment.launching(),
            ..asked.clone()
        };
        let plan = stowplan_plan::plan(stack, &deployment.partition, &prepared.machine, &options)?;
        let Some(duration) = plan.duration else {
            return Ok(None);
        };
        runs.push((deployment.label(), duration.run_s));
    }
    let block_s: f64 = runs.iter().map(|(_, run_s)| run_s).sum();
    Ok(Some(Expected {
        in_budget: request
            .budget_ns
            .map(|budget| whole_blocks(budget, block_s)),
        block_s,
        blocks: request.blocks,
        pilot: request.pilot().map(|pilot| pilot.blocks),
        runs,
    }))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of blocks; as many as fit into the type are enough"
)]
fn whole_blocks(budget_ns: u64, block_s: f64) -> u32 {
    ((budget_ns as f64 / 1e9 / block_s) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::prepare;
    use crate::prepare::tests::{container, known, machine};
    use crate::request::tests::request;

    fn of(request: &Request) -> Expected {
        let mut can = |_: &_| Ok(container());
        let prepared = prepare(request, &machine(), &known(), &mut can).unwrap();
        expected(request, &prepared).unwrap().unwrap()
    }

    #[test]
    fn a_block_has_a_run_of_every_deployment_and_a_run_all_its_starts() {
        let mut request = request();
        request.limits.clear();
        request.isolation.clear();
        (request.warm_up_ns, request.window_ns) = (2_000_000_000, 10_000_000_000);
        let once = of(&request);
        assert_eq!(once.runs.len(), 4);
        assert!(once.runs.iter().all(|(_, run_s)| *run_s > 14.0));
        let sum: f64 = once.runs.iter().map(|(_, run_s)| run_s).sum();
        assert!((once.block_s - sum).abs() < 1e-9);
        assert!((once.blocks_s(6) - 6.0 * sum).abs() < 1e-9);
        request.starts = Starts::ReRun;
        assert!((of(&request).block_s - 3.0 * sum).abs() < 1e-9);
        assert_eq!((once.pilot, once.in_budget), (None, None));
        let told = |blocks: f64, request: &mut Request| {
            request.blocks = 10;
            request.budget_ns = Some((blocks * 3.0 * sum * 1e9) as u64);
            of(request).short_of(60_000_000_000)
        };
        assert_eq!(told(10.5, &mut request.clone()), None);
        let few = told(7.5, &mut request.clone()).unwrap();
        assert!(few.ends_with("holds at most 7 of 10 blocks"), "{few}");
        let none = told(2.5, &mut request.clone()).unwrap();
        assert!(
            none.ends_with("no verdict can come of it, which takes 6 blocks"),
            "{none}"
        );
        for (blocks, in_budget) in [(0.1, 1), (1.01, 1), (2.99, 2), (8.01, 8)] {
            request.budget_ns = Some((blocks * 3.0 * sum * 1e9) as u64);
            assert_eq!(of(&request).in_budget, Some(in_budget));
        }
        request.pilot = true;
        request.blocks = 40;
        assert_eq!((of(&request).pilot, of(&request).blocks), (Some(10), 40));
    }
}
