//! Begins, drives and resumes experiments.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stowplan_model::WorkSpeed;
use stowplan_results::{BEFORE, DeploymentRecord, Experiment};
use stowplan_suite::{Caller, Observer, OpenResult, Outcome, Sizing, finish};

use crate::dds;
use crate::earlier::{Earlier, keep_common};
use crate::engines::CallerEngines;
use crate::error::ExperimentError;
use crate::expected::expected;
use crate::live::{Live, Shared};
use crate::missing::{keep_recorded, require_all};
use crate::prepare::Prepared;
use crate::programs::Programs;
use crate::record::experiment;
use crate::request::Request;
use crate::resumed::Resumed;
use crate::scheduled::{Measured, ScheduledExperiments, parts};
use crate::speed;
use crate::station::{Ready, Station};

/// What one session of an experiment needs from its caller.
pub struct Session<'a> {
    /// Programs.
    pub programs: &'a Programs,
    /// Set when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// Gets the pid of the agent as soon as there is one; ending it ends the run at once.
    pub agent_started: &'a mut dyn FnMut(u32),
    /// Longest wait for a quiet machine before a run; a time-out is recorded with the run (docs/measuring.md §5).
    pub settle: Duration,
    /// Engines beside those of the agent.
    pub outside: CallerEngines<'a>,
    /// Is told about progress.
    pub observer: &'a mut dyn Observer,
    /// Fixes the number of blocks after a pilot.
    pub sizing: &'a mut Sizing<'a>,
    /// Says why an experiment is not to be run, when everything of it is known and nothing has been started.
    pub accept: &'a mut Accept<'a>,
}

/// Takes an experiment, or says why not.
pub type Accept<'a> = dyn FnMut(&Experiment) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// An experiment that ended, for whatever reason.
#[derive(Debug)]
pub struct Executed {
    /// Folder of the result.
    pub dir: PathBuf,
    /// How it ended.
    pub outcome: Outcome,
}

