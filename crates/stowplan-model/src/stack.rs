//! A vehicle stack: nodes, topics, processes, chains, launch. Independent of where it runs.

use std::fmt;

use crate::background::Background;
use crate::distribution::Distribution;
use crate::executor_cost::ExecutorCost;
use crate::frames::Frames;
use crate::names::Name;

/// What the vehicle runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    /// Name of the stack.
    pub name: Name,
    /// What is published fact and what is assumption.
    pub description: String,
    /// Whether nodes have the parameter `use_sim_time` set, and so subscribe to `/clock`.
    pub use_sim_time: bool,
    /// Nanoseconds that an iteration of the work kernel takes where the work was counted; `None` where that is not known.
    pub ns_per_iteration: Option<f64>,
    /// Cost of `ros2 launch`, once per service.
    pub launch: Launch,
    /// What waiting costs all its executors beside their own cost.
    pub executor_cost: ExecutorCost,
    /// Topics by name.
    pub topics: Vec<Topic>,
    /// Processes by name.
    pub processes: Vec<Process>,
    /// Nodes in launch order.
    pub nodes: Vec<Node>,
    /// Cause-effect chains to measure.
    pub chains: Vec<Chain>,
    /// Real programs that run beside the modelled nodes.
    pub services: Vec<RealService>,
}

/// What `ros2 launch` costs in each service (docs/measuring.md §1).
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Kernel iterations of interpreter start and evaluation of the launch file.
    pub start_iterations: u64,
    /// Kernel iterations for each entity that the launch file names.
    pub entity_iterations: u64,
    /// Bytes of files that the interpreter maps and touches.
    pub read_bytes: u64,
    /// Private memory in bytes that the launcher keeps.
    pub memory_bytes: u64,
}

/// A topic and its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// ROS name with its leading slash, as `/sensing/lidar/points`.
    pub name: String,
    /// Size of the payload's filler in bytes.
    pub bytes: Distribution,
    /// Quality of service of all its endpoints.
    pub qos: Qos,
    /// Whether endpoints in one process hand messages over by pointer.
    pub intra_process: bool,
    /// Work of serialising a message for DDS; `None` is none.
    pub serialisation: Option<Serialisation>,
    /// How real programs know it; `None` is ROS 2's name and the payload of modelled messages.
    pub dds: Option<DdsTopic>,
    /// What its messages are images of; `None` is filler.
    pub frames: Option<Frames>,
}

/// Counted work of serialising a message (docs/measuring.md §1): on the publishing thread, once for each message that
/// leaves its process by DDS, whatever the number of its subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serialisation {
    /// Kernel iterations for each message.
    pub message_iterations: u64,
    /// Kernel iterations for each KiB (1024 bytes) of the payload's filler.
    pub kib_iterations: u64,
}

impl Serialisation {
    /// Kernel iterations for a message of so many bytes; exact for means too, as it is linear.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "iterations are far below 2^53")]
    pub fn iterations(&self, bytes: f64) -> f64 {
        self.message_iterations as f64 + self.kib_iterations as f64 * bytes / 1024.0
    }
}

/// A topic as real programs know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DdsTopic {
    /// DDS topic name.
    pub name: String,
    /// DDS type name, which decides with the topic name who is matched.
    pub type_name: String,
    /// Partition of its modelled endpoints; `None` is the default partition. A subscription's may have `*`.
    pub partition: Option<String>,
    /// User data of the participants of its modelled endpoints.
    pub user_data: Option<String>,
    /// What modelled publishers send; `None` where they must not: filler is no message of a real type.
    pub sends: Option<DdsContent>,
}

/// Messages of a real type that a modelled publisher can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DdsContent {
    /// One `unsigned long`, the number of the message.
    Sequence,
}

/// DDS reliability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// Lost messages stay lost.
    BestEffort,
    /// Lost messages are sent again.
    Reliable,
}

