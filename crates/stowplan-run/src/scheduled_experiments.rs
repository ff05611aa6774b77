//! The experiments of one schedule: one, or a new one and an earlier one that is measured again in the same blocks.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stowplan_results::{Experiment, ResultsWriter};

use crate::live::Live;
use crate::schedule::{Job, Part, RunFailed, Runner};
use crate::station::Ready;

/// An experiment with its result.
pub(crate) struct Measured {
    pub(crate) ready: Ready,
    pub(crate) writer: ResultsWriter,
    pub(crate) record: Experiment,
    /// Blocks and deployments of the schedule that are measured already.
    pub(crate) done: HashSet<(u32, usize)>,
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
    fn of(&self, job: Job) -> &Live<'a, 's> {
        let mut lives = self.0.iter().rev();
        let own = lives.find(|live| job.deployment >= live.part.first);
        own.unwrap_or(&self.0[0])
    }
}

impl Runner for ScheduledExperiments<'_, '_> {
    fn run(&mut self, job: Job) -> Result<(), RunFailed> {
        self.of(job).run(job)
    }

    fn blocks(&mut self, next: u32) -> Result<u32, RunFailed> {
        self.0[0].number_of_blocks(next)
    }

    fn elapsed(&self) -> Duration {
        self.0[0].shared.begun.elapsed()
    }

    fn stopped(&self) -> bool {
        self.0[0].shared.stop.load(Ordering::Relaxed)
    }
}
