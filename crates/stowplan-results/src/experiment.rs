//! `experiment.json`: what was asked for, on which machine, with every parameter.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stowplan_model::WorkSpeed;

use crate::{AblationDeployment, EarlierResult, PlaceRecord, ScheduledRun};

/// Format of `experiment.json`.
pub const EXPERIMENT_SCHEMA: &str = "stowplan.experiment/2";

/// Formats of `experiment.json` that are read; the first was of before hosts were recorded.
pub(crate) const EXPERIMENT_SCHEMAS: [&str; 2] = ["stowplan.experiment/1", EXPERIMENT_SCHEMA];

/// Key in [`Experiment::parameters`] of the profile of the DDS configuration.
pub const DDS_PROFILE: &str = "dds_profile";

/// Key in [`Experiment::parameters`] of whether the CPU time of each call was recorded.
pub const CALLBACK_CPU: &str = "callback_cpu";

/// Key in [`Experiment::parameters`] of whether the CPUs' context switches were recorded.
pub const PREEMPTION: &str = "preemption";

/// Key in [`Experiment::parameters`] of how many threads of busy neighbours every deployment had.
pub const NEIGHBOURS: &str = "neighbours";

/// Key in [`Experiment::parameters`] of what was replayed: an object with the bag, its `sha256`, and each source.
pub const REPLAY: &str = "replay";

/// Beginnings of names in [`DeploymentRecord::fingerprint`] whose values each start has anew: paths with the run's name, numbers
/// that the kernel draws, the copy of the program where an engine makes one for each service.
pub const OF_A_START: [&str; 8] = [
    "autogroup",
    "cgroup.",
    "dds.participant_index",
    "process_group",
    "program.device",
    "program.inode",
    "session",
    "stdio.",
];

/// [`Experiment::phase`] where phases are drawn per block and equal in all deployments of it.
pub const RE_BASED: &str = "re-based";

/// [`Experiment::phase`] where they are what the start of the nodes gave.
pub const NATURAL: &str = "natural";

/// [`Experiment::suite`] of deployments of a stack.
pub const STACKS: &str = "stacks";

