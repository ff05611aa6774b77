//! One run of the schedule.

use stowplan_results::{ScheduledRun, StartKind};

/// One run that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Job {
    /// Block, from 0.
    pub block: u32,
    /// Place in the block's order, from 0.
    pub order: u32,
    /// Index of the deployment.
    pub deployment: usize,
}

impl Job {
    /// The run with this number that the job keeps, as it stands in the schedule of a result.
    #[must_use]
    pub fn scheduled(
        self,
        run: u32,
        deployment: &str,
        start: StartKind,
        seed: u64,
    ) -> ScheduledRun {
        ScheduledRun {
            run,
            block: self.block + 1,
            order: self.order + 1,
            deployment: deployment.to_owned(),
            start,
            seed,
        }
    }
}