/// Quality of service, keep-last history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qos {
    /// Reliability.
    pub reliability: Reliability,
    /// History depth in messages.
    pub depth: u32,
    /// Whether late subscribers get the last messages (DDS transient local).
    pub transient_local: bool,
}

/// Which ROS 2 distribution's implicit endpoints a process has (docs/measuring.md §1, endpoints).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// No implicit endpoints: results are marked.
    Minimal,
    /// ROS 2 Galactic.
    Galactic,
    /// ROS 2 Humble.
    Humble,
    /// ROS 2 Jazzy.
    Jazzy,
}

/// The executor of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// One thread for all callbacks.
    Single,
    /// Several threads over one ready set.
    Multi {
        /// Number of threads.
        threads: u32,
    },
    /// One thread, entities collected once.
    Static,
    /// One single-threaded executor per node.
    Isolated,
}

/// A process of the stack. A partition that cuts it makes one per service.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Name of the process.
    pub name: Name,
    /// Its executor.
    pub executor: Executor,
    /// Implicit endpoints.
    pub profile: Profile,
    /// Whether nodes are loaded one after another into a component container. A node with the container's name is
    /// its own: it is there from the start and has the services that load the others.
    pub component_container: bool,
}

impl Process {
    /// Whether a node of this process is the component container's own.
    #[must_use]
    pub fn is_own_node(&self, node: &Node) -> bool {
        self.component_container && node.process == self.name && node.name == self.name
    }
}

/// A group of files that a node maps at start.
#[derive(Debug, Clone, PartialEq)]
pub struct Library {
    /// Name of the group; groups of one name are the same files.
    pub name: Name,
    /// Size in bytes.
    pub bytes: u64,
    /// Share of its pages that are touched, 0 to 1.
    pub touched: f64,
    /// Bytes of the touched pages that the dynamic loader would write to, and which each process then has for itself.
    pub relocated_bytes: u64,
}

/// What a node costs at start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeStartUp {
    /// Files mapped and touched.
    pub libs: Vec<Library>,
    /// Kernel iterations of its constructor.
    pub iterations: u64,
    /// Private memory in bytes that it keeps.
    pub memory_bytes: u64,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Name, unique in the stack.
    pub name: Name,
    /// Functional module.
    pub module: Name,
    /// Function inside the module.
    pub function: Option<Name>,
    /// Whether a source attributes the node to its module, or this file does.
    pub attributed: bool,
    /// The process it lives in.
    pub process: Name,
    /// Which endpoints it has without being asked for them.
    pub options: NodeOptions,
    /// Callbacks in registration order.
    pub callbacks: Vec<Callback>,
    /// Endpoints that carry nothing.
    pub silent: SilentEndpoints,
    /// Names of callback groups that run several callbacks at once; all others are exclusive.
    pub reentrant_groups: Vec<Name>,
    /// Start-up cost.
    pub start_up: NodeStartUp,
    /// Nodes of the same service that must be loaded before this one.
    pub depends_on: Vec<Name>,
    /// Threads that only keep CPUs busy, beside its callbacks.
    pub background: Option<Background>,
}

/// Which endpoints rclcpp or rclpy gives a node without being asked, where its process's profile has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// rclcpp `NodeOptions::start_parameter_services`: the six parameter services.
    pub parameter_services: bool,
    /// rclcpp `NodeOptions::start_parameter_event_publisher`: the publisher on `/parameter_events`.
    pub parameter_event_publisher: bool,
    /// rclcpp `NodeOptions::enable_rosout`: the publisher on `/rosout`.
    pub rosout: bool,
    /// The subscription to `/parameter_events` of rclcpp's time source, which rclpy does not have.
    pub parameter_event_subscription: bool,
    /// Parameter `start_type_description_service`: the service `get_type_description`, since Iron.
    pub type_description_service: bool,
}

