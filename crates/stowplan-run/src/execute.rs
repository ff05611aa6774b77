//! Begins, drives and resumes experiments.

use std::cell::RefCell;
use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use stowplan_model::WorkSpeed;
use stowplan_results::{BEFORE, Experiment, ResultsWriter};

use crate::dds;
use crate::earlier::{Earlier, keep_common};
use crate::engines::CallerEngines;
use crate::error::ExperimentError;
use crate::live::{Live, Shared};
use crate::missing::{keep_recorded, require_all};
use crate::observe::Observer;
use crate::record::experiment;
use crate::request::Request;
use crate::resumed::Resumed;
use crate::schedule::{End, Outcome, drive, jobs};
use crate::scheduled_experiments::{Measured, ScheduledExperiments, parts};
use crate::size::Sizing;
use crate::speed;
use crate::station::{Ready, Station};

/// Where the static programs and the images are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `stowplan-node`.
    pub node: PathBuf,
    /// `stowplan-agent`.
    pub agent: PathBuf,
    /// Store of images.
    pub image_store: PathBuf,
}

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
    let records = ready.iter().zip(parts(&ready)).map(|(ready, part)| {
        let (request, prepared, image) = (&ready.request, &ready.prepared, &ready.image);
        let facts = &station.facts;
        let mut record = experiment(request, prepared, facts, image, &versions, &speed, part);
        let settle_s = session.settle.as_secs_f64().into();
        record.parameters.insert("settle_s".to_owned(), settle_s);
        record
    });
    let mut records: Vec<Experiment> = records.collect();
    records[0].against = of.cloned();
    (session.accept)(&records[0]).map_err(ExperimentError::NotAccepted)?;
    std::fs::create_dir_all(out).map_err(|source| ExperimentError::Write {
        path: out.to_owned(),
        source,
    })?;
    let mut all: Vec<Measured> = Vec::new();
    for (ready, record) in ready.into_iter().zip(records) {
        let writer = match all.first() {
            None => ResultsWriter::create(out, &record)?,
            Some(new) => ResultsWriter::create_before(&new.writer, &record)?,
        };
        ready.request.save(writer.dir())?;
        all.push(Measured {
            ready,
            writer,
            record,
            done: HashSet::new(),
        });
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
    let against = found[0].results.experiment.against.clone();
    if against.is_some() {
        found.push(Resumed::open(&dir.join(BEFORE), budget)?);
    }
    let experiment = &found[0].results.experiment;
    (session.accept)(experiment).map_err(ExperimentError::NotAccepted)?;
    let planned_with = speed::of_parameters(&experiment.parameters);
    let station = Station::start(
        &found[0].request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    let requests: Vec<Request> = found.iter().map(|f| f.request.clone()).collect();
    let speed = planned_with.map_or_else(|| station.calibrate(&requests), Ok)?;
    let earlier = against.as_ref().map(|of| &*of.result);
    let begun: Vec<&Experiment> = found.iter().map(|f| &f.results.experiment).collect();
    let ready = ready(&station, requests, &speed, earlier, &begun)?;
    let parts = parts(&ready);
    let all = found.into_iter().zip(ready).zip(parts);
    let all = all.map(|((found, ready), part)| found.go_on(ready, part, &station));
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
    begun: &[&Experiment],
) -> Result<Vec<Ready>, ExperimentError> {
    let all = requests.into_iter();
    let all = all.map(|request| station.ready(request, speed));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    for (ready, experiment) in all.iter_mut().zip(begun) {
        keep_recorded(&mut ready.prepared, &experiment.deployments)?;
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
    for prepared in all.iter().map(|one| &one.ready.prepared) {
        for refused in &prepared.refused {
            session.observer.warning(&format!(
                "{} is left out: {}",
                refused.label,
                refused.refused.as_deref().unwrap_or_default()
            ));
        }
        for warning in &prepared.warnings {
            session.observer.warning(warning);
        }
    }
    let of_all = all.iter().map(|one| one.ready.prepared.participants());
    let shared = Shared {
        host: station.host,
        engines: station.engines,
        begun: Instant::now(),
        stop: session.stop,
        settle: session.settle,
        observer: RefCell::new(session.observer),
        sizing: RefCell::new(session.sizing),
        participants: of_all.max().unwrap_or(0),
    };
    let mut lives = Vec::new();
    for (one, part) in all.iter().zip(parts(all.iter().map(|one| &one.ready))) {
        let profile = one.ready.request.dds_profile()?;
        let dds = dds::config(profile, shared.participants, &station.facts);
        dds::keep(dds, one.writer.dir())?;
        lives.push(Live {
            shared: &shared,
            request: &one.ready.request,
            prepared: &one.ready.prepared,
            part,
            dds,
            image: &one.ready.image,
            writer: &one.writer,
            experiment: RefCell::new(one.record.clone()),
        });
    }
    let request = &all[0].ready.request;
    let deployments = lives.iter().map(|live| live.prepared.deployments.len());
    let blocks = jobs(deployments.sum(), request.blocks, request.seed);
    let done = all.iter().flat_map(|one| &one.done).copied().collect();
    let budget = request.budget_ns.map(Duration::from_nanos);
    let mut beside = ScheduledExperiments(lives);
    let outcome = drive(&blocks, &done, budget, &mut beside);
    let records = beside
        .0
        .into_iter()
        .map(|live| live.experiment.into_inner());
    let records: Vec<Experiment> = records.collect();
    let dir = all[0].writer.dir().to_owned();
    for (one, record) in all.into_iter().zip(records) {
        let folder = one.writer.dir().to_owned();
        let saved = one
            .writer
            .write_experiment(&record)
            .and_then(|()| one.writer.finish().map(drop));
        // Where a run failed already, as on a full disk, that says more than what failed after it.
        if !matches!(outcome.end, End::Failed(_)) {
            saved?;
        }
        // Traces that are not kept leave an empty folder, which alone this removes.
        let _ = std::fs::remove_dir(folder.join("traces"));
    }
    Ok(Executed { dir, outcome })
}
