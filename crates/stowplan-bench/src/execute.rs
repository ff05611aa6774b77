//! Begins and resumes the suite.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use stowplan_host::Host as _;
use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::dds::DdsConfig;
use stowplan_model::{DdsProfile, Place};
use stowplan_remote::{AgentHost, Network};
use stowplan_results::{AGAIN, DeploymentRecord, Experiment, MetricPlan};
use stowplan_run::{
    CallerEngines, Engines, ExperimentError, Programs, environment, has_multicast, machine,
    missing_places, network_note, outside_network, place_record, same_station,
};
use stowplan_suite::{Caller, Observer, OpenResult, Outcome, finish, run};
use stowplan_wire::host::MachineFacts;

use crate::SUITE;
use crate::benchmarks::PRIMARY;
use crate::request::Request;
use crate::start::{IMAGE_FILE, Shared};
use crate::suite::{Benches, Planned};
use crate::toolbox::Toolbox;

/// Name of the one partition: every place runs one service.
const PARTITION: &str = "single";

/// Name of the toolbox among the digests of a result.
const TOOLBOX: &str = "toolbox";

/// What a session needs from its caller.
pub struct Session<'a> {
    /// Programs.
    pub programs: &'a Programs,
    /// Set when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// Gets the pid of the agent as soon as there is one; ending it ends the run at once.
    pub agent_started: &'a mut dyn FnMut(u32),
    /// Engines beside those of the agent.
    pub outside: CallerEngines<'a>,
    /// Is told about progress.
    pub observer: &'a mut dyn Observer,
}

/// A suite that ended, for whatever reason.
#[derive(Debug)]
pub struct Executed {
    /// Folder of the result.
    pub dir: PathBuf,
    /// How it ended; complete blocks are those in which every benchmark was measured at every place.
    pub outcome: Outcome,
}

/// Measures into a new result folder below `out`.
///
/// # Errors
/// When it cannot begin. What fails later is in the outcome.
pub fn begin(
    request: &Request,
    out: &Path,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let station = Station::start(
        request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    let experiment = station.experiment(request);
    let made = std::fs::create_dir_all(out).and_then(|()| out.canonicalize());
    let out = made.map_err(|source| ExperimentError::Write {
        path: out.to_owned(),
        source,
    })?;
    let result = OpenResult::create(&out, experiment)?;
    request.save(result.dir())?;
    measure(request, station, result, session.stop, session.observer)
}

/// Goes on with a result. `budget` replaces the one it began with.
///
/// # Errors
/// When the folder is not a result of the suite, or this is another machine or program than the one it began with.
pub fn resume(
    dir: &Path,
    budget: Option<Duration>,
    session: Session<'_>,
) -> Result<Executed, ExperimentError> {
    let mut request = Request::load(dir)?;
    if let Some(budget) = budget {
        request.budget_ns = Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
    }
    let dir = dir.canonicalize().map_err(|source| ExperimentError::Read {
        path: dir.to_owned(),
        source,
    })?;
    let result = OpenResult::resume(&dir)?;
    let station = Station::start(
        &request,
        session.programs,
        session.outside,
        session.agent_started,
    )?;
    let program = &station.image.program_sha256;
    same_station(&result.experiment(), &station.facts, program)?;
    let now = station.toolbox.as_ref().map(|toolbox| &toolbox.digest);
    if result.experiment().digests.get(TOOLBOX) != now {
        return Err(ExperimentError::Name {
            what: "the toolbox is another than the one that the result began with".to_owned(),
        });
    }
    measure(&request, station, result, session.stop, session.observer)
}

/// The agent, the machine, the engines and the image of a session.
struct Station<'a> {
    host: Rc<AgentHost>,
    engines: Engines<'a>,
    facts: MachineFacts,
    image: Image,
    toolbox: Option<Toolbox>,
    store: PathBuf,
    places: Vec<Place>,
    /// Places for which all services are in the machine's network.
    outside_network: Vec<String>,
}

impl<'a> Station<'a> {
    fn start(
        request: &Request,
        programs: &'a Programs,
        outside: CallerEngines<'a>,
        agent_started: &mut dyn FnMut(u32),
    ) -> Result<Self, ExperimentError> {
        let mut host = AgentHost::spawn(&programs.agent, Network::Own)?;
        let mut engines = Engines::new(&host, outside)?;
        let places = request
            .places
            .iter()
            .map(|text| engines.known().place(text));
        let places: Vec<Place> = places.collect::<Result<_, _>>()?;
        let outside_network = outside_network(&places);
        if !outside_network.is_empty() {
            // An agent does not leave the network that it has entered.
            host = AgentHost::spawn(&programs.agent, Network::Machine)?;
            engines = Engines::new(&host, outside)?;
        }
        agent_started(host.agent_pid());
        let facts = host.facts()?;
        require(&engines, &places)?;
        let toolbox = toolbox(request, &programs.image_store)?;
        let image = ImageSpec {
            node_program: programs.node.clone(),
            libs: vec![LibFile {
                path: IMAGE_FILE.to_owned(),
                bytes: request.size.file_bytes,
            }],
        };
        Ok(Self {
            image: stowplan_image::build(&image, &programs.image_store)?,
            toolbox,
            store: programs.image_store.clone(),
            host,
            engines,
            facts,
            places,
            outside_network,
        })
    }

