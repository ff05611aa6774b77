//! Ablation: what each isolation feature adds to the difference between bare processes and containers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Comparison;

/// One of the deployments that lead from plain processes to containers, as `experiment.json` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AblationDeployment {
    /// Id of the deployment.
    pub deployment: String,
    /// What it has that the one before has not: `group_scheduling`, `runtime`, or the name of an isolation
    /// feature; null for the first, which has nothing.
    pub adds: Option<String>,
    /// The same for people, as `PID namespace`.
    pub label: Option<String>,
}

/// The difference of one metric between the first and the last deployment of an ablation, attributed to what is
/// added from each to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ablation {
    /// In the order in which they were added.
    pub steps: Vec<AblationStep>,
    /// The last deployment against the first, over the same blocks.
    pub whole: Comparison,
}

/// What one addition changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AblationStep {
    /// What is added: `group_scheduling`, `runtime`, or the name of an isolation feature.
    pub adds: String,
    /// The same for people, as `PID namespace`.
    pub label: String,
    /// Its share of the whole: the natural logarithm of the ratio where `relative`, else in `unit`. The
    /// addends of all steps sum to that of the whole.
    pub addend: f64,
    /// The deployment that has it against the one before, over the blocks in which all of the ablation's
    /// deployments finished; Holm-corrected over the steps. Values are geometric means where `relative`.
    pub comparison: Comparison,
    /// Isolation features by name, as read back from the processes of the deployment that has it; left out
    /// where they cannot tell.
    pub isolation_found: BTreeMap<String, bool>,
}
