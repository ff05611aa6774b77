//! A result that is gone on with, and whether it can be.

use std::path::Path;
use std::time::Duration;

use stowplan_host::facts::LOOPBACK_MULTICAST;
use stowplan_results::Experiment;
use stowplan_suite::OpenResult;
use stowplan_wire::host::MachineFacts;

use crate::error::ExperimentError;
use crate::request::Request;
use crate::scheduled::Measured;
use crate::station::{Ready, Station};

/// A result, and what it was asked.
pub(crate) struct Resumed {
    pub(crate) request: Request,
    pub(crate) result: OpenResult,
}

impl Resumed {
    /// Opens a result to go on with it. `budget` replaces the one it began with.
    pub(crate) fn open(dir: &Path, budget: Option<Duration>) -> Result<Self, ExperimentError> {
        let mut request = Request::load(dir)?;
        if let Some(budget) = budget {
            request.budget_ns = Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
        }
        let result = OpenResult::resume(dir)?;
        Ok(Self { request, result })
    }

    /// The experiment, where machine, programs and images are those that it began with.
    pub(crate) fn go_on(
        self,
        ready: Ready,
        station: &Station<'_>,
    ) -> Result<Measured, ExperimentError> {
        let program = &ready.image.program_sha256;
        same_station(&self.result.experiment(), &station.facts, program)?;
        same_images(&self.result.experiment(), &ready)?;
        Ok(Measured {
            ready,
            result: self.result,
        })
    }
}

/// Blocks of two machines or two programs cannot be compared: the experiment has to have begun on this machine with this node
/// program.
///
/// # Errors
/// When it began with another.
pub fn same_station(
    experiment: &Experiment,
    now: &MachineFacts,
    program_sha256: &str,
) -> Result<(), ExperimentError> {
    let before = &experiment.machine;
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
        Some(sha) if sha != program_sha256 => Err(ExperimentError::OtherProgram),
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
