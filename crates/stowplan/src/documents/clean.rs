//! `stowplan clean --json`.

use schemars::JsonSchema;
use serde::Serialize;

/// What was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Clean {
    /// `stowplan.clean/1`.
    pub schema: &'static str,
    /// Dead runs whose ledgers were worked off; live runs are left alone.
    pub runs: Vec<String>,
    /// Objects removed, in order.
    pub removed: Vec<String>,
    /// Objects that could not be removed, with the reason.
    pub left: Vec<String>,
}
