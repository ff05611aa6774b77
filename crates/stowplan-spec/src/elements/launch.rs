//! What `ros2 launch` costs.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::At;
use crate::quantity::{Bytes, Fixed, Iterations};

/// Cost of `ros2 launch` in each service; what is left out costs nothing.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LaunchSpec {
    /// Kernel iterations of interpreter start and evaluation of the launch file.
    pub start: Option<At<Fixed<Iterations>>>,
    /// Kernel iterations for each entity that the launch file names.
    pub entity: Option<At<Fixed<Iterations>>>,
    /// Bytes of files that the interpreter maps and touches.
    pub read: Option<At<Fixed<Bytes>>>,
    /// Private memory that the launcher keeps.
    pub memory: Option<At<Fixed<Bytes>>>,
}
