//! The scenario file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::{At, Entries};
use crate::quantity::{Duration, Fixed};

/// A scenario: services of one stack that are started and stopped on demand, while the rest of it runs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioSpec {
    /// Name of the scenario; results are filed under it.
    pub name: At<String>,
    /// What it shows.
    #[serde(default)]
    pub description: String,
    /// Name of a shipped stack, or the path of a stack file relative to this file.
    pub stack: At<String>,
    /// Name of a preset or path of a table relative to this file; `modules` where left out.
    #[serde(default)]
    pub partition: Option<At<String>>,
    /// Places; the first is the reference. `bare:flat`, `bare:grouped` and `oci` where left out.
    #[serde(default)]
    pub places: Vec<At<String>>,
    /// Share of the machine's CPUs that callback work is scaled to; not scaled where left out.
    #[serde(default)]
    pub utilisation: Option<At<f64>>,
    /// How services wait that are not needed; all ways where left out.
    #[serde(default)]
    pub strategies: Vec<At<StrategySpec>>,
    /// The latency of chains is looked at for so long before each start, from it on, and after it; 1s where left out.
    #[serde(default)]
    pub window: Option<At<Fixed<Duration>>>,
    /// When the timeline ends.
    pub length: At<Fixed<Duration>>,
    /// Services that the timeline starts.
    pub services: Entries<OnDemandSpec>,
    /// What happens, in order of time. A service that is stopped first runs from the beginning.
    pub timeline: Vec<At<StepSpec>>,
}

/// How a service waits that is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StrategySpec {
    /// Not at all: it is created and started when it is needed.
    Cold,
    /// The engine has created it; its program does not run.
    Created,
    /// It runs, and the engine has paused it.
    Paused,
    /// It runs, and the kernel has frozen its control group, without its engine.
    Frozen,
    /// It runs all the time.
    AlwaysOn,
}

/// A service that is started on demand.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnDemandSpec {
    /// Longest time from its start until it is ready.
    pub deadline: At<Fixed<Duration>>,
}

/// What happens at one instant.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepSpec {
    /// When, since the timeline began.
    pub at: At<Fixed<Duration>>,
    /// What the vehicle does then.
    pub event: At<String>,
    /// Services that are needed from now on.
    #[serde(default)]
    pub start: Vec<At<String>>,
    /// Services that are not needed any more; they are stopped when what this step starts has been asked to start.
    #[serde(default)]
    pub stop: Vec<At<String>>,
}
