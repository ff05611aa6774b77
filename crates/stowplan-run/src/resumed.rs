//! A result that is gone on with: whether it can be, and what of it is done.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use stowplan_host::facts::LOOPBACK_MULTICAST;
use stowplan_results::{Experiment, Results, ResultsWriter, RunStatus};

use crate::error::ExperimentError;
use crate::live::run_numbers;
use crate::request::Request;
use crate::schedule::{Part, jobs};
use crate::scheduled_experiments::Measured;
use crate::station::{Ready, Station};

/// A result, and what it was asked.
pub(crate) struct Resumed {
    pub(crate) request: Request,
    pub(crate) results: Results,
    writer: ResultsWriter,
}

impl Resumed {
    /// Opens a result to go on with it. `budget` replaces the one it began with.
    pub(crate) fn open(dir: &Path, budget: Option<Duration>) -> Result<Self, ExperimentError> {
        let mut request = Request::load(dir)?;
        if let Some(budget) = budget {
            request.budget_ns = Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
        }
        let (writer, results) = ResultsWriter::resume(dir)?;
        Ok(Self {
            request,
            results,
            writer,
        })
    }

    /// The experiment with what is left of it, where machine, programs and images are those that it began with.
    pub(crate) fn go_on(
        self,
        ready: Ready,
        part: Part,
        station: &Station<'_>,
    ) -> Result<Measured, ExperimentError> {
        same_station(&self.results.experiment, station, &ready)?;
        same_images(&self.results.experiment, &ready)?;
        Ok(Measured {
            done: done(&ready, part, &self.results),
            ready,
            writer: self.writer,
            record: self.results.experiment,
        })
    }
}

/// Blocks of two machines or two programs cannot be compared.
fn same_station(
    experiment: &Experiment,
    station: &Station<'_>,
    ready: &Ready,
) -> Result<(), ExperimentError> {
    let before = &experiment.machine;
    let now = &station.facts;
    if (&before.host, &before.cpu_model, before.cpus, &before.kernel)
        != (&now.host, &now.cpu_model, now.cpu_count(), &now.kernel)
    {
        return Err(ExperimentError::OtherMachine {
            before: format!(
                "{} ({}, {} CPUs, {})",
                before.host, before.cpu_model, before.cpus, before.kernel
            ),
            now: format!(
                "{} ({}, {} CPUs, {})",
                now.host,
                now.cpu_model,
                now.cpu_count(),
                now.kernel
            ),
        });
    }
    if before.settings.get(LOOPBACK_MULTICAST) != now.settings.get(LOOPBACK_MULTICAST) {
        return Err(ExperimentError::OtherNetwork);
    }
    match experiment.digests.get("stowplan-node") {
        Some(sha) if *sha != ready.image.program_sha256 => Err(ExperimentError::OtherProgram),
        _ => Ok(()),
    }
}

/// Likewise of two images of a real program.
fn same_images(experiment: &Experiment, ready: &Ready) -> Result<(), ExperimentError> {
    for (of, digest) in &ready.prepared.image_digests {
        if experiment.digests.get(of) != Some(digest) {
            return Err(ExperimentError::Name {
                what: format!("the {of} is another one than this result began with"),
            });
        }
    }
    Ok(())
}

/// Jobs of which every kept run is finished.
fn done(ready: &Ready, part: Part, results: &Results) -> HashSet<(u32, usize)> {
    let finished: HashSet<u32> = results
        .runs
        .iter()
        .filter(|r| r.status == RunStatus::Finished)
        .map(|r| r.run)
        .collect();
    let own = part.first..part.first + ready.prepared.deployments.len();
    let request = &ready.request;
    let all = jobs(part.of, request.blocks, request.seed)
        .into_iter()
        .flatten();
    all.filter(|job| own.contains(&job.deployment))
        .filter(|job| {
            run_numbers(*job, part.of, request.starts)
                .iter()
                .all(|(number, _)| finished.contains(number))
        })
        .map(|job| (job.block, job.deployment))
        .collect()
}
