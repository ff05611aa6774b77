//! What an experiment file says.

use std::collections::BTreeMap;

use crate::RunOptions;
use stowplan_model::{DdsProfile, Isolation, Launching, Name, Place, Resources};

/// State of the page cache at start (docs/measuring.md §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A page cache proven cold.
    Cold,
    /// The third start in a row of the same deployment.
    ReRun,
}

/// A deployment that a file lists.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedDeployment {
    /// Where.
    pub place: Place,
    /// Name of a preset, or path of a table relative to the experiment file.
    pub partition: String,
    /// Which of the resources; `None` for those without a name.
    pub resources: Option<Name>,
}

/// The product of places and partitions of one stack, in blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Name; results are filed under it.
    pub name: Name,
    /// Name of a shipped stack, or the path of a stack file relative to the experiment file.
    pub stack: String,
    /// Places; the first is the reference.
    pub places: Vec<Place>,
    /// Names of presets, or paths of tables relative to the experiment file.
    pub partitions: Vec<String>,
    /// Number of blocks, with a pilot the most that there may be; `None` where the file does not say.
    pub blocks: Option<u32>,
    /// Whether the first blocks fix the number of all.
    pub pilot: bool,
    /// Whether assumed parameters have other values in every block.
    pub sensitivity: bool,
    /// Time in nanoseconds after which no further block begins.
    pub budget_ns: Option<u64>,
    /// Smallest differences that matter, by metric, as shares.
    pub delta: BTreeMap<String, f64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Time between readiness and arming, in nanoseconds.
    pub warm_up_ns: u64,
    /// Length of the measurement in nanoseconds; `None` where it is that of the bag that is replayed.
    pub window_ns: Option<u64>,
    /// Share of the machine's CPUs that callback work is scaled to; `None` does not scale.
    pub utilisation: Option<f64>,
    /// Profile of the DDS configuration.
    pub dds: DdsProfile,
    /// Whether timers keep the phases that their start gave them.
    pub natural_phase: bool,
    /// What starts the processes of services, the reference first; empty is `ros2` alone.
    pub launch: Vec<Launching>,
    /// State of the page cache at start; `None` leaves it as it is.
    pub start: Option<Start>,
    /// What services are given of the machine, one by one; the first is the reference. One without a name where the file has
    /// no names for them.
    pub resources: Vec<Resources>,
    /// CPUs that limits name.
    pub cpus: Vec<AskedCpu>,
    /// Deployments one by one; empty for the product of places, partitions and resources.
    pub deployments: Vec<ListedDeployment>,
    /// Isolation features, where the engine can switch them.
    pub isolation: Isolation,
    /// Whether `oci`'s isolation features are added one at a time on the one partition.
    pub ablation: bool,
    /// Most services that an engine is asked to create or start at once; `None` for all.
    pub parallelism: Option<u32>,
    /// Switches.
    pub options: RunOptions,
}

/// A CPU that the limits of a service name, and where they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCpu {
    /// The service.
    pub service: String,
    /// Number of the CPU.
    pub cpu: u32,
    /// Line in the file.
    pub line: u64,
    /// Column in the line.
    pub column: u64,
}
