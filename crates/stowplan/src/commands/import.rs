//! `stowplan import`: a stack from another project's file.

use std::path::Path;

use stowplan_learn::designer::Sources;
use stowplan_learn::{Draft, designer, topology};

use super::learn::write_stack;
use crate::cli::{ImportArgs, ImportFormat};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<(), CommandError> {
    let file = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).map_err(|error| {
        CommandError::new(ExitCode::BadInput, format!("cannot read {file}: {error}"))
    })?;
    let draft = match args.format {
        ImportFormat::Topology => {
            if args.mode.is_some() || args.design.is_some() {
                let message = "a topology has neither --mode nor --design";
                return Err(CommandError::new(ExitCode::Usage, message));
            }
            let stem = args.file.file_stem();
            let name = stem.map_or_else(|| "topology".into(), |stem| stem.to_string_lossy());
            topology::import(&text, &file, &name).or_exit(ExitCode::BadInput)?
        }
        ImportFormat::Designer => design(args, &text, &file)?,
    };
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

/// Modules and nodes lie in the folder that was named, else in the one above the system's own, as a
/// design has `system/`, `module/` and `node/` beside each other.
fn design(args: &ImportArgs, text: &str, file: &str) -> Result<Draft, CommandError> {
    let own = args.file.parent().unwrap_or(Path::new("."));
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
    designer::import(text, file, args.mode.as_deref(), &sources).map_err(|error| {
        CommandError::from_error(ExitCode::BadInput, &error)
            .hint("--design names the folder with the *.module.yaml and *.node.yaml files")
    })
}
