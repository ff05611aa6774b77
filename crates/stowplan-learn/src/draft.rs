//! A stack file before it is written: its elements in the order of the file.

use stowplan_model::{Executor, NodeOptions, Profile, SilentEndpoints};

use crate::error::ImportError;

/// A whole number that is known, or assumed with its range and reason. The unit is that of its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The value; the mean where it is spread.
    pub value: u64,
    /// How it is spread; `None` is always the same.
    pub spread: Option<LogNormal>,
    /// Least and greatest plausible value and why; `None` where the value is known.
    pub assumed: Option<(u64, u64, String)>,
}

/// A log-normal distribution, cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    /// Median.
    pub median: u64,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
    /// Greatest value.
    pub max: u64,
}

impl LogNormal {
    /// Standard deviations between the tenth percentile of a normal distribution and its median.
    const P10_SIGMAS: f64 = 1.281_551_565_545;
    /// And between its median and the 99.9th percentile.
    const P999_SIGMAS: f64 = 3.090_232_306_168;

    /// The distribution with this tenth percentile and median, cut at its 99.9th percentile and at
    /// `greatest`. `None` if they are not in order or one is zero.
    #[must_use]
    pub fn through(p10: f64, median: f64, greatest: f64) -> Option<Self> {
        if !(p10 > 0.0 && median >= p10 && greatest >= median) {
            return None;
        }
        let sigma = (median / p10).ln() / Self::P10_SIGMAS;
        let cut = (median * (sigma * Self::P999_SIGMAS).exp()).min(greatest);
        Some(Self {
            median: median.round() as u64,
            sigma,
            max: cut.ceil() as u64,
        })
    }

    fn mean(&self) -> f64 {
        (self.median as f64 * (self.sigma * self.sigma / 2.0).exp()).min(self.max as f64)
    }
}

impl Figure {
    /// Its median.
    #[must_use]
    pub fn median(&self) -> u64 {
        self.spread.map_or(self.value, |spread| spread.median)
    }

    /// A value that is known.
    #[must_use]
    pub fn known(value: u64) -> Self {
        Self {
            value,
            spread: None,
            assumed: None,
        }
    }

    /// A value that is assumed; the range is widened to hold it.
    #[must_use]
    pub fn assumed(value: u64, low: u64, high: u64, because: impl Into<String>) -> Self {
        Self {
            value,
            spread: None,
            assumed: Some((low.min(value), high.max(value), because.into())),
        }
    }

    /// A distribution that is assumed; the range is widened to hold its mean.
    #[must_use]
    pub fn spread(spread: LogNormal, low: u64, high: u64, because: impl Into<String>) -> Self {
        let mean = spread.mean();
        // Numbers are written with four digits, and the mean has to stay inside.
        let (below, above) = ((mean * 0.99) as u64, (mean * 1.01).ceil() as u64);
        Self {
            value: mean.round() as u64,
            spread: Some(spread),
            assumed: Some((low.min(below), high.max(above), because.into())),
        }
    }
}

/// A stack file.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Lines of the comment at its head: what is measured and what is assumed.
    pub head: Vec<String>,
    /// Name of the stack.
    pub name: String,
    /// One paragraph.
    pub description: String,
    /// Release whose implicit endpoints nodes have.
    pub profile: Profile,
    /// Nanoseconds that an iteration takes where the work was counted; `None` where the source says no times.
    pub ns_per_iteration: Option<f64>,
    /// What `ros2 launch` costs; `None` where the source does not say.
    pub launch: Option<DraftLaunch>,
    /// Named sizes in bytes.
    pub sizes: Vec<(String, Figure)>,
    /// Named start-up costs: iterations of a node's constructor.
    pub start_ups: Vec<(String, Figure)>,
    /// Quality of service of topics that say none.
    pub qos: DraftQos,
    /// Topics.
    pub topics: Vec<DraftTopic>,
    /// Processes in launch order.
    pub processes: Vec<DraftProcess>,
    /// Modules with their nodes in launch order.
    pub modules: Vec<DraftModule>,
    /// Chains.
    pub chains: Vec<DraftChain>,
}

/// A stack from another project's files, with what it does not have of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The stack.
    pub draft: Draft,
    /// What is not carried over or not understood, each with its place.
    pub warnings: Vec<ImportError>,
}

/// Cost of `ros2 launch`, in iterations of the work kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftLaunch {
    /// Until it starts the first process.
    pub start: Figure,
    /// For each process and component.
    pub entity: Figure,
}

/// Quality of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftQos {
    /// Whether lost messages are sent again.
    pub reliable: bool,
    /// History depth in messages.
    pub depth: u32,
    /// Whether late subscribers get the last messages.
    pub transient_local: bool,
}

