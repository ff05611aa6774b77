//! A/A and A/B calibration of the instrument (docs/measuring.md §5): what is compared, how large the injected difference is,
//! and whether the comparisons say what is known to be true.
//!
//! It asks for ordinary experiments ([`stowplan_run::Request`]), which its caller runs, and reads their ordinary
//! results.
#![forbid(unsafe_code)]

mod design;
mod error;
mod judge;
mod phases;
mod read;
mod size;
mod target;

pub use design::{Ask, Design, Part};
pub use error::SelftestError;
pub use judge::criteria;
pub use read::{Progress, progress, selftest};
pub use size::injected;
pub use target::Target;
