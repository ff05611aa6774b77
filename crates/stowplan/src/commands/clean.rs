//! `stowplan clean`: removes what the ledgers of dead runs name, and nothing else.

use stowplan_host::ledger;

use crate::cli::CleanArgs;
use crate::documents::clean::Clean;
use crate::documents::{self};
use crate::engines;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;

/// Runs the command.
pub fn run(args: &CleanArgs) -> Result<(), CommandError> {
    let state = ledger::folder().or_exit(ExitCode::RunFailed)?;
    let cleaned = ledger::clean(&state, &mut engines::remove).or_exit(ExitCode::RunFailed)?;
    let document = Clean {
        schema: "stowplan.clean/1",
        runs: cleaned.runs,
        removed: cleaned.removed.iter().map(in_words).collect(),
        left: cleaned.failed,
    };
    if args.json {
        documents::print(&document)?;
    } else {
        for object in &document.removed {
            tell!("removed {object}")?;
        }
        tell!(
            "{} dead runs, {} objects removed",
            document.runs.len(),
            document.removed.len()
        )?;
    }
    if document.left.is_empty() {
        return Ok(());
    }
    Err(CommandError::new(
        ExitCode::RunFailed,
        format!("could not remove: {}", document.left.join("; ")),
    ))
}

fn in_words(object: &ledger::Object) -> String {
    match object {
        ledger::Object::Process { pid, .. } => format!("process {pid}"),
        ledger::Object::Cgroup { path } => format!("cgroup {path}"),
        ledger::Object::Mount { path } => format!("mount {path}"),
        ledger::Object::Folder { path } => format!("folder {path}"),
        ledger::Object::Scratch { folder, prefix, .. } => format!("folders {folder}/{prefix}…"),
        ledger::Object::InRoot { pid, path, .. } => format!("{path} in the root of process {pid}"),
        ledger::Object::Link { name } => format!("link {name}"),
        ledger::Object::Container { engine, id } => format!("{engine} container {id}"),
        ledger::Object::Image { engine, tag } => format!("{engine} image {tag}"),
        ledger::Object::Pool { engine, name } => format!("{engine} storage pool {name}"),
    }
}
