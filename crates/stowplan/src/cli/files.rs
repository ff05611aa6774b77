//! The options of commands that write or print files to begin with.

use clap::{Args, ValueEnum};

/// Options of `new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Name of the stack, and of the folder to create
    pub name: String,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Name of a shipped file; without it, all are listed
    pub name: Option<String>,
}

/// Files that users write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileKind {
    /// What runs
    Stack,
    /// Which parts run together
    Partition,
    /// What is measured
    Experiment,
    /// What is started and stopped on demand
    Scenario,
}
