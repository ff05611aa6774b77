//! What a node costs at start.

use schemars::JsonSchema;
use serde::Deserialize;
use stowplan_model::units::UnitError;

use crate::at::At;
use crate::kind::Kind;
use crate::quantity::{Bytes, Fixed, Iterations};

/// A group of library files; nodes that name the same group map the same files.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LibrarySpec {
    /// Size of the files.
    pub size: At<Fixed<Bytes>>,
    /// Share of their pages that is touched at start, 0 to 1.
    pub touched: f64,
    /// Bytes of the touched pages that a dynamic loader writes to, so that each process has them for itself; none where left out.
    #[serde(default)]
    pub relocated: Option<At<Fixed<Bytes>>>,
}

/// What a node costs at start.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StartUpSpec {
    /// Names of library groups that it maps.
    pub libs: Vec<At<String>>,
    /// Kernel iterations of its constructor.
    pub iterations: Option<At<Fixed<Iterations>>>,
    /// Private memory that it keeps.
    pub memory: Option<At<Fixed<Bytes>>>,
}

impl Kind for StartUpSpec {
    fn from_number(_: &str) -> Option<Result<Self, UnitError>> {
        None
    }
}
