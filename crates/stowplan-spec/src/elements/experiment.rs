//! The experiment file.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

use super::share::ShareSpec;
use crate::RunOptions;
use crate::at::{At, Entries};
use crate::quantity::{Bytes, Duration, Fixed};
use crate::run_options::with_run_options;

with_run_options! {
/// An experiment: the product of places and partitions of one stack, in blocks.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExperimentSpec {
    /// Name of the experiment; results are filed under it.
    pub name: At<String>,
    /// Name of a shipped stack, or the path of a stack file relative to this file.
    pub stack: At<String>,
    /// Places; the first is the reference. May be left out with `ablation` or `deployments`.
    #[serde(default)]
    pub places: Vec<At<String>>,
    /// Names of presets or paths of tables relative to this file. May be left out with `deployments`.
    #[serde(default)]
    pub partitions: Vec<At<String>>,
    /// Number of blocks; 6 where left out, the least that can give a verdict. With `pilot` the most there may be, 60
    /// where left out.
    #[serde(default)]
    pub blocks: Option<At<u32>>,
    /// Whether the spread of the first 10 blocks, which count, fixes the number of all, once.
    #[serde(default)]
    pub pilot: bool,
    /// Whether the stack's assumed parameters are varied over their ranges from block to block, and the ranking of the
    /// partitions is held against that.
    #[serde(default)]
    pub sensitivity: bool,
    /// Time after which no further block begins.
    #[serde(default)]
    pub budget: Option<At<Fixed<Duration>>>,
    /// Smallest differences that matter, by metric, as a share of the reference (of a share: as a difference); 2 % of each
    /// that is left out.
    #[serde(default)]
    pub delta: Entries<At<ShareSpec>>,
    /// Seed of every random choice; 1 where left out.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Time between readiness and arming; 2s where left out.
    #[serde(default)]
    pub warm_up: Option<At<Fixed<Duration>>>,
    /// Length of the measurement. Where left out 10s, with `replay` as long as the bag and a second.
    #[serde(default)]
    pub window: Option<At<Fixed<Duration>>>,
    /// Share of the machine's CPUs that callback work is scaled to; not scaled where left out.
    #[serde(default)]
    pub utilisation: Option<At<f64>>,
    /// Profile of the DDS configuration; `stowplan` where left out.
    #[serde(default)]
    pub dds: DdsProfileSpec,
    /// Timer phases; re-based where left out.
    #[serde(default)]
    pub phase: PhaseSpec,
    /// What starts the processes of services; each of several makes deployments of its own, of which the first is the
    /// reference. `ros2` where left out.
    #[serde(default)]
    pub launch: Vec<LaunchingSpec>,
    /// State of the page cache at start; left as it is where left out.
    #[serde(default)]
    pub start: Option<StartSpec>,
    /// Limits by service name, in every deployment.
    #[serde(default)]
    pub limits: Entries<LimitsSpec>,
    /// Several allocations by name, each with limits by service name: every place and partition is deployed with each of them,
    /// and the first is the reference. Not with `limits`.
    #[serde(default)]
    pub resources: Entries<Entries<LimitsSpec>>,
    /// Deployments one by one, instead of the product of places, partitions and resources.
    #[serde(default)]
    pub deployments: Vec<At<DeploymentSpec>>,
    /// Isolation features, where the engine can switch them; what is left out is the default set.
    #[serde(default)]
    pub isolation: IsolationSpec,
    /// Whether to add bare:flat, bare:grouped and oci with these features one at a time, on the one partition, and
    /// attribute the difference to each.
    #[serde(default)]
    pub ablation: Option<At<bool>>,
    /// Most services that an engine is asked to create or start at once; all where left out.
    #[serde(default)]
    pub parallelism: Option<NonZeroU32>,
}
}

/// Where the configuration of CycloneDDS is from; what a profile does not set is CycloneDDS's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DdsProfileSpec {
    /// For hundreds of participants on few cores.
    #[default]
    Stowplan,
    /// As in Autoware's documentation.
    Autoware,
    /// As ROS 2 Humble has it.
    RmwHumble,
    /// As ROS 2 Jazzy has it: at most 33 participants.
    RmwJazzy,
}

/// What becomes of timer phases when the measurement begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PhaseSpec {
    /// Drawn for each block, equal in all deployments.
    #[default]
    ReBased,
    /// As nodes happened to start, as in ROS 2.
    Natural,
}

/// What starts the processes of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchingSpec {
    /// `ros2 launch`, as the stack models it.
    Ros2,
    /// A plain supervisor, which costs nothing.
    Native,
}

/// State of the page cache at start.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StartSpec {
    /// A page cache proven cold.
    Cold,
    /// The third start in a row.
    ReRun,
}

/// One deployment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeploymentSpec {
    /// Place.
    pub place: At<String>,
    /// Name of a preset or path of a table relative to this file.
    pub partition: At<String>,
    /// Name of one of `resources`; no limits but those of `limits` where left out.
    #[serde(default)]
    pub resources: Option<At<String>>,
}

/// Resource limits of one service.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsSpec {
    /// CPU numbers.
    pub cpuset: Option<Vec<At<u32>>>,
    /// CPU weight, 1 to 10000 with 100 as default.
    pub cpu_weight: Option<At<u32>>,
    /// CPU quota in CPUs.
    pub cpu_quota: Option<At<f64>>,
    /// Memory limit.
    pub memory: Option<At<Fixed<Bytes>>>,
    /// Scheduling class of every thread.
    pub scheduling: Option<At<SchedulingSpec>>,
}

/// Linux scheduling class.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SchedulingSpec {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_FIFO` with a priority from 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority from 1 to 99.
    RoundRobin(u8),
}

/// Isolation features; left out means as in the default set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct IsolationSpec {
    /// Mount namespace.
    pub mount: Option<bool>,
    /// PID namespace.
    pub pid: Option<bool>,
    /// IPC namespace.
    pub ipc: Option<bool>,
    /// UTS namespace.
    pub uts: Option<bool>,
    /// Network namespace.
    pub net: Option<bool>,
    /// User namespace.
    pub user: Option<bool>,
    /// A cgroup of its own.
    pub cgroup: Option<bool>,
    /// Root mounted read-only.
    pub read_only_root: Option<bool>,
    /// Root as an overlay of image layers.
    pub overlay: Option<bool>,
    /// The default seccomp profile.
    pub seccomp: Option<bool>,
    /// Capabilities reduced to the container default.
    pub capabilities: Option<bool>,
}
