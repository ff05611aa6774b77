//! Which earlier result one is held against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The earlier result that a result is held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierResult {
    /// Name of its folder.
    pub result: String,
    /// When it was begun, seconds since 1970.
    pub created_unix_s: u64,
    /// Build id of the programs that measured it.
    pub build_id: String,
    /// Whether its deployments were measured again, in the same blocks as the later ones; else what it measured itself counts.
    #[serde(default)]
    pub measured_again: bool,
}
