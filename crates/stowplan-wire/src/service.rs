//! What the node programs of one service do: the file `plan.json` in the service's run folder.

use serde::{Deserialize, Serialize};

/// Everything the node programs of one service need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicePlan {
    /// Build id of the writer; a node program of another build refuses to run.
    pub build_id: String,
    /// Identity of the run.
    pub run: String,
    /// Service name.
    pub service: String,
    /// DDS domain of the run.
    pub domain: u32,
    /// Seed of the block: equal in all deployments of the block.
    pub seed: u64,
    /// Whether events are recorded.
    pub record: bool,
    /// Whether the thread CPU time of each callback is recorded (one more clock read at start and end).
    pub record_callback_cpu: bool,
    /// Cost of `ros2 launch`; `None` where a plain supervisor starts the processes, which costs nothing and is no DDS
    /// participant.
    pub launch: Option<LaunchPlan>,
    /// Topics, referred to by index.
    pub topics: Vec<TopicPlan>,
    /// Processes in starting order.
    pub processes: Vec<ProcessPlan>,
    /// What sources replay. The agent writes each into a file beside the plan, which then has none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<RecordingPlan>,
    /// Whether its first process answers health checks, at [`ALIVE_SOCKET`] in the service's run folder.
    #[serde(default)]
    pub answers: bool,
}

/// The socket at which the first process of a service answers health checks.
pub const ALIVE_SOCKET: &str = "alive.sock";

/// What has not answered a ping or a health check for so long hangs, in ms.
pub const ANSWERED_WITHIN_MS: u64 = 300;

/// What one source replays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingPlan {
    /// Name of its file in the service's run folder.
    pub file: String,
    /// When each message is due, ns since arming, and its size in bytes.
    pub messages: Vec<(u64, u64)>,
}

impl RecordingPlan {
    /// The file: for each message both numbers, little-endian.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let messages = self.messages.iter();
        let numbers = messages.flat_map(|&(due_ns, bytes)| [due_ns, bytes]);
        numbers.flat_map(u64::to_le_bytes).collect()
    }
}

/// What the launcher does before it starts processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchPlan {
    /// Kernel iterations of interpreter start and evaluation.
    pub start_iterations: u64,
    /// Kernel iterations for each entity (process or component) launched.
    pub entity_iterations: u64,
    /// Files read.
    pub files: Vec<FileUse>,
    /// Private memory kept, in bytes.
    pub memory_bytes: u64,
}

/// A file that is mapped privately and touched at start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileUse {
    /// Path below the folder given by `--files`.
    pub path: String,
    /// Share of its pages that are touched, 0 to 1.
    pub touched: f64,
    /// Bytes of the touched pages that are written to, which makes them private.
    pub relocated_bytes: u64,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicPlan {
    /// ROS name with its leading slash.
    pub name: String,
    /// Size of the payload's filler in bytes.
    pub bytes: DistributionPlan,
    /// Largest message that is replayed on it, bytes; 0 where none is.
    #[serde(default)]
    pub largest_replayed: u64,
    /// DDS reliable instead of best effort.
    pub reliable: bool,
    /// DDS transient local instead of volatile.
    pub transient_local: bool,
    /// History depth (keep last).
    pub depth: u32,
    /// Whether endpoints of one process hand over by pointer.
    pub intra_process: bool,
    /// Work of serialising a message for DDS; `None` is none.
    pub serialisation: Option<SerialisationPlan>,
    /// How real programs know it; `None` is ROS 2's name and our payload.
    pub dds: Option<DdsTopicPlan>,
    /// Its messages are images; `None` is filler.
    pub frames: Option<FramesPlan>,
}

/// Images with tags, see `stowplan_model::Frames`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramesPlan {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tags in each image.
    pub tags: u32,
    /// Columns of the grid with a field for each tag.
    pub columns: u32,
    /// Its rows.
    pub rows: u32,
}

/// Counted work of serialising a message, on the publishing thread before DDS gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SerialisationPlan {
    /// Kernel iterations for each message.
    pub message_iterations: u64,
    /// Kernel iterations for each KiB (1024 bytes) of filler.
    pub kib_iterations: u64,
}

