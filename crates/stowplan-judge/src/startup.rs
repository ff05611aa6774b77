//! Start-up: one value per run and instant.

use std::collections::BTreeMap;

use stowplan_results::{Experiment, PartitionRecord, Results, StartKind, StartupRow, SubjectKind};
use stowplan_stats::Sorted;

use crate::counted::Counted;
use crate::error::JudgeError;

/// Median and quartiles over runs, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Runs.
    pub n: usize,
    /// First quartile.
    pub q25: f64,
    /// Median.
    pub q50: f64,
    /// Third quartile.
    pub q75: f64,
}

impl Spread {
    /// Of these values; `None` where there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sorted = Sorted::new(values.into_iter().collect()).ok()?;
        Some(Self {
            n: sorted.values().len(),
            q25: sorted.quantile(0.25),
            q50: sorted.quantile(0.5),
            q75: sorted.quantile(0.75),
        })
    }
}

/// Start-ups of a deployment from one state of the page cache.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentStartup {
    /// Id of the deployment.
    pub deployment: String,
    /// State of the page cache.
    pub start: StartKind,
    /// One entry per run that counts.
    pub runs: Vec<RunStartup>,
    /// Modules in the order of the stack.
    pub modules: Vec<ModuleTimes>,
    /// Services in the order of the partition.
    pub services: Vec<ServiceTimes>,
}

/// One start-up, ns since t0.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStartup {
    /// Run.
    pub run: u32,
    /// Block.
    pub block: u32,
    /// The instants of the whole deployment that are known, by name.
    pub instants: BTreeMap<Instant, f64>,
}

/// An instant of a start-up, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instant {
    /// Everything is created.
    CreateDone,
    /// An orchestrator has placed the last service.
    Scheduled,
    /// The last sandbox of a pod is there.
    Sandbox,
    /// The engine has made the last container or process.
    ContainerCreated,
    /// The engine has started the last one.
    ContainerStarted,
    /// First instruction inside a partition.
    FirstInstruction,
    /// The launcher has evaluated everything.
    LaunchReady,
    /// First node loaded.
    FirstNodeLoaded,
    /// Last node loaded: the papers' total.
    LastNodeLoaded,
    /// All declared endpoints have found each other.
    Matched,
    /// First complete output of the last chain: the headline.
    FirstOutput,
}

impl Instant {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::CreateDone,
        Self::Scheduled,
        Self::Sandbox,
        Self::ContainerCreated,
        Self::ContainerStarted,
        Self::FirstInstruction,
        Self::LaunchReady,
        Self::FirstNodeLoaded,
        Self::LastNodeLoaded,
        Self::Matched,
        Self::FirstOutput,
    ];

    /// Name in metrics and in the page's data.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::CreateDone => "create_done",
            Self::Scheduled => "scheduled",
            Self::Sandbox => "sandbox",
            Self::ContainerCreated => "container_created",
            Self::ContainerStarted => "container_started",
            Self::FirstInstruction => "first_instruction",
            Self::LaunchReady => "launch_ready",
            Self::FirstNodeLoaded => "first_node_loaded",
            Self::LastNodeLoaded => "last_node_loaded",
            Self::Matched => "matched",
            Self::FirstOutput => "first_output",
        }
    }

    /// Name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::CreateDone => "created",
            Self::Scheduled => "scheduled",
            Self::Sandbox => "pod sandbox created",
            Self::ContainerCreated => "container created",
            Self::ContainerStarted => "container started",
            Self::FirstInstruction => "first instruction",
            Self::LaunchReady => "launch ready",
            Self::FirstNodeLoaded => "first node loaded",
            Self::LastNodeLoaded => "last node loaded",
            Self::Matched => "endpoints matched",
            Self::FirstOutput => "first chain output",
        }
    }

    fn of(self, row: &StartupRow) -> Option<i64> {
        match self {
            Self::CreateDone => row.create_done_ns,
            Self::Scheduled => row.scheduled_ns,
            Self::Sandbox => row.sandbox_ns,
            Self::ContainerCreated => row.container_created_ns,
            Self::ContainerStarted => row.container_started_ns,
            Self::FirstInstruction => row.first_instruction_ns,
            Self::LaunchReady => row.launch_ready_ns,
            Self::FirstNodeLoaded => row.first_node_loaded_ns,
            Self::LastNodeLoaded => row.last_node_loaded_ns,
            Self::Matched => row.matched_ns,
            Self::FirstOutput => row.first_output_ns,
        }
    }
}

