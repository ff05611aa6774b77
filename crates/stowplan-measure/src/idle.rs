//! What an engine's own processes use before a run has services.

use std::collections::BTreeMap;
use std::time::Duration;

use stowplan_engine::Deployment;
use stowplan_host::Host;
use stowplan_wire::host::{SampleSubject, UsageSample};

use crate::error::RunError;

/// Subject of the samples; those of a program have its name after a colon.
const SUBJECT: &str = "engine idle";
/// How long it is looked at: what a daemon does by itself it does about once a second.
const LOOK: Duration = Duration::from_secs(1);

/// The engine's own processes as a subject of this name, where it has some.
pub(crate) fn engine(
    name: &str,
    deployment: &dyn Deployment,
) -> Result<Option<SampleSubject>, RunError> {
    let engine = SampleSubject {
        subject: name.to_owned(),
        cgroups: BTreeMap::new(),
        pids: deployment.engine_processes()?,
    };
    Ok(Some(engine).filter(|engine| !engine.pids.is_empty()))
}

/// Samples them for a moment. Call it when images are there and no service is.
pub(crate) fn sample(
    host: &dyn Host,
    deployment: &dyn Deployment,
    period_ms: u64,
) -> Result<Vec<UsageSample>, RunError> {
    let Some(engine) = engine(SUBJECT, deployment)? else {
        return Ok(Vec::new());
    };
    host.start_sampling(&[engine], &[], period_ms)?;
    std::thread::sleep(LOOK);
    let mut samples = host.stop_sampling()?.usage;
    samples.retain(|sample| sample.subject.starts_with(SUBJECT));
    Ok(samples)
}
