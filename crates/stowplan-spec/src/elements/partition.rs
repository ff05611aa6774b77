//! Partition tables.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::{At, Entries};

/// A partition table: which modules, functions and nodes are in which service.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionSpec {
    /// Name of the partition.
    pub name: At<String>,
    /// Where it comes from.
    #[serde(default)]
    pub description: String,
    /// What the user should know, one line for each doubtful assignment.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Services in starting order.
    pub services: Entries<AssignmentSpec>,
}

/// What is in a service. A node goes to the service that names it, else its function, else its module.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AssignmentSpec {
    /// Modules.
    pub modules: Vec<At<String>>,
    /// Functions, as MODULE/FUNCTION.
    pub functions: Vec<At<String>>,
    /// Nodes.
    pub nodes: Vec<At<String>>,
    /// Whether everything goes here that no service names.
    pub rest: bool,
    /// Why this assignment is doubtful.
    pub note: Option<String>,
}
