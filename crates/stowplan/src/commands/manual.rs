//! Completions and man pages, from the same source as the options.

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::{CommandError, ExitCode};

/// Prints completions for `shell` on standard output.
pub fn completions(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "stowplan", &mut io::stdout());
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