/// When a module began to load and was up, over the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleTimes {
    /// Module.
    pub module: String,
    /// Its first node begins to load, ns since t0.
    pub begin: Option<Spread>,
    /// Its last node is loaded, ns since t0.
    pub end: Option<Spread>,
    /// From the one to the other, ns.
    pub took: Option<Spread>,
}

/// When a service came up, over the runs, ns since t0; what its program does not announce is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceTimes {
    /// Service.
    pub service: String,
    /// An orchestrator has chosen where it runs.
    pub scheduled: Option<Spread>,
    /// What its containers share is there, a pod's sandbox.
    pub sandbox: Option<Spread>,
    /// The engine has made its container, or its process.
    pub container_created: Option<Spread>,
    /// First instruction inside it.
    pub first_instruction: Option<Spread>,
    /// Its launcher has evaluated everything.
    pub launch_ready: Option<Spread>,
    /// Its first node begins to load.
    pub first_load: Option<Spread>,
    /// Its last node is loaded; a real program is ready.
    pub last_loaded: Option<Spread>,
    /// Its endpoints have found each other.
    pub matched: Option<Spread>,
    /// Its first publication.
    pub first_output: Option<Spread>,
}

impl DeploymentStartup {
    /// Spread of one instant over the runs.
    #[must_use]
    pub fn spread(&self, instant: Instant) -> Option<Spread> {
        let values = self.runs.iter().filter_map(|r| r.instants.get(&instant));
        Spread::of(values.copied())
    }
}

type Module = (Vec<f64>, Vec<f64>, Vec<f64>);

/// Scheduled, sandbox, container created, first instruction, launch ready, first load, last load, matched and first output, a value
/// for each run.
type Service = [Vec<f64>; 9];
/// Where among them the first load is, which rows of nodes tell.
const FIRST_LOAD: usize = 5;

#[derive(Default)]
struct Rows {
    runs: Vec<RunStartup>,
    modules: BTreeMap<String, Module>,
    services: BTreeMap<String, Service>,
    /// First begin of a load by service and run.
    loads: BTreeMap<(String, u32), i64>,
}

/// Reads the start-up table of the runs that count.
pub(crate) fn read(
    results: &Results,
    counted: &Counted,
) -> Result<Vec<DeploymentStartup>, JudgeError> {
    let mut groups: BTreeMap<(usize, StartKind), Rows> = BTreeMap::new();
    let places = NodePlaces::of(&results.experiment);
    results.scan(|row: StartupRow| {
        if counted.latency(row.run).is_none() {
            return;
        }
        // Of a deployment whose starts do not count, it is to be seen that it has none.
        let group = groups
            .entry((counted.rank(&row.deployment), row.start))
            .or_default();
        if !counted.startup(row.run, row.start) {
            return;
        }
        match row.subject_kind {
            SubjectKind::Total => group.runs.push(total(&row)),
            SubjectKind::Module => add_module(&mut group.modules, &row),
            SubjectKind::Service => add_service(&mut group.services, &row),
            SubjectKind::Node => add_node(&mut group.loads, &places, &row),
            SubjectKind::Chain => {}
        }
    })?;
    let views = groups.into_iter().map(|((rank, start), rows)| {
        let mut modules: Vec<ModuleTimes> = rows
            .modules
            .into_iter()
            .map(|(module, (begin, end, took))| ModuleTimes {
                module,
                begin: Spread::of(begin),
                end: Spread::of(end),
                took: Spread::of(took),
            })
            .collect();
        modules.sort_by_key(|m| counted.module_rank(&m.module));
        let deployment = counted.id(rank).to_owned();
        DeploymentStartup {
            services: services(
                rows.services,
                rows.loads,
                partition(&results.experiment, &deployment),
            ),
            deployment,
            start,
            runs: rows.runs,
            modules,
        }
    });
    Ok(views.collect())
}

