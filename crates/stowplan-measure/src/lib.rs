//! One run: start, arm, disarm, collect.

pub mod dds;
pub mod lower;
pub mod phases;
pub mod progress;
