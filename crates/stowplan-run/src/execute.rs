//! Begins, drives and resumes experiments.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use stowplan_engine::{Capabilities, EngineError};
use stowplan_host::Host;
use stowplan_host::facts::LOOPBACK_MULTICAST;
use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::lower::start_up_files;
use stowplan_model::{Stack, WorkSpeed};
use stowplan_plan::MachineFacts;
use stowplan_remote::AgentHost;
use stowplan_results::{Experiment, Results, ResultsWriter, RunStatus};

use crate::engines::{Engines, Outside};
use crate::error::ExperimentError;
use crate::live::{Live, run_numbers};
use crate::observe::Observer;
use crate::prepare::{Prepared, prepare};
use crate::real::unpack_images;
use crate::record::experiment;
use crate::request::Request;
use crate::schedule::{End, Outcome, drive, jobs};
use crate::size::Sizing;
use crate::{cdi, dds, speed};

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
    /// Longest wait for a quiet machine before a run; a time-out is recorded with the run (MEASURING §5).
    pub settle: Duration,
    /// Engines beside those of the agent.
    pub outside: Outside<'a>,
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

/// The agent, the machine and the image of a session.
struct Station<'a> {
    host: Rc<AgentHost>,
    engines: Engines<'a>,
    image: Image,
    facts: stowplan_wire::host::MachineFacts,
}

/// Runs a new experiment; its result folder is made below `out`.
///
/// # Errors
/// When it cannot begin. What fails later is in the outcome.
pub fn begin(
    request: &Request,
    out: &Path,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let station = station(
        request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    let speed = calibrate(&station, request)?;
    let prepared = prepared(request, &station, session.programs, &speed)?;
    let record = experiment(
        request,
        &prepared,
        &station.facts,
        &station.image,
        &station.engines.versions(),
        &speed,
    );
    (session.accept)(&record).map_err(ExperimentError::NotAccepted)?;
    std::fs::create_dir_all(out).map_err(|source| ExperimentError::Write {
        path: out.to_owned(),
        source,
    })?;
    let writer = ResultsWriter::create(out, &record)?;
    request.save(writer.dir())?;
    run(
        request,
        &prepared,
        station,
        writer,
        record,
        &HashSet::new(),
        session,
    )
}

/// Goes on with an interrupted experiment. `budget` replaces the one it began with.
///
/// # Errors
/// When the folder is not a result, or this is another machine or program than the one it began with.
pub fn resume(
    dir: &Path,
    budget: Option<Duration>,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let mut request = Request::load(dir)?;
    if let Some(budget) = budget {
        request.budget_ns = Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
    }
    let (writer, results) = ResultsWriter::resume(dir)?;
    (session.accept)(&results.experiment).map_err(ExperimentError::NotAccepted)?;
    let station = station(
        &request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    same_station(&results.experiment, &station)?;
    let planned_with = speed::of_parameters(&results.experiment.parameters);
    let speed = planned_with.map_or_else(|| calibrate(&station, &request), Ok)?;
    let prepared = prepared(&request, &station, session.programs, &speed)?;
    same_images(&results.experiment, &prepared)?;
    let done = done(&request, &prepared, &results);
    let record = results.experiment.clone();
    drop(results);
    run(&request, &prepared, station, writer, record, &done, session)
}

fn station<'a>(
    request: &Request,
    programs: &Programs,
    outside: Outside<'a>,
    agent_started: &mut dyn FnMut(u32),
) -> Result<Station<'a>, ExperimentError> {
    let spec = request.spec()?;
    can_trace(spec.stack())?;
    let host = AgentHost::spawn(&programs.agent, request.network())?;
    agent_started(host.agent_pid());
    let libs = start_up_files(spec.stack())
        .into_iter()
        .map(|(path, bytes)| LibFile { path, bytes })
        .collect();
    let image = ImageSpec {
        node_program: programs.node.clone(),
        libs,
    };
    let image = stowplan_image::build(&image, &programs.image_store)?;
    let facts = host.facts()?;
    Ok(Station {
        engines: Engines::new(&host, outside),
        host,
        image,
        facts,
    })
}

/// Better said before anything is made.
fn can_trace(stack: &Stack) -> Result<(), ExperimentError> {
    let Some(traced) = stack.services.iter().find(|service| service.trace) else {
        return Ok(());
    };
    let found = stowplan_lttng::Tools::find();
    found.map(drop).map_err(|source| ExperimentError::Lttng {
        service: traced.name.to_string(),
        source,
    })
}

fn calibrate(station: &Station<'_>, request: &Request) -> Result<WorkSpeed, ExperimentError> {
    let spec = request.spec()?;
    Ok(speed::calibrate(
        &station.host,
        &station.image,
        spec.stack(),
    )?)
}

