//! Modules and their functions: groups of nodes with common defaults.

use schemars::JsonSchema;
use serde::Deserialize;

use super::node::NodeSpec;
use super::start_up::StartUpSpec;
use super::work::WorkSpec;
use crate::at::{At, Entries};
use crate::kind::KindOr;

/// A functional module. What it gives holds for its nodes unless function or node say otherwise.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModuleSpec {
    /// Whether a source attributes its nodes to it.
    pub attributed: Option<bool>,
    /// Process of its nodes; without one each node has its own.
    pub process: Option<At<String>>,
    /// Start-up cost of each node.
    pub start_up: Option<At<KindOr<StartUpSpec>>>,
    /// Work of each callback that publishes or stands alone.
    pub work: Option<At<KindOr<WorkSpec>>>,
    /// Nodes without a function, in launch order.
    pub nodes: Entries<At<NodeSpec>>,
    /// Functions, after those nodes.
    pub functions: Entries<FunctionSpec>,
}

/// A function of a module.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FunctionSpec {
    /// Whether a source attributes its nodes to it.
    pub attributed: Option<bool>,
    /// Process of its nodes.
    pub process: Option<At<String>>,
    /// Start-up cost of each node.
    pub start_up: Option<At<KindOr<StartUpSpec>>>,
    /// Work of each callback that publishes or stands alone.
    pub work: Option<At<KindOr<WorkSpec>>>,
    /// Nodes in launch order.
    pub nodes: Entries<At<NodeSpec>>,
}
