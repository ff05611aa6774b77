//! What a scenario file says: services that are started and stopped on demand while the rest runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a service that is not needed waits until it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
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

impl Strategy {
    /// All of them, the one that costs least while it waits first.
    pub const ALL: [Self; 5] = [
        Self::Cold,
        Self::Created,
        Self::Paused,
        Self::Frozen,
        Self::AlwaysOn,
    ];

    /// Name in files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Created => "created",
            Self::Paused => "paused",
            Self::Frozen => "frozen",
            Self::AlwaysOn => "always-on",
        }
    }

    /// Whether its processes live while it waits.
    #[must_use]
    pub const fn lives(self) -> bool {
        matches!(self, Self::Paused | Self::Frozen | Self::AlwaysOn)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no strategy '{0}'; strategies are {all}", all = Strategy::ALL.map(Strategy::name).join(", "))]
pub struct NoSuchStrategy(pub String);

impl FromStr for Strategy {
    type Err = NoSuchStrategy;

    fn from_str(text: &str) -> Result<Self, NoSuchStrategy> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|one| one.name() == text);
        found.ok_or_else(|| NoSuchStrategy(text.to_owned()))
    }
}

/// What happens at one instant of a scenario: first services are started, then others are stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When, in ns since the timeline began.
    pub at_ns: u64,
    /// What the vehicle does then.
    pub event: String,
    /// Services that are needed from now on.
    pub start: Vec<String>,
    /// Services that are not needed any more.
    pub stop: Vec<String>,
}

/// Services of a stack that are started and stopped on demand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name; results are filed under it.
    pub name: String,
    /// What it shows.
    pub description: String,
    /// Name of a shipped stack, or the path of a stack file relative to the scenario file.
    pub stack: String,
    /// Name of a preset, or path of a table relative to the scenario file.
    pub partition: String,
    /// Places; empty where the file does not say.
    pub places: Vec<String>,
    /// Share of the machine's CPUs that callback work is scaled to; `None` does not scale.
    pub utilisation: Option<f64>,
    /// How services wait, one after the other.
    pub strategies: Vec<Strategy>,
    /// So long before each start, from it on, and after it the latency of the chains is looked at, ns.
    pub window_ns: u64,
    /// When the timeline ends, ns.
    pub length_ns: u64,
    /// Deadlines of the services on demand: from their start until they are ready, ns.
    pub deadlines: BTreeMap<String, u64>,
    /// What happens, in order of time.
    pub timeline: Vec<Step>,
}

impl Scenario {
    /// The services that the timeline starts or stops.
    #[must_use]
    pub fn on_demand(&self) -> BTreeSet<&str> {
        let steps = self.timeline.iter();
        let all = steps.flat_map(|step| step.start.iter().chain(&step.stop));
        all.map(String::as_str).collect()
    }

    /// Those that run when the timeline begins: what it does with them first is to stop them.
    #[must_use]
    pub fn running_first(&self) -> BTreeSet<&str> {
        let mut all = self.on_demand();
        all.retain(|service| {
            let is_in = |services: &[String]| services.iter().any(|one| one == service);
            let mut steps = self.timeline.iter();
            let first = steps.find(|step| is_in(&step.start) || is_in(&step.stop));
            first.is_some_and(|step| !is_in(&step.start))
        });
        all
    }

    /// Those that wait when the timeline begins.
    #[must_use]
    pub fn waiting_first(&self) -> BTreeSet<&str> {
        let running = self.running_first();
        let mut all = self.on_demand();
        all.retain(|service| !running.contains(service));
        all
    }
}
