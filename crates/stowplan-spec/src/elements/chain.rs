//! Chains.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::At;
use crate::quantity::{Duration, Fixed};

/// A cause-effect chain.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainSpec {
    /// Deadline of the reaction to an input, from its release by the sensor. Misses are counted.
    #[serde(default)]
    pub deadline: Option<At<Fixed<Duration>>>,
    /// NODE/CALLBACK from first to last; NODE alone where it has one callback.
    pub callbacks: Vec<At<String>>,
}
