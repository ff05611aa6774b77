//! The suite: in every round one benchmark at every place, one directly after another.

use stowplan_engine::EngineError;
use stowplan_host::Host as _;
use stowplan_model::Place;
use stowplan_results::{RunData, RunRow, RunStatus, ScheduledRun, StartKind};
use stowplan_run::Engines;
use stowplan_suite::{Job, JobContext, Kept, OpenResult, RunFailed, Suite};
use stowplan_wire::agent::FailureKind;

use crate::benchmarks::Benchmark;
use crate::cells;
use crate::rows;
use crate::start::{Ended, Shared};

/// A deployment: a place, by its id and label.
pub(crate) struct Planned {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) place: Place,
}

/// Everything that runs.
pub(crate) struct Benches<'a, 's> {
    pub(crate) shared: Shared<'a>,
    pub(crate) engines: Engines<'s>,
    pub(crate) deployments: Vec<Planned>,
    pub(crate) benchmarks: Vec<Benchmark>,
    pub(crate) seed: u64,
    pub(crate) result: &'a OpenResult,
}

impl Benches<'_, '_> {
    fn benchmark(&self, job: Job) -> Benchmark {
        self.benchmarks[job.block as usize % self.benchmarks.len()]
    }

    fn scheduled(&self, job: Job) -> ScheduledRun {
        scheduled(
            job,
            self.benchmarks.len(),
            self.deployments.len(),
            &self.deployments[job.deployment].id,
            self.seed,
        )
    }

    fn started(&self, job: Job) -> Result<Ended, EngineError> {
        let planned = &self.deployments[job.deployment];
        let engine = self.engines.get(&planned.place.engine.name)?;
        let run = format!(
            "{}-b{}-{}",
            std::process::id(),
            job.block + 1,
            job.order + 1
        );
        let benchmark = self.benchmark(job);
        self.shared
            .start(&benchmark, &planned.place, engine.as_ref(), &run)
    }

    fn failed(&self, label: &str, error: &EngineError) -> RunFailed {
        let gone = self.shared.host.clock().is_err();
        RunFailed {
            message: format!("{label}: {}", stowplan_host::chain(error)),
            hint: error.hint.clone(),
            fatal: error.kind == FailureKind::Full || gone,
        }
    }
}

/// The run of a job: blocks are those of the user, in which every benchmark has a round.
fn scheduled(job: Job, rounds: usize, places: usize, id: &str, seed: u64) -> ScheduledRun {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    let (rounds, places) = (small(rounds), small(places));
    ScheduledRun {
        run: job.block * places + job.order + 1,
        block: job.block / rounds + 1,
        order: job.block % rounds * places + job.order + 1,
        deployment: id.to_owned(),
        start: StartKind::Warm,
        seed,
    }
}

impl Suite for Benches<'_, '_> {
    fn deployments(&self) -> usize {
        self.deployments.len()
    }

    fn rounds(&self) -> u32 {
        u32::try_from(self.benchmarks.len())
            .unwrap_or(u32::MAX)
            .max(1)
    }

    fn kept(&self, job: Job) -> Kept {
        Kept {
            result: 0,
            runs: vec![self.scheduled(job)],
        }
    }

    fn run(&mut self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed> {
        let benchmark = self.benchmark(job);
        let label = self.deployments[job.deployment].label.clone();
        context.step(job, &label, &benchmark.label());
        let run = self.scheduled(job);
        let of = format!("{} at {label}", benchmark.label());
        let ended = self.started(job);
        let status = if ended.is_ok() {
            RunStatus::Finished
        } else {
            RunStatus::Failed
        };
        let mut data = RunData::of(RunRow::of_scheduled(&run, status));
        let outcome = match ended {
            Ok(Ended::Measured(result)) => {
                data.measurements = rows::rows(&run, &result);
                cells::append(&self.shared.dir, &run, &result).map_err(|error| RunFailed {
                    message: format!(
                        "cannot write {}: {error}",
                        cells::path(&self.shared.dir).display()
                    ),
                    hint: None,
                    fatal: true,
                })
            }
            Ok(Ended::Without(why)) => {
                data.measurements = vec![rows::missing(&run, &benchmark, &why)];
                Ok(())
            }
            Err(error) => {
                let failed = self.failed(&of, &error);
                data.run.reason = Some(failed.message.as_str().into());
                data.measurements = vec![rows::missing(&run, &benchmark, &failed.message)];
                Err(failed)
            }
        };
        let written = self.result.write_run(&data);
        written.map_err(|error| RunFailed::of_results(&of, &error))?;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_a_benchmark_of_a_block() {
        let run = |block, order| {
            let job = Job {
                block,
                order,
                deployment: 0,
            };
            let run = scheduled(job, 3, 4, "a", 1);
            (run.run, run.block, run.order)
        };
        assert_eq!(run(0, 0), (1, 1, 1));
        assert_eq!(run(2, 3), (12, 1, 12));
        assert_eq!(run(3, 0), (13, 2, 1));
        assert_eq!(run(7, 1), (30, 3, 6));
    }
}