/// A topic.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftTopic {
    /// ROS name.
    pub name: String,
    /// Name of a size, or bytes where it begins with a digit.
    pub bytes: String,
    /// Its quality of service; `None` is the stack's.
    pub qos: Option<DraftQos>,
    /// Whether endpoints of one process hand messages over by pointer.
    pub intra_process: bool,
    /// Iterations of serialising a message; `None` is none.
    pub serialisation: Option<Figure>,
    /// What is known of it.
    pub comment: String,
}

impl DraftTopic {
    /// A topic that differs from the stack's others in nothing.
    #[must_use]
    pub fn new(name: &str, bytes: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            bytes: bytes.into(),
            qos: None,
            intra_process: false,
            serialisation: None,
            comment: String::new(),
        }
    }
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftProcess {
    /// Name.
    pub name: String,
    /// Executor.
    pub executor: Executor,
    /// Whether it is a component container.
    pub component_container: bool,
    /// What is known of it.
    pub comment: String,
}

/// A module.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftModule {
    /// Name.
    pub name: String,
    /// Nodes.
    pub nodes: Vec<DraftNode>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftNode {
    /// Name, unique in the stack.
    pub name: String,
    /// Name of its process.
    pub process: String,
    /// Name of a start-up cost.
    pub start_up: Option<String>,
    /// Whether it is its component container's own node.
    pub is_own: bool,
    /// Which endpoints it has unasked.
    pub options: NodeOptions,
    /// Endpoints that carry nothing.
    pub silent: SilentEndpoints,
    /// Callbacks in registration order.
    pub callbacks: Vec<DraftCallback>,
    /// What is known of it.
    pub comment: String,
}

/// What starts a callback.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftTrigger {
    /// A timer with this period in nanoseconds.
    Timer(u64),
    /// A message on this topic.
    Subscription(String),
}

/// A callback.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftCallback {
    /// Name, unique in the node.
    pub name: String,
    /// What starts it.
    pub trigger: DraftTrigger,
    /// Topics that it publishes on at its end.
    pub publishes: Vec<String>,
    /// Callbacks of its node whose last data it uses.
    pub uses: Vec<String>,
    /// Iterations of the work kernel; `None` is no work.
    pub work: Option<Figure>,
    /// What is known of it.
    pub comment: String,
}

/// A chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftChain {
    /// Name.
    pub name: String,
    /// `NODE/CALLBACK` from first to last.
    pub callbacks: Vec<String>,
    /// What is known of it.
    pub comment: String,
}

impl DraftNode {
    /// A node without callbacks in a process of its name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            process: name.to_owned(),
            start_up: None,
            is_own: false,
            options: NodeOptions::default(),
            silent: SilentEndpoints::default(),
            callbacks: Vec::new(),
            comment: String::new(),
        }
    }

    /// Topics of its endpoints, some of them more than once.
    #[must_use]
    pub fn topics(&self) -> Vec<&String> {
        let mut topics = Vec::new();
        for callback in &self.callbacks {
            topics.extend(&callback.publishes);
            if let DraftTrigger::Subscription(topic) = &callback.trigger {
                topics.push(topic);
            }
        }
        topics.extend(&self.silent.publishers);
        topics.extend(&self.silent.subscriptions);
        topics
    }
}

impl Draft {
    /// All nodes, module by module.
    pub fn nodes(&self) -> impl Iterator<Item = &DraftNode> {
        self.modules.iter().flat_map(|module| &module.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_goes_through_its_quantiles() {
        let spread = LogNormal::through(50_000.0, 100_000.0, 1e9).unwrap();
        assert_eq!(spread.median, 100_000);
        let p10 = 100_000.0 * (-LogNormal::P10_SIGMAS * spread.sigma).exp();
        assert!((p10 - 50_000.0).abs() < 1.0);
        assert_eq!(
            LogNormal::through(50_000.0, 100_000.0, 150_000.0)
                .unwrap()
                .max,
            150_000
        );
        assert_eq!(LogNormal::through(0.0, 1.0, 2.0), None);
        assert_eq!(LogNormal::through(3.0, 1.0, 2.0), None);
    }

    #[test]
    fn ranges_hold_their_value() {
        assert_eq!(Figure::assumed(5, 6, 7, "").assumed.unwrap().0, 5);
        let spread = LogNormal::through(10.0, 1000.0, 1e9).unwrap();
        let figure = Figure::spread(spread, 10, 20, "");
        let (low, high, _) = figure.assumed.unwrap();
        assert!(low < figure.value && figure.value < high);
    }
}
