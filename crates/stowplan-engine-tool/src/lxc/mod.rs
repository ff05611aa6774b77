//! Containers of liblxc, whoever has it make them: the lines of its configuration, and what its log says.

mod config;
mod log;

pub use config::{Config, class_note};
pub use log::{leader, status};