fn total(row: &StartupRow) -> RunStartup {
    let instants = Instant::ALL.into_iter().filter_map(|instant| {
        let ns = instant.of(row);
        // `end` of the total is the last node loaded, by definition.
        let ns = ns.or(row.end_ns.filter(|_| instant == Instant::LastNodeLoaded));
        Some((instant, ns? as f64))
    });
    RunStartup {
        run: row.run,
        block: row.block,
        instants: instants.collect(),
    }
}

fn add_module(modules: &mut BTreeMap<String, Module>, row: &StartupRow) {
    let module = modules.entry(row.subject.to_string()).or_default();
    module.0.extend(row.begin_ns.map(|ns| ns as f64));
    module.1.extend(row.end_ns.map(|ns| ns as f64));
    if let (Some(begin), Some(end)) = (row.begin_ns, row.end_ns) {
        module.2.push((end - begin) as f64);
    }
}

/// The partition of a deployment.
fn partition<'a>(experiment: &'a Experiment, deployment: &str) -> Option<&'a PartitionRecord> {
    let name = &experiment.deployment(deployment)?.partition;
    experiment.partitions.iter().find(|p| p.name == *name)
}

/// In which service each node of each deployment is.
struct NodePlaces<'a>(BTreeMap<&'a str, &'a BTreeMap<String, String>>);

impl<'a> NodePlaces<'a> {
    fn of(experiment: &'a Experiment) -> Self {
        let of_one = |id: &'a str| Some((id, &partition(experiment, id)?.nodes));
        let ids = experiment.deployments.iter().map(|d| &*d.id);
        Self(ids.filter_map(of_one).collect())
    }

    fn service(&self, deployment: &str, node: &str) -> Option<&'a String> {
        self.0.get(deployment)?.get(node)
    }
}

fn add_service(services: &mut BTreeMap<String, Service>, row: &StartupRow) {
    let service = services.entry(row.subject.to_string()).or_default();
    let instants = [
        row.scheduled_ns,
        row.sandbox_ns,
        row.container_created_ns,
        row.first_instruction_ns.or(row.begin_ns),
        row.launch_ready_ns,
        None,
        row.last_node_loaded_ns.or(row.end_ns),
        row.matched_ns,
        row.first_output_ns,
    ];
    for (values, ns) in service.iter_mut().zip(instants) {
        values.extend(ns.map(|ns| ns as f64));
    }
}

fn add_node(loads: &mut BTreeMap<(String, u32), i64>, places: &NodePlaces<'_>, row: &StartupRow) {
    let service = places.service(&row.deployment, &row.subject);
    if let (Some(service), Some(begin)) = (service, row.begin_ns) {
        let first = loads.entry((service.clone(), row.run)).or_insert(begin);
        *first = begin.min(*first);
    }
}

fn services(
    mut all: BTreeMap<String, Service>,
    loads: BTreeMap<(String, u32), i64>,
    partition: Option<&PartitionRecord>,
) -> Vec<ServiceTimes> {
    for ((service, _), begin) in loads {
        if let Some(service) = all.get_mut(&service) {
            service[FIRST_LOAD].push(begin as f64);
        }
    }
    let mut services: Vec<ServiceTimes> = all
        .into_iter()
        .map(|(service, instants)| {
            let [
                scheduled,
                sandbox,
                container_created,
                first_instruction,
                launch_ready,
                first_load,
                last_loaded,
                matched,
                first_output,
            ] = instants.map(Spread::of);
            ServiceTimes {
                service,
                scheduled,
                sandbox,
                container_created,
                first_instruction,
                launch_ready,
                first_load,
                last_loaded,
                matched,
                first_output,
            }
        })
        .collect();
    let order = |of: &ServiceTimes| partition?.services.iter().position(|s| *s == of.service);
    services.sort_by_key(|of| order(of).unwrap_or(usize::MAX));
    services
}
