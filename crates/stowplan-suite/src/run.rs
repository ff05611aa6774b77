//! Runs a suite: what is not done yet, block by block, into its results.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stowplan_results::{PilotRecord, ResultsError, ScheduledRun};

use crate::failure::RunFailed;
use crate::job::Job;
use crate::observe::Observer;
use crate::open_result::OpenResult;
use crate::pilot::{Sizing, planned};
use crate::schedule::{End, Outcome, Runner, drive, jobs};
use crate::suite::{JobContext, Suite};

/// What was asked of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Number of blocks, times the rounds of a block; with a pilot the most that there may be.
    pub blocks: u32,
    /// Seed of the order within blocks.
    pub seed: u64,
    /// Most time to spend in this session.
    pub budget: Option<Duration>,
}

/// Who runs a suite.
pub struct Caller<'a, 's> {
    /// Set when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// Is told about progress.
    pub observer: &'a mut dyn Observer,
    /// Fixes the number of blocks after a pilot, where the first result has one.
    pub sizing: &'a mut Sizing<'s>,
}

/// Runs what is not finished yet. The pilot is that of the first result.
///
/// # Errors
/// When `experiment.json` of a result cannot be written. What fails later is in the outcome.
pub fn run<'a>(
    suite: &'a mut dyn Suite,
    results: &'a [OpenResult],
    asked: Asked,
    caller: Caller<'a, '_>,
) -> Result<Outcome, ResultsError> {
    let mut driven = Driven {
        suite,
        results,
        asked,
        caller,
        begun: Instant::now(),
    };
    driven.plan(driven.blocks_planned())?;
    let blocks = jobs(driven.suite.deployments(), asked.blocks, asked.seed);
    let done = driven.done(&blocks);
    let rounds = driven.suite.rounds();
    Ok(drive(&blocks, rounds, &done, asked.budget, &mut driven))
}

/// Merges the runs of results that were measured together. Where the experiment ended by a failure, as on a full disk, that
/// says more than what fails after it.
///
/// # Errors
/// When the tables of one cannot be written.
pub fn finish(results: Vec<OpenResult>, outcome: &Outcome) -> Result<(), ResultsError> {
    for result in results {
        let finished = result.finish();
        if !matches!(outcome.end, End::Failed(_)) {
            finished?;
        }
    }
    Ok(())
}

/// A suite under the schedule.
struct Driven<'a, 's> {
    suite: &'a mut dyn Suite,
    results: &'a [OpenResult],
    asked: Asked,
    caller: Caller<'a, 's>,
    begun: Instant,
}

impl Driven<'_, '_> {
    fn blocks_planned(&self) -> u32 {
        planned(self.asked.blocks, self.pilot().as_ref())
    }

    fn pilot(&self) -> Option<PilotRecord> {
        let first = self.results.first()?;
        first.experiment().pilot.clone()
    }

    /// Writes the schedule of so many blocks into every result.
    fn plan(&self, blocks: u32) -> Result<(), ResultsError> {
        let mut schedules: Vec<Vec<ScheduledRun>> = vec![Vec::new(); self.results.len()];
        let all = jobs(self.suite.deployments(), blocks, self.asked.seed);
        for job in all.into_iter().flatten() {
            let kept = self.suite.kept(job);
            schedules[kept.result].extend(kept.runs);
        }
        for (result, schedule) in self.results.iter().zip(schedules) {
            result.note(|experiment| {
                experiment.blocks_planned = blocks / self.suite.rounds();
                experiment.schedule = schedule;
            });
            result.save()?;
        }
        Ok(())
    }

    /// Jobs of which every kept run is finished.
    fn done(&self, blocks: &[Vec<Job>]) -> HashSet<(u32, usize)> {
        let all = blocks.iter().flatten().copied();
        let done = all.filter(|job| {
            let kept = self.suite.kept(*job);
            let result = &self.results[kept.result];
            kept.runs.iter().all(|run| result.has_finished(run.run))
        });
        done.map(|job| (job.block, job.deployment)).collect()
    }

    /// Fixes the number of blocks from what the pilot gave, and plans them.
    fn fix(&mut self, first: &OpenResult, mut pilot: PilotRecord) -> Result<u32, RunFailed> {
        let fixed = (self.caller.sizing)(first.dir(), pilot.most);
        let fixed = fixed.map_err(|why| RunFailed {
            message: format!("the number of blocks cannot be fixed after the pilot: {why}"),
            hint: Some("give a number of blocks instead of a pilot".to_owned()),
            fatal: true,
        })?;
        let blocks = fixed.blocks.clamp(pilot.blocks, pilot.most);
        self.caller.observer.sized(blocks, &fixed.reason);
        pilot.fixed = Some(blocks);
        pilot.reason = Some(fixed.reason);
        first.note(|experiment| experiment.pilot = Some(pilot));
        let written = self.plan(blocks);
        written.map_err(|e| RunFailed::of_results("pilot", &e))?;
        Ok(blocks)
    }
}

impl Runner for Driven<'_, '_> {
    fn run(&mut self, job: Job) -> Result<(), RunFailed> {
        let mut context = JobContext {
            blocks: self.blocks_planned(),
            deployments: self.suite.deployments(),
            rounds: self.suite.rounds(),
            observer: self.caller.observer,
            begun: self.begun,
        };
        self.suite.run(job, &mut context)
    }

    fn blocks(&mut self, next: u32) -> Result<u32, RunFailed> {
        let pilot = self.pilot();
        let unfixed = pilot.filter(|pilot| pilot.fixed.is_none() && next >= pilot.blocks);
        match (unfixed, self.results) {
            (Some(pilot), [first, ..]) => self.fix(first, pilot),
            _ => Ok(self.blocks_planned()),
        }
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn stopped(&self) -> bool {
        self.caller.stop.load(Ordering::Relaxed)
    }
}
