//! Which deployment runs when: blocks of one run each, in a Williams order (docs/measuring.md §5).

use std::collections::HashSet;
use std::time::Duration;

use crate::failure::RunFailed;
use crate::job::Job;

/// What the schedule drives.
pub(crate) trait Runner {
    /// Measures one run and keeps its result.
    ///
    /// # Errors
    /// When the run failed; the runner has recorded why.
    fn run(&mut self, job: Job) -> Result<(), RunFailed>;

    /// How many blocks there are, asked before each: a pilot fixes the number when its own blocks are over.
    ///
    /// # Errors
    /// When it cannot be fixed.
    fn blocks(&mut self, next: u32) -> Result<u32, RunFailed>;

    /// Time since the experiment began or was resumed.
    fn elapsed(&self) -> Duration;

    /// Whether the user asked to stop.
    fn stopped(&self) -> bool;
}

/// Why an experiment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All blocks are measured.
    Finished,
    /// Another block would not fit into the budget.
    Budget,
    /// The user asked to stop.
    Stopped,
    /// A run failed and going on makes no sense.
    Failed(RunFailed),
}

/// What came of driving a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// Blocks in which every run is measured, those of an earlier session included.
    pub complete_blocks: u32,
    /// Runs that failed in this session.
    pub failures: Vec<(Job, RunFailed)>,
}

/// The jobs of all blocks for this many deployments.
#[must_use]
pub fn jobs(deployments: usize, blocks: u32, seed: u64) -> Vec<Vec<Job>> {
    let orders = stowplan_stats::williams(deployments, blocks as usize, seed);
    (0..)
        .zip(orders)
        .map(|(block, order)| {
            (0..)
                .zip(order)
                .map(|(order, deployment)| Job {
                    block,
                    order,
                    deployment,
                })
                .collect()
        })
        .collect()
}