impl SerialisationPlan {
    /// Kernel iterations for a message with so many bytes of filler, rounded down.
    #[must_use]
    pub fn iterations(&self, bytes: u64) -> u64 {
        let of_bytes = u128::from(self.kib_iterations) * u128::from(bytes) / 1024;
        self.message_iterations
            .saturating_add(u64::try_from(of_bytes).unwrap_or(u64::MAX))
    }
}

/// A topic as real programs know it. A message that is published on it is its number as one `unsigned long`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DdsTopicPlan {
    /// DDS topic name.
    pub name: String,
    /// DDS type name.
    pub type_name: String,
    /// Partition of its endpoints; `None` is the default partition.
    pub partition: Option<String>,
    /// User data of the participant of a process with an endpoint on it.
    pub user_data: Option<String>,
}

/// A distribution, see `stowplan_model::Distribution`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DistributionPlan {
    /// Always the same.
    Constant(f64),
    /// Uniform over `[low, high]`.
    Uniform {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Log-normal, cut at `max`.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Greatest value.
        max: f64,
    },
}

/// The executor of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ExecutorPlan {
    /// One thread.
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

/// Counted work of a thread before each wait, beside what the executor costs by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorCostPlan {
    /// Kernel iterations for each wait.
    pub wait_iterations: u64,
    /// Kernel iterations for each entity that is waited for.
    pub entity_iterations: u64,
}

impl ExecutorCostPlan {
    /// Kernel iterations before a wait for so many entities.
    #[must_use]
    pub fn iterations(&self, entities: usize) -> u64 {
        let entities = u64::try_from(entities).unwrap_or(u64::MAX);
        self.wait_iterations
            .saturating_add(self.entity_iterations.saturating_mul(entities))
    }
}

/// Implicit endpoints of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfilePlan {
    /// None.
    Minimal,
    /// As rclcpp of ROS 2 Galactic.
    Galactic,
    /// As rclcpp of ROS 2 Humble.
    Humble,
    /// As rclcpp of ROS 2 Jazzy.
    Jazzy,
}

/// One process of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessPlan {
    /// Name, unique in the service.
    pub name: String,
    /// Executor.
    pub executor: ExecutorPlan,
    /// What its waits cost beside.
    pub executor_cost: ExecutorCostPlan,
    /// Implicit endpoints.
    pub profile: ProfilePlan,
    /// Whether its nodes have the parameter `use_sim_time` set.
    pub use_sim_time: bool,
    /// Whether the launcher loads its nodes one after another.
    pub component_container: bool,
    /// Nodes in loading order.
    pub nodes: Vec<NodePlan>,
}

impl ProcessPlan {
    /// Position of the component container's own node: the one with the container's name.
    #[must_use]
    pub fn own_node(&self) -> Option<usize> {
        let mut nodes = self.nodes.iter();
        nodes.position(|node| self.is_own_node(node))
    }

    /// Whether a node is the component container's own.
    #[must_use]
    pub fn is_own_node(&self, node: &NodePlan) -> bool {
        self.component_container && node.name == self.name
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePlan {
    /// Name.
    pub name: String,
    /// Module it belongs to.
    pub module: String,
    /// Files mapped and touched by its constructor.
    pub files: Vec<FileUse>,
    /// Kernel iterations of its constructor.
    pub start_iterations: u64,
    /// Private memory kept, in bytes.
    pub memory_bytes: u64,
    /// Which endpoints it has without being asked for them.
    pub options: NodeOptionsPlan,
    /// Callbacks in registration order.
    pub callbacks: Vec<CallbackPlan>,
    /// Endpoints that carry nothing.
    pub silent: SilentPlan,
    /// Callback groups that are reentrant; all others, and the default group, are exclusive.
    pub reentrant_groups: Vec<String>,
    /// Nodes of this service loaded before this one.
    pub depends_on: Vec<String>,
    /// Threads that work without a pause from the start of their process to the end of the window, beside the callbacks.
    pub background_threads: u32,
}

/// Endpoints that a node has without being asked for them, see `stowplan_model::NodeOptions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeOptionsPlan {
    /// The six parameter services.
    pub parameter_services: bool,
    /// The publisher on `/parameter_events`.
    pub parameter_event_publisher: bool,
    /// The publisher on `/rosout`.
    pub rosout: bool,
    /// The subscription to `/parameter_events`.
    pub parameter_event_subscription: bool,
    /// The service `get_type_description`, where the profile has it.
    pub type_description_service: bool,
}

impl Default for NodeOptionsPlan {
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

/// Endpoints of a node that carry nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SilentPlan {
    /// Publishers.
    pub publishers: Vec<PublisherPlan>,
    /// Subscriptions that drop what comes.
    pub subscriptions: Vec<SilentSubscriptionPlan>,
    /// ROS names of services.
    pub services: Vec<String>,
    /// ROS names of services that it is a client of.
    pub clients: Vec<String>,
}

/// A subscription without a callback of the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SilentSubscriptionPlan {
    /// Index into [`ServicePlan::topics`].
    pub topic: u32,
    /// Publishers that must be matched over DDS.
    pub expected_publishers: u32,
}