impl Default for NodeOptions {
    /// Those of `rclcpp::Node`.
    fn default() -> Self {
        Self {
            parameter_services: true,
            parameter_event_publisher: true,
            rosout: true,
            parameter_event_subscription: true,
            type_description_service: true,
        }
    }
}

impl NodeOptions {
    /// Those of a component container's own node (`rclcpp_components::ComponentManager`).
    #[must_use]
    pub fn of_container() -> Self {
        Self {
            parameter_services: false,
            parameter_event_publisher: false,
            ..Self::default()
        }
    }
}

/// Endpoints of a node that exist and carry nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SilentEndpoints {
    /// Topics of publishers that send nothing, each beside the publishers of callbacks.
    pub publishers: Vec<String>,
    /// Topics of subscriptions that drop what comes.
    pub subscriptions: Vec<String>,
    /// ROS names of services that nobody calls.
    pub services: Vec<String>,
    /// ROS names of services that it has a client of and does not call.
    pub clients: Vec<String>,
}

/// What starts a callback.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// A timer.
    Timer {
        /// Period in nanoseconds.
        period_ns: u64,
        /// Jitter of each release in nanoseconds, drawn per release.
        jitter_ns: Distribution,
        /// Relative rate error of its clock, for example 0.0001.
        rate_error: f64,
    },
    /// A message on a topic.
    Subscription {
        /// Name of the topic.
        topic: String,
    },
}

/// Counted work of a callback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Iterations of the work kernel.
    pub iterations: Distribution,
    /// Working set in bytes that the iterations walk over.
    pub working_set_bytes: u64,
}

/// A callback of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// Name, unique in the node.
    pub name: Name,
    /// What starts it.
    pub trigger: Trigger,
    /// Callback group; callbacks without one share the node's default group.
    pub group: Option<Name>,
    /// Its work.
    pub work: Work,
    /// Topics it publishes on at its end, in order.
    pub publishes: Vec<String>,
    /// Callbacks of the same node whose last data this one uses; the output's origin is theirs.
    pub uses: Vec<Name>,
}

/// A callback of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallbackRef {
    /// Node name.
    pub node: Name,
    /// Callback name in the node.
    pub callback: Name,
}

impl CallbackRef {
    /// Whether it means this callback of this node.
    #[must_use]
    pub fn is(&self, node: &Name, callback: &Name) -> bool {
        self.node == *node && self.callback == *callback
    }
}

impl fmt::Display for CallbackRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.callback)
    }
}

/// A cause-effect chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Name.
    pub name: Name,
    /// The ordered callbacks, first to last.
    pub callbacks: Vec<CallbackRef>,
    /// Deadline in nanoseconds, of the reaction to an input from its release by the sensor. Misses are counted; nothing is cut at it.
    pub deadline_ns: Option<u64>,
}

/// How a real program tells that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It is ready when it runs.
    Started,
    /// A line of its output contains this text.
    LogLine(String),
    /// This file exists, as the program sees it.
    File(String),
    /// This TCP port on loopback accepts a connection.
    Port(u16),
    /// It exits with status 0.
    Exit,
    /// A modelled endpoint on this topic is matched.
    TopicMatched(String),
}

/// A service that is a real program.
#[derive(Debug, Clone, PartialEq)]
pub struct RealService {
    /// Service name.
    pub name: Name,
    /// Folder with a root file system for engines that isolate mounts; `None` means the host's.
    pub rootfs: Option<String>,
    /// OCI image on disk that has its root file system: a folder or an archive in the OCI image layout.
    pub image: Option<String>,
    /// Program and arguments, never passed through a shell; empty for those of the image.
    pub command: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Files and folders of the host at places of their own.
    pub mounts: Vec<RealMount>,
    /// Devices of the host, as absolute paths, or by names of the Container Device Interface ([`is_cdi_name`]).
    pub devices: Vec<String>,
    /// `USER[:GROUP]`, names or numbers of its root file system; `None` is that of the image or of the engine.
    pub user: Option<String>,
    /// Folder that it starts in; `None` is that of the image or `/`.
    pub working_dir: Option<String>,
    /// Topics that it publishes on, once each: modelled subscriptions wait until they are matched with it.
    pub publishes: Vec<String>,
    /// Topics that it subscribes to, once each: modelled publishers wait until they are matched with it.
    pub subscribes: Vec<String>,
    /// DDS participants that it makes.
    pub participants: u32,
    /// Whether its ROS 2 events are recorded through LTTng.
    pub trace: bool,
    /// What tells that it is ready.
    pub ready: Ready,
    /// How long to wait for that, in nanoseconds.
    pub ready_timeout_ns: u64,
}