/// Runs a new experiment; its result folder is made below `out`. With an earlier one, those of its deployments that both
/// have are measured again in the same blocks, into the folder `before` of the result.
///
/// # Errors
/// When it cannot begin. What fails later is in the outcome.
pub fn begin(
    request: &Request,
    earlier: Option<&Earlier>,
    out: &Path,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let mut requests = vec![request.clone()];
    if let Some(earlier) = earlier {
        requests[0].calibrate_as(&earlier.request);
        requests.push(earlier.beside(request)?);
    }
    let station = Station::start(
        request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    station.require(request)?;
    let speed = station.calibrate(&requests)?;
    let of = earlier.map(|earlier| &earlier.of);
    let ready = ready(&station, requests, &speed, of.map(|of| &*of.result), &[])?;
    require_all(request, &ready[0].prepared)?;
    let versions = station.engines.versions();
    let records = ready.iter().map(|ready| {
        let (request, prepared, image) = (&ready.request, &ready.prepared, &ready.image);
        let facts = &station.facts;
        let mut record = experiment(request, prepared, facts, image, &versions, &speed);
        let settle_s = session.settle.as_secs_f64().into();
        record.parameters.insert("settle_s".to_owned(), settle_s);
        record
    });
    let mut records: Vec<Experiment> = records.collect();
    let expected = expected(request, &ready[0].prepared)?;
    let short = expected.and_then(|expected| expected.short_of(request.budget_ns?));
    if let Some(short) = short {
        session.observer.warning(&short);
    }
    records[0].against = of.cloned();
    (session.accept)(&records[0]).map_err(ExperimentError::NotAccepted)?;
    std::fs::create_dir_all(out).map_err(|source| ExperimentError::Write {
        path: out.to_owned(),
        source,
    })?;
    let mut all: Vec<Measured> = Vec::new();
    for (ready, record) in ready.into_iter().zip(records) {
        let result = match all.first() {
            None => OpenResult::create(out, record)?,
            Some(new) => new.result.create_before(record)?,
        };
        ready.request.save(result.dir())?;
        all.push(Measured { ready, result });
    }
    run(all, station, session)
}

/// Goes on with an interrupted experiment, and with the earlier one that is measured again beside it, if there is one.
/// `budget` replaces the one it began with.
///
/// # Errors
/// When the folder is not a result, or this is another machine or program than the one it began with.
pub fn resume(
    dir: &Path,
    budget: Option<Duration>,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let mut found = vec![Resumed::open(dir, budget)?];
    let against = found[0].result.experiment().against.clone();
    if against.is_some() {
        found.push(Resumed::open(&dir.join(BEFORE), budget)?);
    }
    let planned_with = {
        let experiment = found[0].result.experiment();
        (session.accept)(&experiment).map_err(ExperimentError::NotAccepted)?;
        speed::of_parameters(&experiment.parameters)
    };
    let station = Station::start(
        &found[0].request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    let requests: Vec<Request> = found.iter().map(|f| f.request.clone()).collect();
    let speed = planned_with.map_or_else(|| station.calibrate(&requests), Ok)?;
    let earlier = against.as_ref().map(|of| &*of.result);
    let begun = found
        .iter()
        .map(|f| f.result.experiment().deployments.clone());
    let begun: Vec<Vec<DeploymentRecord>> = begun.collect();
    let ready = ready(&station, requests, &speed, earlier, &begun)?;
    let all = found.into_iter().zip(ready);
    let all = all.map(|(found, ready)| found.go_on(ready, &station));
    let all = all.collect::<Result<_, _>>()?;
    run(all, station, session)
}

/// Plans them all, and of those that were begun what they began with; of the second, which the first is held against, only
/// what both have.
fn ready(
    station: &Station<'_>,
    requests: Vec<Request>,
    speed: &WorkSpeed,
    earlier: Option<&str>,
    begun: &[Vec<DeploymentRecord>],
) -> Result<Vec<Ready>, ExperimentError> {
    let all = requests.into_iter();
    let all = all.map(|request| station.ready(request, speed));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    for (ready, deployments) in all.iter_mut().zip(begun) {
        keep_recorded(&mut ready.prepared, deployments)?;
    }
    if let (Some(earlier), [new, before]) = (earlier, &mut *all) {
        keep_common(&mut before.prepared, &new.prepared, earlier)?;
        // Of equal size in all deployments of a schedule, as the configuration of DDS is the same.
        let ring_bytes = new.prepared.ring_bytes.max(before.prepared.ring_bytes);
        new.prepared.ring_bytes = ring_bytes;
        before.prepared.ring_bytes = ring_bytes;
    }
    Ok(all)
}

fn run(
    all: Vec<Measured>,
    station: Station<'_>,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let mut told = BTreeSet::new();
    for prepared in all.iter().map(|one| &one.ready.prepared) {
        warn(prepared, &mut told, session.observer);
    }
    let (ready, results): (Vec<Ready>, Vec<OpenResult>) =
        all.into_iter().map(|one| (one.ready, one.result)).unzip();
    let of_all = ready.iter().map(|ready| ready.prepared.participants());
    let shared = Shared {
        host: station.host,
        engines: station.engines,
        settle: session.settle,
        participants: of_all.max().unwrap_or(0),
    };
    let mut lives = Vec::new();
    for ((ready, part), result) in ready.iter().zip(parts(&ready)).zip(&results) {
        let profile = ready.request.dds_profile()?;
        let dds = dds::config(profile, shared.participants, &station.facts);
        dds::keep(dds, result.dir())?;
        lives.push(Live {
            shared: &shared,
            request: &ready.request,
            prepared: &ready.prepared,
            part,
            dds,
            image: &ready.image,
            result,
        });
    }
    let caller = Caller {
        stop: session.stop,
        observer: session.observer,
        sizing: session.sizing,
    };
    let mut suite = ScheduledExperiments(lives);
    let outcome = stowplan_suite::run(&mut suite, &results, ready[0].request.asked(), caller)?;
    let dirs: Vec<PathBuf> = results.iter().map(|one| one.dir().to_owned()).collect();
    finish(results, &outcome)?;
    for dir in &dirs {
        // Traces that are not kept leave an empty folder, which alone this removes.
        let _ = std::fs::remove_dir(dir.join("traces"));
    }
    let dir = dirs.into_iter().next().unwrap_or_default();
    Ok(Executed { dir, outcome })
}

/// Says what was left out, and what the plans warn of, each thing once.
fn warn<'a>(prepared: &'a Prepared, told: &mut BTreeSet<&'a str>, observer: &mut dyn Observer) {
    for refused in &prepared.refused {
        observer.warning(&format!(
            "{} is left out: {}",
            refused.label,
            refused.refused.as_deref().unwrap_or_default()
        ));
    }
    for warning in &prepared.warnings {
        if told.insert(warning) {
            observer.warning(warning);
        }
    }
}
