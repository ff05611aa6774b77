//! The experiments of one schedule: one, or a new one and an earlier one that is measured again in the same blocks.

use stowplan_suite::{Job, JobContext, Kept, OpenResult, RunFailed, Suite};

use crate::live::Live;
use crate::part::Part;
use crate::starts::run_numbers;
use crate::station::Ready;

/// An experiment with its result.
pub(crate) struct Measured {
    pub(crate) ready: Ready,
    pub(crate) result: OpenResult,
}

/// Which deployments of the schedule are those of each experiment: one after the other.
pub(crate) fn parts<'a>(all: impl IntoIterator<Item = &'a Ready>) -> Vec<Part> {
    let lengths = all.into_iter().map(|one| one.prepared.deployments.len());
    let lengths: Vec<usize> = lengths.collect();
    let of = lengths.iter().sum();
    let mut next = 0;
    let parts = lengths.into_iter().map(|length| {
        let first = next;
        next += length;
        Part { first, of }
    });
    parts.collect()
}

/// Gives each job to the experiment that it is of.
pub(crate) struct ScheduledExperiments<'a, 's>(pub(crate) Vec<Live<'a, 's>>);

impl<'a, 's> ScheduledExperiments<'a, 's> {
    /// The index of the experiment that a job is of, and the experiment.
    fn of(&self, job: Job) -> (usize, &Live<'a, 's>) {
        let mut lives = self.0.iter().enumerate().rev();
        let own = lives.find(|(_, live)| job.deployment >= live.part.first);
        own.unwrap_or((0, &self.0[0]))
    }
}

impl Suite for ScheduledExperiments<'_, '_> {
    fn deployments(&self) -> usize {
        self.0[0].part.of
    }

    fn kept(&self, job: Job) -> Kept {
        let (result, live) = self.of(job);
        let numbers = run_numbers(job, live.part.of, live.request.starts);
        let runs = numbers.into_iter();
        let runs = runs.map(|(number, start)| live.scheduled(job, number, start));
        Kept {
            result,
            runs: runs.collect(),
        }
    }

    fn run(&mut self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed> {
        self.of(job).1.run(job, context)
    }
}
