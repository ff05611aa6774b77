//! Processes.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::At;
use crate::quantity::{Fixed, Iterations};

/// A process that holds several nodes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProcessSpec {
    /// Its executor; `single` where left out.
    pub executor: ExecutorSpec,
    /// Threads of a `multi` executor.
    pub threads: Option<u32>,
    /// Implicit endpoints; the stack's profile where left out.
    pub profile: Option<ProfileSpec>,
    /// Whether nodes are loaded one after another into a component container.
    pub component_container: bool,
}

/// The executor of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExecutorSpec {
    /// One thread for all callbacks.
    #[default]
    Single,
    /// Several threads over one ready set; needs `threads`.
    Multi,
    /// One thread, entities collected once.
    Static,
    /// One single-threaded executor per node.
    Isolated,
}

/// Which ROS 2 distribution's implicit endpoints a process has.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProfileSpec {
    /// No implicit endpoints; results are marked.
    Minimal,
    /// ROS 2 Galactic.
    Galactic,
    /// ROS 2 Humble.
    #[default]
    Humble,
    /// ROS 2 Jazzy.
    Jazzy,
}

/// What waiting for work costs every executor beside what that of the node program costs by itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExecutorCostSpec {
    /// Iterations of the work kernel for each wait; none where left out.
    pub wait: Option<At<Fixed<Iterations>>>,
    /// Iterations of the work kernel for each entity that is waited for, in each wait; none where left out.
    pub entity: Option<At<Fixed<Iterations>>>,
}