/// An experiment with everything that is needed to repeat it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// [`EXPERIMENT_SCHEMA`] where it is written.
    pub schema: String,
    /// Which suite measured it: `stacks`, or another.
    #[serde(default = "stacks")]
    pub suite: String,
    /// Name of the experiment.
    pub name: String,
    /// Version of Stowplan.
    pub stowplan_version: String,
    /// Build id that command line, agent and node program share.
    #[serde(default)]
    pub build_id: String,
    /// When it was begun, seconds since 1970.
    pub created_unix_s: u64,
    /// The command line that began it.
    #[serde(default)]
    pub command: Vec<String>,
    /// What was started.
    pub stack: StackRecord,
    /// Places asked for.
    #[serde(default)]
    pub places: Vec<String>,
    /// Partitions asked for.
    #[serde(default)]
    pub partitions: Vec<PartitionRecord>,
    /// The matrix of both, with what was refused.
    pub deployments: Vec<DeploymentRecord>,
    /// Deployments that lead from plain processes to containers one addition at a time; empty where no ablation
    /// was asked for.
    #[serde(default)]
    pub ablation: Vec<AblationDeployment>,
    /// Id of the deployment that the others are compared with.
    #[serde(default)]
    pub reference: Option<String>,
    /// Blocks planned; while a pilot has not fixed them yet, those of the pilot.
    pub blocks_planned: u32,
    /// The earlier result whose deployments are measured again in the same blocks, with a result of their own in the folder
    /// `before`; null where there is none.
    #[serde(default)]
    pub against: Option<EarlierResult>,
    /// How a pilot fixes the number of blocks; null where it was given.
    #[serde(default)]
    pub pilot: Option<PilotRecord>,
    /// Every run planned, in order.
    #[serde(default)]
    pub schedule: Vec<ScheduledRun>,
    /// What is compared, declared before measuring.
    #[serde(default)]
    pub metrics: Vec<MetricPlan>,
    /// Seed of order, phases and work.
    pub seed: u64,
    /// Timer phases: `re-based` (drawn per block) or `natural` (as nodes happened to start).
    #[serde(default)]
    pub phase: Option<String>,
    /// Length of the measured window, s.
    pub window_s: f64,
    /// Time between the start and the window, s; without a window, the longest that chains were given for their first output.
    #[serde(default)]
    pub warm_up_s: f64,
    /// Longest time for the experiment, s.
    #[serde(default)]
    pub budget_s: Option<f64>,
    /// Utilisation of the machine that callback work was scaled to, 0 to 1.
    #[serde(default)]
    pub utilisation: Option<f64>,
    /// Factor on callback work; null where nothing was scaled.
    #[serde(default)]
    pub scale_factor: Option<f64>,
    /// What was not scaled with it.
    #[serde(default)]
    pub not_scaled: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// Further hosts of the experiment; empty where it runs on `machine` alone.
    #[serde(default)]
    pub other_machines: Vec<Machine>,
    /// Versions of engines and tools by name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// SHA-256 of programs and input files by name.
    #[serde(default)]
    pub digests: BTreeMap<String, String>,
    /// Calibration of the work kernel per block.
    #[serde(default)]
    pub calibration: Vec<BlockCalibration>,
    /// Parameters that are assumed, not published or measured.
    #[serde(default)]
    pub assumptions: Vec<Assumption>,
    /// How assumed parameters were varied from block to block; null where they have the values of the stack.
    #[serde(default)]
    pub sensitivity: Option<SensitivityRecord>,
    /// Environment variables: values of an allow-list, null for the others.
    #[serde(default)]
    pub environment: BTreeMap<String, Option<String>>,
    /// Every other parameter by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// What Stowplan itself used while armed, over all runs.
    #[serde(default)]
    pub stowplan_own: Option<StowplanOwn>,
    /// What a reader of the figures has to know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A pilot: first blocks, which count, and whose spread fixes the number of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PilotRecord {
    /// Blocks of the pilot.
    pub blocks: u32,
    /// Most blocks that the experiment may have.
    pub most: u32,
    /// The number of blocks, fixed once after the pilot; null before.
    pub fixed: Option<u32>,
    /// How it came to that number.
    pub reason: Option<String>,
}

/// The stack that was started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackRecord {
    /// Name.
    pub name: String,
    /// SHA-256 of its file, hex.
    pub sha256: String,
    /// File, as named on the command line.
    #[serde(default)]
    pub file: Option<String>,
    /// Nodes.
    pub nodes: u64,
    /// Topics.
    pub topics: u64,
    /// Modules in the order of the file.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Names of the chains in the order of the file.
    #[serde(default)]
    pub chains: Vec<String>,
    /// Callbacks of each chain, first to last, as `NODE/CALLBACK`.
    #[serde(default)]
    pub chain_callbacks: BTreeMap<String, Vec<String>>,
    /// Deadlines of chains that have one, ns.
    #[serde(default)]
    pub deadlines_ns: BTreeMap<String, u64>,
}

/// A partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionRecord {
    /// Name.
    pub name: String,
    /// Services in starting order.
    pub services: Vec<String>,
    /// Service of every node.
    #[serde(default)]
    pub nodes: BTreeMap<String, String>,
    /// Processes of every service; empty where no deployment of the partition could run, and in results of before they were told.
    #[serde(default)]
    pub processes: Vec<ProcessRecord>,
}

/// A process of the stack in one service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRecord {
    /// Service.
    pub service: String,
    /// Name of the process in the stack.
    pub process: String,
    /// Modules that it belongs to: those of its nodes, without those that no source attributes to a module where others are.
    pub modules: Vec<String>,
    /// Its nodes in this service.
    pub nodes: Vec<String>,
}

