//! Plans of whole stacks.

mod background;
mod common;
mod networks;
mod plan;
mod working_sets;
