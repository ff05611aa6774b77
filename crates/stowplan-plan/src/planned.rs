//! What is planned, and from what.

use stowplan_model::{DdsProfile, Endpoints, Launching, WorkSpeed};

use crate::edges::{Crossing, Edge, EdgeClass, Flow};
use crate::split::ProcessPart;

/// How often and how long is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Number of deployments in a block.
    pub deployments: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Time between readiness and arming, in nanoseconds; without a window, the longest that chains are given for their
    /// first output.
    pub warm_up_ns: u64,
    /// Length of the measurement in nanoseconds; 0 measures starts alone.
    pub window_ns: u64,
    /// Starts in a row, each with warm-up and window: 3 for a re-run, otherwise 1.
    pub starts: u32,
}

/// Expected durations in seconds. Start-up is what launchers and constructors need on free CPUs;
/// reading files and discovery come on top, so it is the least that can be expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duration {
    /// From start to the last node loaded, at least.
    pub start_up_s: f64,
    /// One run: quiet time, start-up, and warm-up and window where there is one, for each start in a row.
    pub run_s: f64,
    /// All runs of all blocks.
    pub experiment_s: f64,
}

/// What is known about the machine; `None` is not known, never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineFacts {
    /// Number of CPUs that the stack may use.
    pub cpus: u32,
    /// Time of an iteration of the work kernel by working set, from calibration.
    pub speed: Option<WorkSpeed>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Whether DDS can use multicast where the services run.
    pub multicast: bool,
}

/// What the user asks for beside stack and partition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// Share of the machine's CPUs to which callback work is scaled.
    pub utilisation: Option<f64>,
    /// Whether each service has a network namespace of its own.
    pub own_network: bool,
    /// What starts the processes of services.
    pub launching: Launching,
    /// Where the configuration of DDS is from.
    pub dds: DdsProfile,
    /// How often and how long it is measured; `None` plans one run without a window.
    pub schedule: Option<Schedule>,
}

/// One service of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ServicePlan {
    /// Its name.
    pub name: String,
    /// Its processes with their nodes.
    pub processes: Vec<ProcessPart>,
    /// CPUs that its callback work, after scaling, and its serialising keep busy; `None` without calibration.
    pub cpus: Option<f64>,
    /// Private memory in bytes that its nodes and its launcher keep, as the stack says.
    pub memory_bytes: u64,
}

impl ServicePlan {
    /// Names of its nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.processes
            .iter()
            .flat_map(|p| &p.nodes)
            .map(|n| n.as_str())
    }
}

/// The rate of a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicRate {
    /// The topic.
    pub topic: String,
    /// Messages a second that all its publishers offer; `None` where a real program publishes.
    pub messages_per_s: Option<f64>,
    /// Whether messages on it trigger each other in a circle: each is counted once.
    pub circular: bool,
}

/// How callback work is scaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Factor on the iterations of every callback.
    pub factor: f64,
    /// What every result must carry beside it.
    pub caveat: &'static str,
    /// What keeps its size.
    pub not_scaled: Vec<&'static str>,
}

/// What a scaled experiment does not scale (docs/measuring.md §1).
pub const NOT_SCALED: &[&str] = &[
    "rates of timers and messages",
    "sizes of messages and the cost of serialising and sending them",
    "numbers of nodes, processes, participants and endpoints",
    "cost of executors, DDS and the kernel",
    "start-up cost: launch, files, constructors, discovery",
    "memory and working sets",
];

/// The words that stand beside every scaled result.
pub const SCALED_CAVEAT: &str = "scaled: not a prediction for the vehicle";

/// What a partition of a stack amounts to on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the stack.
    pub stack: String,
    /// Name of the partition.
    pub partition: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of processes, launchers not counted.
    pub processes: usize,
    /// Number of DDS participants: one per process, one per service's launcher, and those of real programs.
    pub participants: usize,
    /// Endpoints of the modelled nodes, with those that rclcpp gives them; launchers not counted.
    pub endpoints: Endpoints,
    /// Names of processes that the partition cuts, each into how many.
    pub cut_processes: Vec<(String, usize)>,
    /// The services.
    pub services: Vec<ServicePlan>,
    /// Every edge between modelled nodes, by topic and nodes.
    pub edges: Vec<Edge>,
    /// What flows, by class of edge; classes that do not occur are left out.
    pub edges_by_class: Vec<(EdgeClass, Flow)>,
    /// What flows between services, by topic and services.
    pub crossings: Vec<Crossing>,
    /// What flows between services, in all.
    pub crossing: Flow,
    /// Rates of all topics.
    pub topics: Vec<TopicRate>,
    /// Share of the machine's CPUs that callback work and serialising need as the stack says; above 1
    /// it cannot keep up. `None` without calibration.
    pub face_utilisation: Option<f64>,
    /// The part of it that serialising needs, which is not scaled.
    pub serialisation_utilisation: Option<f64>,
    /// The same after scaling.
    pub utilisation: Option<f64>,
    /// How work is scaled, where asked for.
    pub scaling: Option<Scaling>,
    /// Expected durations; `None` without calibration.
    pub duration: Option<Duration>,
    /// Why this cannot be run; empty when it can.
    pub refusals: Vec<String>,
    /// What makes results doubtful.
    pub warnings: Vec<String>,
    /// What the partition says about itself.
    pub notes: Vec<String>,
}