/// One callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackPlan {
    /// Number of the callback in the stack, equal in every deployment; it seeds the callback's draws.
    pub id: u32,
    /// Name, unique in the node.
    pub name: String,
    /// Callback group; `None` is the node's default group.
    pub group: Option<String>,
    /// What starts it.
    pub trigger: TriggerPlan,
    /// Kernel iterations of each call.
    pub iterations: DistributionPlan,
    /// Working set in bytes.
    pub working_set_bytes: u64,
    /// What it publishes at its end, in order.
    pub publishes: Vec<PublisherPlan>,
    /// Ids of callbacks of this node whose last data this one uses.
    pub uses: Vec<u32>,
    /// Chains of the stack that it is on.
    pub chains: Vec<ChainPlacePlan>,
}

/// Where a callback stands in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainPlacePlan {
    /// Number of the chain in the stack.
    pub chain: u32,
    /// It is the chain's first.
    pub begins: bool,
    /// It is the chain's last.
    pub ends: bool,
}

/// What starts a callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TriggerPlan {
    /// A timer.
    Timer {
        /// Period in ns.
        period_ns: u64,
        /// Jitter per release in ns.
        jitter_ns: DistributionPlan,
        /// Relative rate error of its clock.
        rate_error: f64,
        /// Offset from the arming instant in ns, drawn per block.
        /// `None` keeps the phase of the timer's own start (natural phase).
        phase_ns: Option<u64>,
        /// What it replays from arming on, instead of being due by its period.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayPlan>,
    },
    /// A message.
    Subscription {
        /// Index into [`ServicePlan::topics`].
        topic: u32,
        /// Publishers in other processes or without intra-process that must be matched.
        expected_publishers: u32,
    },
}

/// What a source replays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayPlan {
    /// File of its [`RecordingPlan`] beside the plan.
    pub file: String,
    /// Topic whose messages have the recorded sizes, as index into [`ServicePlan::topics`]; `None` where it publishes nothing.
    pub topic: Option<u32>,
}

/// A publisher of a node. Callbacks of the node that publish on the same topic name the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublisherPlan {
    /// Number of the publisher in the stack, carried in its payloads.
    pub id: u32,
    /// Index into [`ServicePlan::topics`].
    pub topic: u32,
    /// Subscriptions that must be matched over DDS.
    pub expected_subscriptions: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_costs_by_the_entities_that_are_waited_for() {
        let cost = ExecutorCostPlan {
            wait_iterations: 500,
            entity_iterations: 20,
        };
        assert_eq!(cost.iterations(0), 500);
        assert_eq!(cost.iterations(7), 640);
        assert_eq!(ExecutorCostPlan::default().iterations(1_000), 0);
    }

    #[test]
    fn serialising_costs_by_message_and_by_byte() {
        let plan = SerialisationPlan {
            message_iterations: 500,
            kib_iterations: 300,
        };
        assert_eq!(plan.iterations(0), 500);
        assert_eq!(plan.iterations(1024), 800);
        assert_eq!(plan.iterations(1 << 20), 500 + 300 * 1024);
        assert_eq!(plan.iterations(100), 500 + 29, "rounded down");
        assert_eq!(
            plan.iterations(u64::MAX),
            500 + (300_u128 * u128::from(u64::MAX) / 1024).min(u128::from(u64::MAX - 500)) as u64
        );
    }
}
