//! The options of commands that write or print files to begin with.

use clap::Args;

/// Options of `new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Name of the stack, and of the folder to create
    pub name: String,
}