fn prepared(
    request: &Request,
    station: &Station<'_>,
    programs: &Programs,
    speed: &WorkSpeed,
) -> Result<Prepared, ExperimentError> {
    let machine = MachineFacts {
        cpus: station.facts.cpus,
        speed: Some(speed.clone()),
        memory_bytes: Some(station.facts.memory_bytes),
        multicast: dds::has_multicast(&station.facts),
    };
    let mut known: BTreeMap<String, Result<Capabilities, String>> = BTreeMap::new();
    let mut prepared = prepare(request, &machine, &mut |engine| {
        known
            .entry(engine.to_owned())
            .or_insert_with(|| station.engines.usable(engine).map_err(|e| in_words(&e)))
            .clone()
    })?;
    // After the refusals: an engine that cannot use an image may be the only one asked for.
    prepared.image_digests = unpack_images(&mut prepared.stack.services, &programs.image_store)?;
    let lacks = cdi::resolve(&mut prepared.stack.services, &cdi::FOLDERS.map(Path::new))?;
    prepared.warnings.extend(lacks);
    Ok(prepared)
}

fn in_words(error: &EngineError) -> String {
    let hint = error
        .hint
        .as_ref()
        .map(|hint| format!(" (hint: {hint})"))
        .unwrap_or_default();
    format!("{}{hint}", stowplan_host::chain(error))
}

/// Blocks of two machines or two programs cannot be compared.
fn same_station(experiment: &Experiment, station: &Station<'_>) -> Result<(), ExperimentError> {
    let before = &experiment.machine;
    let now = &station.facts;
    if (&before.host, &before.cpu_model, before.cpus, &before.kernel)
        != (&now.host, &now.cpu_model, now.cpus, &now.kernel)
    {
        return Err(ExperimentError::OtherMachine {
            before: format!(
                "{} ({}, {} CPUs, {})",
                before.host, before.cpu_model, before.cpus, before.kernel
            ),
            now: format!(
                "{} ({}, {} CPUs, {})",
                now.host, now.cpu_model, now.cpus, now.kernel
            ),
        });
    }
    if before.settings.get(LOOPBACK_MULTICAST) != now.settings.get(LOOPBACK_MULTICAST) {
        return Err(ExperimentError::OtherNetwork);
    }
    match experiment.digests.get("stowplan-node") {
        Some(sha) if *sha != station.image.program_sha256 => Err(ExperimentError::OtherProgram),
        _ => Ok(()),
    }
}

/// Likewise of two images of a real program.
fn same_images(experiment: &Experiment, prepared: &Prepared) -> Result<(), ExperimentError> {
    for (of, digest) in &prepared.image_digests {
        if experiment.digests.get(of) != Some(digest) {
            return Err(ExperimentError::Name {
                what: format!("the {of} is another one than this result began with"),
            });
        }
    }
    Ok(())
}

/// Jobs of which every kept run is finished.
fn done(request: &Request, prepared: &Prepared, results: &Results) -> HashSet<(u32, usize)> {
    let finished: HashSet<u32> = results
        .runs
        .iter()
        .filter(|r| r.status == RunStatus::Finished)
        .map(|r| r.run)
        .collect();
    let deployments = prepared.deployments.len();
    jobs(deployments, request.blocks, request.seed)
        .into_iter()
        .flatten()
        .filter(|job| {
            run_numbers(*job, deployments, request.starts)
                .iter()
                .all(|(number, _)| finished.contains(number))
        })
        .map(|job| (job.block, job.deployment))
        .collect()
}

fn run(
    request: &Request,
    prepared: &Prepared,
    station: Station<'_>,
    writer: ResultsWriter,
    record: Experiment,
    done: &HashSet<(u32, usize)>,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
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
    let blocks = jobs(prepared.deployments.len(), request.blocks, request.seed);
    let dds = dds::config(request.dds_profile()?, prepared, &station.facts);
    dds::keep(dds, writer.dir())?;
    let mut live = Live {
        request,
        prepared,
        dds,
        host: station.host,
        engines: station.engines,
        image: station.image,
        writer: &writer,
        experiment: RefCell::new(record),
        begun: Instant::now(),
        stop: session.stop,
        settle: session.settle,
        observer: RefCell::new(session.observer),
        sizing: RefCell::new(session.sizing),
    };
    let outcome = drive(
        &blocks,
        done,
        request.budget_ns.map(Duration::from_nanos),
        &mut live,
    );
    let record = live.experiment.into_inner();
    let dir = writer.dir().to_owned();
    let saved = writer
        .write_experiment(&record)
        .and_then(|()| writer.finish().map(drop));
    // Where a run failed already, as on a full disk, that says more than what failed after it.
    if !matches!(outcome.end, End::Failed(_)) {
        saved?;
    }
    // Traces that are not kept leave an empty folder, which alone this removes.
    let _ = std::fs::remove_dir(dir.join("traces"));
    Ok(Executed { dir, outcome })
}
