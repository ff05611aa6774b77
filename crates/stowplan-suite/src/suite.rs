//! What a suite is.

use std::time::{Duration, Instant};

use stowplan_results::{ScheduledRun, StartKind};

use crate::failure::RunFailed;
use crate::job::Job;
use crate::observe::{Observer, Step};

/// Something that is measured in blocks: in each block every deployment once.
pub trait Suite {
    /// How many deployments a block has.
    fn deployments(&self) -> usize;

    /// How many rounds a block has. In each, every deployment runs once, and what runs in one round runs in no other.
    fn rounds(&self) -> u32 {
        1
    }

    /// The runs that a job keeps. The numbers of all jobs of a result are different ones.
    fn kept(&self, job: Job) -> Kept;

    /// Runs a job and writes the runs that it keeps, finished or failed.
    ///
    /// # Errors
    /// When it failed; its runs are recorded as failed.
    fn run(&mut self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed>;
}

/// The runs that a job keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Which of the results they belong to.
    pub result: usize,
    /// The runs, as they stand in the result's schedule.
    pub runs: Vec<ScheduledRun>,
}

impl Kept {
    /// The one warm run of a job, where a block has so many deployments and there is one result.
    #[must_use]
    pub fn one(job: Job, deployments: usize, deployment: &str, seed: u64) -> Self {
        let in_block = u32::try_from(deployments).unwrap_or(u32::MAX);
        let number = job.block * in_block + job.order + 1;
        let run = job.scheduled(number, deployment, StartKind::Warm, seed);
        Self {
            result: 0,
            runs: vec![run],
        }
    }
}

/// What a job knows of the experiment that it is part of.
pub struct JobContext<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) begun: Instant,
    pub(crate) blocks: u32,
    pub(crate) deployments: usize,
    pub(crate) rounds: u32,
}

impl JobContext<'_> {
    /// Time since the experiment began or was resumed.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// A start of the job is about to begin: the deployment's label, and what else there is to say of the start.
    pub fn step(&mut self, job: Job, label: &str, detail: &str) {
        let elapsed = self.elapsed();
        let in_round = u32::try_from(self.deployments).unwrap_or(u32::MAX);
        let round = job.block % self.rounds;
        self.observer.step(&Step {
            block: job.block / self.rounds + 1,
            blocks: self.blocks / self.rounds,
            place_in_block: round * in_round + job.order + 1,
            deployments: self.deployments * self.rounds as usize,
            label,
            detail,
            elapsed,
        });
    }
}
