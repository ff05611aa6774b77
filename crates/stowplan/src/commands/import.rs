//! `stowplan import`: a stack from another project's files.

use std::path::Path;

use stowplan_learn::designer::Sources;
use stowplan_learn::{Imported, designer, topology};

use super::learn::write_stack;
use crate::cli::{ImportArgs, ImportFormat};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{note, tell};

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<(), CommandError> {
    let Imported { draft, warnings } = match args.format {
        ImportFormat::Topology => topologies(args)?,
        ImportFormat::Designer => design(args)?,
    };
    for warning in &warnings {
        note!("warning: {warning}");
    }
    write_stack(&draft.to_yaml(), args.output.as_deref(), false)?;
    match &args.output {
        Some(path) => tell!(
            "{}: {} nodes in {} processes, {} topics",
            path.display(),
            draft.nodes().count(),
            draft.processes.len(),
            draft.topics.len()
        ),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        CommandError::new(ExitCode::BadInput, message)
    })
}

/// Each file is a process with the file's name, and the stack has that of the first.
fn topologies(args: &ImportArgs) -> Result<Imported, CommandError> {
    if args.mode.is_some() || args.design.is_some() {
        let message = "a topology has neither --mode nor --design";
        return Err(CommandError::new(ExitCode::Usage, message));
    }
    let mut files = Vec::new();
    for path in &args.files {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let name = stem.to_string_lossy().into_owned();
        files.push((read(path)?, path.display().to_string(), name));
    }
    let files: Vec<topology::File<'_>> = files
        .iter()
        .map(|(text, file, name)| topology::File { text, file, name })
        .collect();
    let name = files.first().map_or("topology", |file| file.name);
    topology::import(&files, name).or_exit(ExitCode::BadInput)
}

/// Modules and nodes lie in the folder that was named, else in the one above the system's own, as a
/// design has `system/`, `module/` and `node/` beside each other.
fn design(args: &ImportArgs) -> Result<Imported, CommandError> {
    let [path] = args.files.as_slice() else {
        let message = "a design has one system: one file";
        return Err(CommandError::new(ExitCode::Usage, message)
            .hint("--design names the folder with its modules and nodes"));
    };
    let (text, file) = (read(path)?, path.display().to_string());
    let own = path.parent().unwrap_or(Path::new("."));
    let above = own.join("..");
    let folder = match &args.design {
        Some(folder) => folder.as_path(),
        None if own.file_name().is_some_and(|name| name == "system") => above.as_path(),
        None => own,
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let sources = Sources::of_folder(folder).map_err(|error| {
        let message = format!("cannot read the design in {}: {error}", folder.display());
        CommandError::new(ExitCode::BadInput, message)
    })?;
    designer::import(&text, &file, args.mode.as_deref(), &sources).map_err(|error| {
        CommandError::from_error(ExitCode::BadInput, &error).hint(
            "--design names the folder with the *.system.yaml, *.module.yaml and *.node.yaml files",
        )
    })
}
