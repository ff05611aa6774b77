//! `stowplan new`: a folder with a stack, a partition and an experiment that run as they are.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stowplan_model::Name;

use crate::cli::files::NewArgs;
use crate::failure::{CommandError, ExitCode};
use crate::output::tell_on;

/// What stands for the name in the files.
const PLACEHOLDER: &str = "name: NAME\n";

/// The files that users edit.
const FILES: [(&str, &str); 3] = [
    ("stack.yaml", include_str!("new/stack.yaml")),
    ("partition.yaml", include_str!("new/partition.yaml")),
    ("experiment.yaml", include_str!("new/experiment.yaml")),
];

/// The schemas that the first line of each file names, for editors.
fn schemas() -> [(&'static str, Value); 3] {
    [
        ("schema/stack.json", stowplan_spec::stack_schema()),
        ("schema/partition.json", stowplan_spec::partition_schema()),
        ("schema/experiment.json", stowplan_spec::experiment_schema()),
    ]
}

/// Runs the command.
pub fn run(args: &NewArgs) -> Result<(), CommandError> {
    let name = Name::new(args.name.clone()).map_err(|error| {
        let wrong = CommandError::new(ExitCode::Usage, error.to_string());
        match nearest(&args.name) {
            Some(near) => wrong.hint(format!("did you mean '{near}'?")),
            None => wrong.hint("write a name such as 'parking'"),
        }
    })?;
    let folder = Path::new(name.as_str());
    if is_taken(folder) {
        let message = format!("'{name}' exists already, nothing is overwritten");
        return Err(CommandError::new(ExitCode::Usage, message)
            .hint(format!("choose another name, or remove '{name}'")));
    }
    write(folder, name.as_str())?;
    tell_on!("{}", next(name.as_str()))
}

/// Whether something is there that is not an empty folder.
fn is_taken(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.symlink_metadata().is_ok(),
    }
}

/// The name that is most like `text`: what no name has becomes a dash.
fn nearest(text: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let near: String = text
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(64)
        .collect();
    let near = near
        .trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
        .trim_end_matches('-');
    Name::new(near).ok().map(|name| name.to_string())
}

/// Writes all files below `folder`.
fn write(folder: &Path, name: &str) -> Result<(), CommandError> {
    // A name such as '1' or 'null' is text.
    let is_text = matches!(serde_saphyr::from_str(name), Ok(Value::String(_)));
    let named = if is_text {
        format!("name: {name}\n")
    } else {
        format!("name: '{name}'\n")
    };
    for (file, text) in FILES {
        create(&folder.join(file), &text.replace(PLACEHOLDER, &named))?;
    }
    for (file, schema) in schemas() {
        create(&folder.join(file), &format!("{schema:#}\n"))?;
    }
    Ok(())
}

fn create(path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            CommandError::new(ExitCode::BadInput, message)
                .hint("run the command in a folder that you may write to")
        })
}

/// What is there now, and what to type next.
fn next(name: &str) -> String {
    format!(
        "{name}/stack.yaml       what runs
{name}/partition.yaml   which parts run together
{name}/experiment.yaml  what is measured
{name}/schema/          keys of these files, for editors

Check the files; this starts nothing:
  stowplan plan {name}/stack.yaml --partition {name}/partition.yaml
  stowplan plan --experiment {name}/experiment.yaml
Measure:
  stowplan run {name}/experiment.yaml
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_has_what_fits() {
        for (text, near) in [
            ("my stack", "my-stack"),
            ("_parking", "parking"),
            ("../cars/a", "cars-a"),
            ("parking/", "parking"),
            ("größe", "gr--e"),
        ] {
            assert_eq!(nearest(text).as_deref(), Some(near), "{text}");
        }
        for text in ["", ".", "//"] {
            assert_eq!(nearest(text), None, "{text}");
        }
        assert_eq!(nearest(&"a".repeat(65)).map(|name| name.len()), Some(64));
    }

    #[test]
    fn a_name_that_yaml_reads_as_a_number_stays_a_name() {
        for name in ["parking", "1", "1.5", "true", "null", "no", "1e3"] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), name).unwrap();
            let spec = stowplan_spec::load_spec(&folder.path().join("stack.yaml")).unwrap();
            assert_eq!(spec.stack().name.as_str(), name);
        }
    }

    #[test]
    fn every_file_begins_with_its_schema_which_holds_for_it() {
        for (file, text) in FILES {
            let kind = file.strip_suffix(".yaml").unwrap();
            let first = format!("# yaml-language-server: $schema=schema/{kind}.json\n");
            assert!(text.starts_with(&first), "{file}");
            let path = format!("schema/{kind}.json");
            let (_, schema) = schemas().into_iter().find(|(at, _)| *at == path).unwrap();
            let value: Value = serde_saphyr::from_str(text).unwrap();
            let validator = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{file}: {errors:?}");
        }
    }
}
