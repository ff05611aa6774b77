//! `bench toolbox`: makes the userland with the papers' tools, and says what is in it.

use stowplan_bench::{Toolbox, ToolboxError, ToolboxSpec};

use crate::cli::ToolboxAction;
use crate::execute::image_store;
use crate::failure::{CommandError, ExitCode};
use crate::output::tell;

/// The one that was built last.
pub fn find() -> Result<Option<Toolbox>, CommandError> {
    Toolbox::find(&image_store()).map_err(failed)
}

/// The same, where there has to be one.
pub fn require() -> Result<Toolbox, CommandError> {
    Toolbox::require(&image_store()).map_err(failed)
}

/// `stowplan bench toolbox`.
pub fn run(action: Option<&ToolboxAction>) -> Result<(), CommandError> {
    match action {
        Some(ToolboxAction::Build {
            suite,
            mirror,
            update,
        }) => {
            let spec = ToolboxSpec {
                suite: suite.clone(),
                mirror: mirror.clone(),
                update: *update,
            };
            let toolbox = stowplan_bench::build_toolbox(&image_store(), &spec).map_err(failed)?;
            describe(&toolbox)
        }
        Some(ToolboxAction::Show) | None => {
            let toolbox = require()?;
            describe(&toolbox)?;
            toolbox
                .packages
                .iter()
                .try_for_each(|package| tell!("{package}"))
        }
    }
}

fn describe(toolbox: &Toolbox) -> Result<(), CommandError> {
    tell!("toolbox {}", toolbox.digest)?;
    let (suite, count) = (&toolbox.suite, toolbox.packages.len());
    tell!(
        "Debian {suite}, {count} packages, in {}",
        toolbox.dir.display()
    )?;
    for asked in &toolbox.asked {
        let prefix = format!("{asked} ");
        let found = toolbox.packages.iter().find(|p| p.starts_with(&prefix));
        tell!("  {}", found.map_or(asked.as_str(), String::as_str))?;
    }
    Ok(())
}

fn failed(error: ToolboxError) -> CommandError {
    let told = CommandError::new(ExitCode::EngineUnavailable, error.message);
    match error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
