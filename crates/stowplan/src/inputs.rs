//! What the user names on the command line: stacks, partitions, places, durations.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stowplan_model::{DdsProfile, Launching, METRICS, Partition, Stack, WorkSpeed, units};
use stowplan_plan::nearest;
use stowplan_spec::Spec;

use crate::engines;
use crate::failure::{CommandError, ExitCode, OrExit};

/// The stack that `name` means: a shipped one or a file.
pub fn stack(name: &str) -> Result<Spec, CommandError> {
    stowplan_spec::find_spec(name, Path::new(".")).or_exit(ExitCode::BadInput)
}

/// The same with work in time as iterations at this speed.
pub fn stack_at(name: &str, speed: &WorkSpeed) -> Result<Spec, CommandError> {
    let (file, text) = stack_text(name, Path::new("."))?;
    stowplan_spec::parse_with_values(&text, &file, &BTreeMap::new(), Some(speed))
        .or_exit(ExitCode::BadInput)
}

/// File name for messages and text of the stack that `name` means.
pub fn stack_text(name: &str, base: &Path) -> Result<(String, String), CommandError> {
    if let Some(text) = stowplan_spec::shipped(name) {
        return Ok((format!("stacks/{name}.yaml"), text.to_owned()));
    }
    let path = base.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path.display().to_string(), text)),
        Err(cause) => {
            // The specification's own error knows the shipped names.
            stowplan_spec::find_spec(name, base).or_exit(ExitCode::BadInput)?;
            let message = format!("cannot read {}: {cause}", path.display());
            Err(CommandError::new(ExitCode::BadInput, message))
        }
    }
}

/// The partition that `name` means for `stack`: a preset, a shipped table or a file.
pub fn partition(stack: &Stack, name: &str) -> Result<Partition, CommandError> {
    let choice = stowplan_spec::find_partition(name, Path::new(".")).or_exit(ExitCode::BadInput)?;
    stowplan_plan::partition(stack, &choice).or_exit(ExitCode::BadInput)
}

/// Places as results name them, each once.
pub fn places(texts: &[String]) -> Result<Vec<String>, CommandError> {
    let known = engines::known()?;
    let mut places = Vec::new();
    for text in texts {
        let place = known.place(text).or_exit(ExitCode::Usage)?.to_string();
        if places.contains(&place) {
            let message = format!("--place has '{place}' twice");
            return Err(CommandError::new(ExitCode::Usage, message));
        }
        places.push(place);
    }
    Ok(places)
}

/// A duration such as `60m`.
pub fn duration(text: &str) -> Result<Duration, CommandError> {
    units::parse_duration_ns(text)
        .map(Duration::from_nanos)
        .or_exit(ExitCode::Usage)
}

/// A profile of the DDS configuration; the default one where none is named.
pub fn dds_profile(name: Option<&str>) -> Result<DdsProfile, CommandError> {
    let named = name.map(str::parse::<DdsProfile>).transpose();
    Ok(named.or_exit(ExitCode::Usage)?.unwrap_or_default())
}

/// What starts the processes of services, each once.
pub fn launch(names: &[String]) -> Result<Vec<Launching>, CommandError> {
    let wrong = |what: String| CommandError::new(ExitCode::Usage, what);
    let mut all = Vec::new();
    for name in names {
        let one = Launching::of_name(name);
        let one = one.ok_or_else(|| wrong(format!("nothing launches services as '{name}'")))?;
        if all.contains(&one) {
            return Err(wrong(format!("--launch has '{name}' twice")));
        }
        all.push(one);
    }
    Ok(all)
}

/// Smallest differences that matter, as METRIC=3%.
pub fn deltas(given: &[String]) -> Result<BTreeMap<String, f64>, CommandError> {
    let wrong = |what: String| CommandError::new(ExitCode::Usage, what);
    let mut deltas = BTreeMap::new();
    for text in given {
        let parts = text.split_once('=');
        let (metric, share) =
            parts.ok_or_else(|| wrong(format!("'{text}' is not METRIC=SHARE, as cpu=3%")))?;
        if !METRICS.contains(&metric) {
            let hint = nearest::hint_or_all(metric, &METRICS);
            return Err(wrong(format!("'{metric}' is no metric")).hint(hint));
        }
        let share = units::parse_share(share).or_exit(ExitCode::Usage)?;
        if deltas.insert(metric.to_owned(), share).is_some() {
            return Err(wrong(format!("--delta has '{metric}' twice")));
        }
    }
    Ok(deltas)
}

/// A utilisation of the machine, more than 0 and at most 1.
pub fn utilisation(value: Option<f64>) -> Result<Option<f64>, CommandError> {
    match value {
        Some(share) if !(share > 0.0 && share <= 1.0) => Err(CommandError::new(
            ExitCode::Usage,
            format!("a utilisation of {share} is not between 0 and 1"),
        )),
        _ => Ok(value),
    }
}
