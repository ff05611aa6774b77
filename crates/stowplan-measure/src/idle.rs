//! What an engine's own processes use before a run has services.

use std::collections::BTreeMap;
use std::time::Duration;

use stowplan_engine::Deployment;
use stowplan_host::Host;
use stowplan_wire::host::{MemorySample, SampleSubject, UsageSample};

use crate::error::RunError;

/// Subject of the engine's own processes while a run has services.
pub(crate) const RUNNING: &str = "engine";
/// Subject of the samples before that; those of a program have its name after a colon.
const SUBJECT: &str = "engine idle";
/// How long it is looked at: what a daemon does by itself it does about once a second.
const LOOK: Duration = Duration::from_secs(1);

/// What the name of a part of an orchestrator begins with, among the engine's processes.
const ORCHESTRATOR: &str = "orchestrator";

/// The engine's own processes as a subject of this name, where it has some.
pub(crate) fn engine(
    name: &str,
    deployment: &dyn Deployment,
) -> Result<Option<SampleSubject>, RunError> {
    let parts = deployment.orchestrator()?.into_iter();
    let engine = SampleSubject {
        subject: name.to_owned(),
        cgroups: BTreeMap::new(),
        pids: deployment.engine_processes()?,
        names: parts
            .map(|(pid, part)| (pid, format!("{ORCHESTRATOR} {part}")))
            .collect(),
    };
    Ok(Some(engine).filter(|engine| !engine.pids.is_empty()))
}

/// Samples them for a moment, and reads the memory that each has by its share. Call it when images are there and no service is.
pub(crate) fn sample(
    host: &dyn Host,
    deployment: &dyn Deployment,
    period_ms: u64,
) -> Result<(Vec<UsageSample>, Vec<MemorySample>), RunError> {
    let Some(idle) = engine(SUBJECT, deployment)? else {
        return Ok((Vec::new(), Vec::new()));
    };
    host.start_sampling(std::slice::from_ref(&idle), &[], period_ms)?;
    std::thread::sleep(LOOK);
    let mut samples = host.stop_sampling()?.usage;
    samples.retain(|sample| sample.subject.starts_with(SUBJECT));
    let named_as_later = SampleSubject {
        subject: RUNNING.to_owned(),
        ..idle
    };
    Ok((samples, host.memory(&[named_as_later])?))
}
