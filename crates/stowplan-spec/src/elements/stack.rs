//! The stack file as a whole.

use schemars::JsonSchema;
use serde::Deserialize;

use super::chain::ChainSpec;
use super::launch::LaunchSpec;
use super::module::ModuleSpec;
use super::process::{ExecutorCostSpec, ProcessSpec, ProfileSpec};
use super::service::ServiceSpec;
use super::start_up::{LibrarySpec, StartUpSpec};
use super::topic::{QosSpec, SerialisationSpec, TopicSpec};
use super::work::WorkSpec;
use crate::at::{At, Entries};
use crate::kind::{Kind, KindOr};
use crate::quantity::{Bytes, Spread};

/// A vehicle stack: what runs, independent of where.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StackSpec {
    /// Name of the stack.
    pub name: At<String>,
    /// What is published fact and what is assumption.
    #[serde(default)]
    pub description: String,
    /// ROS 2 distribution whose implicit endpoints processes have, unless they say otherwise.
    #[serde(default)]
    pub profile: ProfileSpec,
    /// Whether nodes have the parameter `use_sim_time` set, and so subscribe to `/clock`.
    #[serde(default)]
    pub use_sim_time: bool,
    /// Nanoseconds that an iteration of the work kernel takes where the work was counted, as `trace learn` writes it. Work is
    /// not scaled by it: it tells at which speed callbacks take the time that was meant.
    #[serde(default)]
    pub ns_per_iteration: Option<At<f64>>,
    /// Quality of service of topics that do not give one.
    #[serde(default)]
    pub qos: Option<At<KindOr<QosSpec>>>,
    /// Work of serialising a message on topics that do not give one; none where left out.
    #[serde(default)]
    pub serialisation: Option<At<KindOr<SerialisationSpec>>>,
    /// What `ros2 launch` costs, once per service.
    #[serde(default)]
    pub launch: LaunchSpec,
    /// What waiting for work costs executors; nothing beside their own cost where left out.
    #[serde(default)]
    pub executor: ExecutorCostSpec,
    /// Groups of library files by name.
    #[serde(default)]
    pub libs: Entries<LibrarySpec>,
    /// Named values that elements refer to, so that 200 nodes stay readable.
    #[serde(default)]
    pub kinds: KindsSpec,
    /// Topics by name.
    #[serde(default)]
    pub topics: Entries<At<TopicSpec>>,
    /// Processes that hold several nodes, by name; any other node has one of its own.
    #[serde(default)]
    pub processes: Entries<ProcessSpec>,
    /// Modules by name, in launch order.
    pub modules: Entries<ModuleSpec>,
    /// Cause-effect chains by name.
    #[serde(default)]
    pub chains: Entries<ChainSpec>,
    /// Real programs by service name.
    #[serde(default)]
    pub services: Entries<ServiceSpec>,
}

/// Named values.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KindsSpec {
    /// Message sizes.
    pub size: Entries<At<Spread<Bytes>>>,
    /// Qualities of service.
    pub qos: Entries<QosSpec>,
    /// Costs of serialising a message.
    pub serialisation: Entries<SerialisationSpec>,
    /// Work of a callback.
    pub work: Entries<WorkSpec>,
    /// Start-up costs of a node.
    pub start_up: Entries<StartUpSpec>,
}

impl Kind for Spread<Bytes> {
    fn from_number(text: &str) -> Option<Result<Self, stowplan_model::units::UnitError>> {
        Some(Self::from_text(text))
    }
}
