//! Counted work of a callback.

use schemars::JsonSchema;
use serde::Deserialize;
use stowplan_model::units::UnitError;

use crate::at::{At, Mark};
use crate::kind::Kind;
use crate::quantity::{Bytes, Fixed, Iterations, Spread};

/// Work: iterations of the kernel over a working set. A plain number is iterations, one with a unit of time is how
/// long they take on this machine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkSpec {
    /// Iterations of the work kernel, or the time that they take.
    pub iterations: At<Spread<Iterations>>,
    /// Bytes that the iterations walk over; 4KiB where left out, which fits every first-level cache.
    #[serde(default)]
    pub working_set: Option<At<Fixed<Bytes>>>,
}

impl Kind for WorkSpec {
    fn from_number(text: &str) -> Option<Result<Self, UnitError>> {
        Some(Spread::from_text(text).map(|value| Self {
            iterations: At {
                value,
                mark: Mark::default(),
            },
            working_set: None,
        }))
    }
}