    /// What is measured, the reference first and last.
    fn planned(&self) -> Vec<Planned> {
        let of = |place: &Place| Planned {
            id: place.to_string().replace([':', '/'], "-"),
            label: place.to_string(),
            place: place.clone(),
        };
        let again = self.places.first().map(|place| {
            let first = of(place);
            Planned {
                id: format!("{}.{AGAIN}", first.id),
                label: format!("{} ({AGAIN})", first.label),
                ..first
            }
        });
        self.places.iter().map(of).chain(again).collect()
    }

    fn toolbox_digest(&self) -> Option<(String, String)> {
        let toolbox = self.toolbox.as_ref()?;
        Some((TOOLBOX.to_owned(), toolbox.digest.clone()))
    }

    fn experiment(&self, request: &Request) -> Experiment {
        let planned = self.planned();
        let reference = planned.first().map(|first| first.id.clone());
        let records = planned.iter().map(|one| DeploymentRecord {
            id: one.id.clone(),
            label: one.label.clone(),
            place: one.place.to_string(),
            facts: Some(place_record(&one.place, self.engines.known())),
            partition: PARTITION.to_owned(),
            variant: one.id.ends_with(AGAIN).then(|| AGAIN.to_owned()),
            services: 1,
            processes: 1,
            ..DeploymentRecord::default()
        });
        let metrics = PRIMARY.map(|metric| MetricPlan {
            metric: metric.to_owned(),
            delta: stowplan_stats::DEFAULT_DELTA,
            primary: true,
        });
        Experiment {
            build_id: stowplan_wire::build_id(),
            command: request.command.clone(),
            places: request.places.clone(),
            deployments: records.collect(),
            reference,
            blocks_planned: request.blocks,
            metrics: metrics.into(),
            seed: request.seed,
            budget_s: request.budget_ns.map(|ns| ns as f64 / 1e9),
            machine: machine(&self.facts),
            versions: self.engines.versions(),
            digests: [
                (
                    "stowplan-node".to_owned(),
                    self.image.program_sha256.clone(),
                ),
                ("image".to_owned(), self.image.digest.clone()),
            ]
            .into_iter()
            .chain(self.toolbox_digest())
            .collect(),
            environment: environment(),
            parameters: [
                ("time_ms".to_owned(), request.size.time_ms.into()),
                ("file_time_ms".to_owned(), request.size.file_time_ms.into()),
                ("file_bytes".to_owned(), request.size.file_bytes.into()),
                (
                    "host_network".to_owned(),
                    (!self.outside_network.is_empty()).into(),
                ),
            ]
            .into(),
            ..Experiment::new(SUITE, SUITE)
        }
    }
}

/// The toolbox, where a tool is asked for.
fn toolbox(request: &Request, store: &Path) -> Result<Option<Toolbox>, ExperimentError> {
    if !request.has_tools() {
        return Ok(None);
    }
    let found = Toolbox::require(store).map_err(|error| match error.hint {
        Some(hint) => ExperimentError::Missing {
            reasons: error.message,
            hint,
        },
        None => ExperimentError::Name {
            what: error.message,
        },
    });
    found.map(Some)
}

/// Fails where a place cannot be used here, before anything is started.
fn require(engines: &Engines<'_>, places: &[Place]) -> Result<(), ExperimentError> {
    let missing = places.iter().filter_map(|place| {
        let error = engines.usable(place).err()?;
        Some((place, error))
    });
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing_places(&missing, false))
    }
}

fn measure(
    request: &Request,
    station: Station<'_>,
    result: OpenResult,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Executed, ExperimentError> {
    let benchmarks = request.chosen();
    let dir = result.dir().to_owned();
    let deployments = station.planned();
    let results = [result];
    if let Some(note) = network_note(&station.outside_network) {
        observer.warning(&note);
    }
    let caller = Caller {
        stop,
        observer,
        sizing: &mut |_, _| Err("the suite has no pilot".to_owned()),
    };
    let mut suite = Benches {
        shared: Shared {
            host: station.host,
            image: &station.image,
            toolbox: station.toolbox.as_ref(),
            dds: DdsConfig::new(DdsProfile::default(), 2, has_multicast(&station.facts)),
            size: request.size,
            dir: dir.clone(),
            store: station.store,
        },
        engines: station.engines,
        deployments,
        benchmarks,
        seed: request.seed,
        result: &results[0],
    };
    let outcome = run(&mut suite, &results, request.asked(), caller)?;
    finish(results.into(), &outcome)?;
    Ok(Executed { dir, outcome })
}
