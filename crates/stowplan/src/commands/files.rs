//! `stowplan show` and `stowplan schema`: shipped files as they stand, and what files may hold.

use std::fmt::Write as _;

use stowplan_plan::nearest;

use crate::cli::files::{FileKind, ShowArgs};
use crate::documents;
use crate::failure::{CommandError, ExitCode};
use crate::output::tell_on;

/// Runs `stowplan show`.
pub fn show(args: &ShowArgs) -> Result<(), CommandError> {
    let Some(name) = &args.name else {
        return tell_on!("{}", list());
    };
    let mut all = stowplan_spec::all_shipped();
    if let Some(file) = all.find(|file| file.name == name) {
        return tell_on!("{}", file.text);
    }
    let names = stowplan_spec::all_shipped().map(|file| file.name);
    let hint = nearest::nearest(name, names).map_or_else(
        || "'stowplan show' lists what is shipped".to_owned(),
        |near| format!("did you mean '{near}'?"),
    );
    let message = format!("no stack, partition, experiment or scenario '{name}' is shipped");
    Err(CommandError::new(ExitCode::BadInput, message).hint(hint))
}

/// A line for each shipped file: what it is, its name, and the first sentence of its description.
fn list() -> String {
    let mut lines = String::new();
    for file in stowplan_spec::all_shipped() {
        let description = file.description();
        let first = description.split(". ").next().unwrap_or_default();
        let first = first.trim_end_matches('.');
        let _ = writeln!(lines, "{:<10}  {:<25}  {first}", file.kind, file.name);
    }
    lines
}

/// Runs `stowplan schema`.
pub fn schema(kind: FileKind) -> Result<(), CommandError> {
    documents::print(&match kind {
        FileKind::Stack => stowplan_spec::stack_schema(),
        FileKind::Partition => stowplan_spec::partition_schema(),
        FileKind::Experiment => stowplan_spec::experiment_schema(),
        FileKind::Scenario => stowplan_spec::scenario_schema(),
    })
}