/// Whether a device is named as the Container Device Interface does it (CDI 1.0,
/// <https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md>, "Kind" and "Device name"):
/// `VENDOR/CLASS=NAME`, as `nvidia.com/gpu=0`.
#[must_use]
pub fn is_cdi_name(device: &str) -> bool {
    let parts = device
        .split_once('=')
        .and_then(|(kind, name)| Some((kind.split_once('/')?, name)));
    parts.is_some_and(|((vendor, class), name)| {
        let is_part = |part: &str| !part.is_empty() && !part.contains(['/', '=', ' ']);
        is_part(vendor) && is_part(class) && is_part(name)
    })
}

/// A file or folder of the host that a real program sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealMount {
    /// Absolute path on the host.
    pub from: String,
    /// Absolute path that the program sees.
    pub to: String,
    /// Whether the program may only read it.
    pub read_only: bool,
}

impl Stack {
    /// The node named `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name.as_str() == name)
    }

    /// The topic named `name`.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.iter().find(|t| t.name == name)
    }

    /// The callback that `at` means.
    #[must_use]
    pub fn callback(&self, at: &CallbackRef) -> Option<&Callback> {
        self.node(at.node.as_str())?.callback(at.callback.as_str())
    }

    /// The process named `name`.
    #[must_use]
    pub fn process(&self, name: &str) -> Option<&Process> {
        self.processes.iter().find(|p| p.name.as_str() == name)
    }

    /// Module names in the order in which nodes first name them.
    #[must_use]
    pub fn modules(&self) -> Vec<&Name> {
        let mut seen: Vec<&Name> = Vec::new();
        for node in &self.nodes {
            if !seen.contains(&&node.module) {
                seen.push(&node.module);
            }
        }
        seen
    }
}

impl Node {
    /// Topics that its callbacks publish on, each once and in the order in which they name them: a node has one
    /// publisher for each, which its callbacks share.
    #[must_use]
    pub fn published(&self) -> Vec<&str> {
        let mut topics: Vec<&str> = Vec::new();
        for topic in self.callbacks.iter().flat_map(|c| &c.publishes) {
            if !topics.contains(&topic.as_str()) {
                topics.push(topic);
            }
        }
        topics
    }

    /// Topics of all its publishers: those of its callbacks, then the silent ones.
    #[must_use]
    pub fn publishers(&self) -> Vec<&str> {
        let mut topics = self.published();
        topics.extend(self.silent.publishers.iter().map(String::as_str));
        topics
    }

    /// Topics of all its subscriptions: those of its callbacks, then the silent ones.
    pub fn subscriptions(&self) -> impl Iterator<Item = &str> {
        let of_callbacks = self.callbacks.iter().filter_map(|c| match &c.trigger {
            Trigger::Subscription { topic } => Some(topic.as_str()),
            Trigger::Timer { .. } => None,
        });
        of_callbacks.chain(self.silent.subscriptions.iter().map(String::as_str))
    }

    /// The callback named `name`.
    #[must_use]
    pub fn callback(&self, name: &str) -> Option<&Callback> {
        self.callbacks.iter().find(|c| c.name.as_str() == name)
    }
}