/// Runs what is not `done`, block by block, while the budget lasts; of `blocks`, the most that there may be, as many
/// as the runner says.
///
/// A block begins only when the longest block so far would still fit. A deployment that fails in
/// two blocks running ends the experiment: it would not do otherwise in the third. Where a block has several `rounds`, it would
/// in the others, and all go on.
pub(crate) fn drive(
    blocks: &[Vec<Job>],
    rounds: u32,
    done: &HashSet<(u32, usize)>,
    budget: Option<Duration>,
    runner: &mut dyn Runner,
) -> Outcome {
    let mut outcome = Outcome {
        end: End::Finished,
        complete_blocks: 0,
        failures: Vec::new(),
    };
    let mut longest = Duration::ZERO;
    let mut failed_before: HashSet<usize> = HashSet::new();
    let mut is_whole = true;
    for (next, block) in (0..).zip(blocks) {
        match runner.blocks(next) {
            Ok(all) if next >= all => break,
            Ok(_) => {}
            Err(failure) => {
                outcome.end = End::Failed(failure);
                return outcome;
            }
        }
        let due: Vec<Job> = block
            .iter()
            .copied()
            .filter(|job| !done.contains(&(job.block, job.deployment)))
            .collect();
        let is_last_round = (next + 1).is_multiple_of(rounds);
        if due.is_empty() {
            outcome.complete_blocks += u32::from(is_last_round && is_whole);
            is_whole |= is_last_round;
            continue;
        }
        let begin = runner.elapsed();
        if budget.is_some_and(|budget| begin + longest > budget || begin >= budget) {
            outcome.end = End::Budget;
            return outcome;
        }
        let mut failed_now = HashSet::new();
        for job in due {
            if runner.stopped() {
                outcome.end = End::Stopped;
                return outcome;
            }
            if let Err(failure) = runner.run(job) {
                outcome.failures.push((job, failure.clone()));
                if runner.stopped() {
                    outcome.end = End::Stopped;
                    return outcome;
                }
                if failure.fatal || (rounds == 1 && failed_before.contains(&job.deployment)) {
                    outcome.end = End::Failed(failure);
                    return outcome;
                }
                failed_now.insert(job.deployment);
            }
        }
        is_whole &= failed_now.is_empty();
        outcome.complete_blocks += u32::from(is_last_round && is_whole);
        is_whole |= is_last_round;
        failed_before = failed_now;
        longest = longest.max(runner.elapsed().saturating_sub(begin));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scripted {
        each: Duration,
        elapsed: Duration,
        ran: Vec<(u32, usize)>,
        fails: fn(Job) -> Option<bool>,
        stop_after: usize,
        /// Blocks, by the number of the next.
        blocks: fn(u32) -> Option<u32>,
    }

    impl Scripted {
        fn new(fails: fn(Job) -> Option<bool>) -> Self {
            Self {
                each: Duration::from_secs(10),
                elapsed: Duration::ZERO,
                ran: vec![],
                fails,
                stop_after: usize::MAX,
                blocks: |_| Some(u32::MAX),
            }
        }
    }

    impl Runner for Scripted {
        fn run(&mut self, job: Job) -> Result<(), RunFailed> {
            self.elapsed += self.each;
            self.ran.push((job.block, job.deployment));
            match (self.fails)(job) {
                None => Ok(()),
                Some(fatal) => Err(RunFailed {
                    message: "no".to_owned(),
                    hint: None,
                    fatal,
                }),
            }
        }

        fn blocks(&mut self, next: u32) -> Result<u32, RunFailed> {
            (self.blocks)(next).ok_or_else(|| RunFailed {
                message: "no number".to_owned(),
                hint: None,
                fatal: true,
            })
        }

        fn elapsed(&self) -> Duration {
            self.elapsed
        }

        fn stopped(&self) -> bool {
            self.ran.len() >= self.stop_after
        }
    }

    #[test]
    fn every_block_runs_every_deployment_once() {
        for block in jobs(5, 7, 3) {
            let mut seen: Vec<usize> = block.iter().map(|job| job.deployment).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn a_budget_is_kept_in_whole_blocks() {
        let mut runner = Scripted::new(|_| None);
        let outcome = drive(
            &jobs(3, 6, 1),
            1,
            &HashSet::new(),
            Some(Duration::from_secs(95)),
            &mut runner,
        );
        assert_eq!(outcome.end, End::Budget);
        assert_eq!((outcome.complete_blocks, runner.ran.len()), (3, 9));
    }

    #[test]
    fn what_is_done_is_not_run_again() {
        let blocks = jobs(2, 2, 1);
        let done = HashSet::from([(0, 0), (0, 1), (1, 1)]);
        let mut runner = Scripted::new(|_| None);
        let outcome = drive(&blocks, 1, &done, None, &mut runner);
        assert_eq!(runner.ran, [(1, 0)]);
        assert_eq!(
            outcome,
            Outcome {
                end: End::Finished,
                complete_blocks: 2,
                failures: vec![]
            }
        );
    }

    #[test]
    fn a_deployment_that_fails_twice_running_ends_it_and_others_go_on_after_one_failure() {
        let mut once = Scripted::new(|job| {
            (job == Job { block: 1, ..job } && job.deployment == 0).then_some(false)
        });
        let outcome = drive(&jobs(2, 4, 1), 1, &HashSet::new(), None, &mut once);
        assert_eq!(
            (outcome.end, outcome.complete_blocks, outcome.failures.len()),
            (End::Finished, 3, 1)
        );

        let mut always = Scripted::new(|job| (job.deployment == 1).then_some(false));
        let outcome = drive(&jobs(2, 4, 1), 1, &HashSet::new(), None, &mut always);
        assert!(matches!(outcome.end, End::Failed(_)));
        assert_eq!(outcome.failures.len(), 2);
    }

    #[test]
    fn what_fails_in_one_round_of_each_block_leaves_the_others() {
        let mut one = Scripted::new(|job| {
            let fails = job.block % 2 == 1 && job.block < 4 && job.deployment == 1;
            fails.then_some(false)
        });
        let outcome = drive(&jobs(2, 6, 1), 2, &HashSet::new(), None, &mut one);
        assert_eq!(outcome.end, End::Finished);
        assert_eq!((outcome.failures.len(), one.ran.len()), (2, 12));
        // The two blocks in which it failed are not complete.
        assert_eq!(outcome.complete_blocks, 1);
    }

    #[test]
    fn stopping_and_fatal_failures_end_at_once() {
        let mut fatal = Scripted::new(|_| Some(true));
        drive(&jobs(2, 4, 1), 1, &HashSet::new(), None, &mut fatal);
        assert_eq!(fatal.ran.len(), 1);

        let mut stopped = Scripted::new(|_| None);
        stopped.stop_after = 3;
        let outcome = drive(&jobs(2, 4, 1), 1, &HashSet::new(), None, &mut stopped);
        assert_eq!((outcome.end, outcome.complete_blocks), (End::Stopped, 1));
    }

    #[test]
    fn a_pilot_fixes_the_number_once_its_blocks_are_over() {
        let mut runner = Scripted::new(|_| None);
        runner.blocks = |next| Some(if next < 3 { 3 } else { 5 });
        let outcome = drive(&jobs(2, 8, 1), 1, &HashSet::new(), None, &mut runner);
        assert_eq!((outcome.end, outcome.complete_blocks), (End::Finished, 5));
        assert_eq!(runner.ran.len(), 10);

        let mut enough = Scripted::new(|_| None);
        enough.blocks = |_| Some(3);
        let outcome = drive(&jobs(2, 8, 1), 1, &HashSet::new(), None, &mut enough);
        assert_eq!((outcome.end, outcome.complete_blocks), (End::Finished, 3));

        let mut unfixed = Scripted::new(|_| None);
        unfixed.blocks = |next| (next < 3).then_some(3);
        let outcome = drive(&jobs(2, 8, 1), 1, &HashSet::new(), None, &mut unfixed);
        assert!(matches!(outcome.end, End::Failed(failure) if failure.message == "no number"));
        assert_eq!(unfixed.ran.len(), 6);
    }
}