/// A deployment of the experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentRecord {
    /// Id, unique within the experiment; the tables name deployments by it.
    pub id: String,
    /// Label for people, as `oci · wen-5`.
    pub label: String,
    /// Place.
    pub place: String,
    /// What that is, as its engine said; results of before it was recorded have it by the names of that time.
    #[serde(default)]
    pub facts: Option<PlaceRecord>,
    /// Name of the partition.
    pub partition: String,
    /// Which of several allocations of the machine (`limits`); null where there is one alone.
    #[serde(default)]
    pub resources: Option<String>,
    /// Which of several deployments of this partition at this place with these resources.
    #[serde(default)]
    pub variant: Option<String>,
    /// What was put into it on purpose, to test the instrument: its figures are no measurement of the stack.
    #[serde(default)]
    pub injected: Option<InjectionRecord>,
    /// Number of services.
    pub services: u64,
    /// Number of ROS processes.
    pub processes: u64,
    /// Number of DDS participants.
    pub participants: u64,
    /// Edges by class.
    #[serde(default)]
    pub edges_by_class: BTreeMap<String, EdgeCount>,
    /// Isolation features by name, and whether each was on.
    #[serde(default)]
    pub isolation: BTreeMap<String, bool>,
    /// Limits per service that has any.
    #[serde(default)]
    pub limits: BTreeMap<String, LimitsRecord>,
    /// Settings that were read back from the processes (fingerprint) by name.
    #[serde(default)]
    pub fingerprint: BTreeMap<String, String>,
    /// What was asked for, could not be had, and what stood in its place.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// Whether the engine runs in emulation.
    #[serde(default)]
    pub emulated: bool,
    /// Why it was not run at all.
    #[serde(default)]
    pub refused: Option<String>,
}

/// A known difference that was put into a deployment on purpose.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectionRecord {
    /// `node/callback`.
    pub callback: String,
    /// Factor on its counted iterations; null where they are as in the stack.
    pub work_factor: Option<f64>,
    /// How much later its timer was released than its phase says, ns; null where it was not.
    pub later_ns: Option<u64>,
}

/// Edges of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeCount {
    /// Edges from a publisher to a subscription.
    pub edges: u64,
    /// Bytes per second that the stack sends over them.
    #[serde(default)]
    pub bytes_per_s: f64,
}

/// Limits of one service as they were asked for, which engines read back from the kernel; null is the engine's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsRecord {
    /// CPU numbers.
    #[serde(default)]
    pub cpuset: Option<Vec<u32>>,
    /// Weight on cgroup v2's scale.
    #[serde(default)]
    pub cpu_weight: Option<u32>,
    /// Quota in CPUs.
    #[serde(default)]
    pub cpu_quota: Option<f64>,
    /// Memory limit in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Scheduling class, as `other`, `fifo 10`.
    #[serde(default)]
    pub scheduling: Option<String>,
}

/// A metric to compare, declared before measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricPlan {
    /// Name as in `comparisons.json`, for example `e2e_paper_mean`.
    pub metric: String,
    /// Smallest relative difference that matters.
    pub delta: f64,
    /// Whether verdicts on it are Holm-corrected as the answer to the question; all others are exploratory.
    #[serde(default)]
    pub primary: bool,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// CPUs online.
    pub cpus: u32,
    /// CPU model.
    pub cpu_model: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release and version.
    pub kernel: String,
    /// `v1`, `hybrid` or `v2`.
    #[serde(default)]
    pub cgroup: String,
    /// Everything else that may differ between machines.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// Calibration of the work kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockCalibration {
    /// Block.
    pub block: u32,
    /// ns per iteration within the first-level cache: over working sets of up to 16 KiB.
    pub ns_per_iteration: f64,
    /// Larger working sets of the stack's callbacks, ascending; empty where only the first was measured.
    #[serde(default)]
    pub larger: Vec<WorkingSetCalibration>,
}

/// Calibration of the work kernel over one working set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSetCalibration {
    /// Working set, bytes.
    pub working_set_bytes: u64,
    /// ns per iteration.
    pub ns_per_iteration: f64,
}

