//! The starts of a job, and the numbers of the runs that it keeps.

use stowplan_results::StartKind;
use stowplan_suite::Job;

use crate::request::Starts;

/// One start within a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) kind: StartKind,
    /// Whether its rows are kept: the starts before a re-run are not.
    pub(crate) kept: bool,
}

/// The starts of one job.
pub(crate) fn starts(starts: Starts) -> &'static [Start] {
    const COLD: Start = Start {
        kind: StartKind::Cold,
        kept: true,
    };
    const WARM: Start = Start {
        kind: StartKind::Warm,
        kept: true,
    };
    const UNKEPT: Start = Start {
        kind: StartKind::Warm,
        kept: false,
    };
    const RE_RUN: Start = Start {
        kind: StartKind::Rerun,
        kept: true,
    };
    match starts {
        Starts::Warm => &[WARM],
        Starts::Cold => &[COLD],
        Starts::ReRun => &[UNKEPT, UNKEPT, RE_RUN],
        Starts::ColdThenReRun => &[COLD, UNKEPT, RE_RUN],
    }
}

/// Numbers of the kept runs of a job, from 1.
pub(crate) fn run_numbers(job: Job, deployments: usize, question: Starts) -> Vec<(u32, StartKind)> {
    let kept = || starts(question).iter().filter(|s| s.kept);
    let per_job = u32::try_from(kept().count()).unwrap_or(1);
    let deployments = u32::try_from(deployments).unwrap_or(u32::MAX);
    let first = (job.block * deployments + job.order) * per_job + 1;
    (first..).zip(kept().map(|s| s.kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kept_runs_have_no_gap_and_no_overlap() {
        let mut numbers: Vec<u32> = stowplan_suite::jobs(3, 4, 1)
            .into_iter()
            .flatten()
            .flat_map(|job| run_numbers(job, 3, Starts::ColdThenReRun))
            .map(|(number, _)| number)
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
    }
}
