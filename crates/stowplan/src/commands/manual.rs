//! Completions and man pages, from the same source as the options.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::{CommandError, ExitCode};
use crate::output::tell_on;

/// Prints completions for `shell` on standard output.
pub fn completions(shell: clap_complete::Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stowplan", &mut script);
    tell_on!("{}", String::from_utf8_lossy(&script))
}

/// Writes `stowplan.1` and one page per command into `dir`.
pub fn pages(dir: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|error| {
            CommandError::new(
                ExitCode::BadInput,
                format!("cannot write man pages into {}: {error}", dir.display()),
            )
        })
}