impl BlockCalibration {
    /// The calibration of a block.
    #[must_use]
    pub fn new(block: u32, speed: &WorkSpeed) -> Self {
        let larger = speed.larger().iter();
        Self {
            block,
            ns_per_iteration: speed.ns(),
            larger: larger
                .map(
                    |(working_set_bytes, ns_per_iteration)| WorkingSetCalibration {
                        working_set_bytes: *working_set_bytes,
                        ns_per_iteration: *ns_per_iteration,
                    },
                )
                .collect(),
        }
    }

    /// Its speed for any working set.
    #[must_use]
    pub fn speed(&self) -> WorkSpeed {
        let larger = self.larger.iter();
        WorkSpeed::new(
            self.ns_per_iteration,
            larger.map(|of| (of.working_set_bytes, of.ns_per_iteration)),
        )
    }
}

/// A parameter that is assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assumption {
    /// Parameter, with its path in the stack file.
    pub parameter: String,
    /// Value used, with unit.
    pub value: String,
    /// Range for sensitivity runs, with unit.
    #[serde(default)]
    pub range: Option<String>,
    /// Why this value.
    #[serde(default)]
    pub why: Option<String>,
}

/// Assumed parameters that have other values in every block, the same in all its deployments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SensitivityRecord {
    /// Parameters that are varied over their ranges.
    pub varied: Vec<String>,
    /// Assumed parameters that are not, because the image has them: sizes of start-up files.
    pub not_varied: Vec<String>,
    /// Value of every varied parameter, in the unit of its assumption, by block from 1.
    pub blocks: BTreeMap<u32, BTreeMap<String, f64>>,
}

/// Stowplan's own use of the machine between arm and disarm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StowplanOwn {
    /// Context switches.
    pub switches: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Armed time over which they were counted, ns.
    pub armed_ns: u64,
}

fn stacks() -> String {
    STACKS.to_owned()
}

impl Machine {
    /// Whether results of both can be held against each other: one host with the same CPUs.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.host, &self.cpu_model, self.cpus) == (&other.host, &other.cpu_model, other.cpus)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} CPUs)", self.host, self.cpu_model, self.cpus)
    }
}

impl Experiment {
    /// An experiment of a suite, begun now by this version; everything else is still to be filled in.
    #[must_use]
    pub fn new(suite: &str, name: &str) -> Self {
        Self {
            schema: EXPERIMENT_SCHEMA.to_owned(),
            suite: suite.to_owned(),
            name: name.to_owned(),
            stowplan_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs(),
            ..Self::default()
        }
    }

    /// Whether it is of deployments of a stack.
    #[must_use]
    pub fn is_of_stacks(&self) -> bool {
        self.suite == STACKS
    }

    /// The deployment with this id.
    #[must_use]
    pub fn deployment(&self, id: &str) -> Option<&DeploymentRecord> {
        self.deployments.iter().find(|d| d.id == id)
    }

    /// How many blocks were a pilot that fixed the number of all; `None` where that was given.
    #[must_use]
    pub fn pilot_blocks(&self) -> Option<usize> {
        self.pilot.as_ref().map(|pilot| pilot.blocks as usize)
    }

    /// Whether a deployment is there for the steps of an ablation alone: it has a part of the isolation only.
    #[must_use]
    pub fn is_step(&self, deployment: &DeploymentRecord) -> bool {
        let listed = |id: &str| self.ablation.iter().any(|step| step.deployment == id);
        deployment.variant.is_some() && listed(&deployment.id)
    }

    /// The id of the reference: the one declared, else the first of plain processes in one group, else the first
    /// deployment that was not refused.
    #[must_use]
    pub fn reference_id(&self) -> Option<&str> {
        let run = || self.deployments.iter().filter(|d| d.refused.is_none());
        let declared = self.reference.as_deref();
        declared
            .filter(|id| run().any(|d| d.id == **id))
            .or_else(|| run().find(|d| d.is_flat()).map(|d| &*d.id))
            .or_else(|| run().next().map(|d| &*d.id))
    }

    /// JSON Schema of `experiment.json`.
    #[must_use]
    pub fn json_schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }
}
