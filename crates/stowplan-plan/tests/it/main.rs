//! Plans of whole stacks.

mod common;
mod networks;
mod plan;
mod working_sets;
