//! Checks, partition presets, edges and utilisation.

pub mod check;
pub mod nearest;
mod table;

pub use check::{Finding, Subject, check};
pub use table::{Choice, Preset, Table, TableService};
