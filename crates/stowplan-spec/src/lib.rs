//! The YAML files: parse, validate, convert, JSON schema.
//!
//! A file's types are not the model's: they say what YAML may hold, with the place of
//! every name, and are converted. Errors name file, line, column and the nearest right name.

mod at;
mod context;
mod convert;
mod elements;
mod error;
mod experiment;
mod kind;
mod parse;
mod quantity;
mod replay;
mod run_options;
mod scalar;
mod scenario;
mod schema;
mod shipped;
mod timers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stowplan_model::{Name, Stack, WorkSpeed, background_service};
use stowplan_plan::{Choice, KnownEngines, Preset, Table};

pub use context::{Assumption, TimedWork};
pub use error::{Problem, SpecError};
pub use experiment::{AskedCpu, Experiment, ListedDeployment, Start};
pub use quantity::Unit;
pub use replay::Replay;
pub use run_options::RunOptions;
pub use scenario::{NoSuchStrategy, Scenario, Step, Strategy};
pub use schema::{experiment_schema, partition_schema, scenario_schema, stack_schema};
pub use shipped::{
    Shipped, all_shipped, shipped, shipped_experiment, shipped_experiment_names, shipped_names,
    shipped_partition, shipped_partition_names, shipped_scenario, shipped_scenario_names,
};
pub use timers::TimerRate;

/// The service that an experiment adds to its deployments to keep CPUs busy.
pub const NEIGHBOURS: &str = "neighbours";

/// A stack and what its file assumes.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    stack: Stack,
    assumptions: Vec<Assumption>,
    timed_work: Vec<TimedWork>,
}

impl Spec {
    /// The stack.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The stack, without its assumptions.
    #[must_use]
    pub fn into_stack(self) -> Stack {
        self.stack
    }

    /// Every parameter that the file says is assumed, in the order of the file.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// The same with a service `neighbours` of so many threads that keep CPUs busy.
    ///
    /// # Errors
    /// When the stack has something of this name.
    pub fn with_neighbours(mut self, threads: Option<u8>) -> Result<Self, SpecError> {
        let threads = threads.unwrap_or(0);
        if threads == 0 {
            return Ok(self);
        }
        let name = Name::new(NEIGHBOURS).expect("it is a name");
        let stack = &mut self.stack;
        let is_taken = stack
            .nodes
            .iter()
            .any(|n| n.name == name || n.module == name)
            || stack.processes.iter().any(|p| p.name == name)
            || stack.services.iter().any(|s| s.name == name);
        if is_taken {
            return Err(SpecError::Neighbours {
                stack: stack.name.to_string(),
            });
        }
        let (process, node) = background_service(threads.into(), name);
        stack.processes.push(process);
        stack.nodes.push(node);
        Ok(self)
    }

    /// The same with these rates in place of those of its timers.
    ///
    /// # Errors
    /// When one is given to what is not one timer.
    pub fn with_timers(mut self, rates: &[TimerRate]) -> Result<Self, SpecError> {
        timers::apply(&mut self.stack, rates)?;
        Ok(self)
    }

    /// The same with a stack that this has changed, as a replayed bag changes the rates of its sources.
    #[must_use]
    pub fn with_stack(mut self, change: impl FnOnce(&mut Stack)) -> Self {
        change(&mut self.stack);
        self
    }

    /// Work that the file gives as an execution time, in the order of the file.
    #[must_use]
    pub fn timed_work(&self) -> &[TimedWork] {
        &self.timed_work
    }
}

/// Reads a stack and its assumptions from text; `file_name` stands in errors. Work in time is counted as if an
/// iteration took a nanosecond, until [`parse_with_values`] gets a calibration: with it all else of the stack is the same.
///
/// # Errors
/// When the text is not YAML, has unknown keys, or does not describe a sound stack: all problems
/// at once, where the text could be parsed.
pub fn parse_spec(text: &str, file_name: &str) -> Result<Spec, SpecError> {
    parse_with_values(text, file_name, &BTreeMap::new(), None)
}

/// Reads a stack with these values in place of assumed ones, by [`Assumption::path`] and in its unit; of a
/// distribution the value becomes the mean, and all else is scaled with it. Paths without an assumption do nothing.
/// The assumptions are those of the file. Work in time becomes iterations at `speed`.
///
/// # Errors
/// As [`parse_spec`].
pub fn parse_with_values(
    text: &str,
    file_name: &str,
    values: &BTreeMap<String, f64>,
    speed: Option<&WorkSpeed>,
) -> Result<Spec, SpecError> {
    let spec: elements::stack::StackSpec = parse::parse(text, file_name)?;
    let mut context = context::Context::with_values(file_name, values, speed);
    let stack = convert::stack(&mut context, &spec);
    if let Some(stack) = &stack
        && context.is_clean()
    {
        context.findings(stowplan_plan::check(stack));
    }
    context.finish()?;
    let mut assumptions = std::mem::take(&mut context.assumptions);
    assumptions.sort_by_key(|a| a.line);
    let mut timed_work = std::mem::take(&mut context.timed_work);
    timed_work.sort_by_key(|work| work.line);
    Ok(Spec {
        stack: stack.expect("a stack without a problem is complete"),
        assumptions,
        timed_work,
    })
}

/// Reads a stack from text; `file_name` stands in errors.
///
/// # Errors
/// As [`parse_spec`].
pub fn parse_stack(text: &str, file_name: &str) -> Result<Stack, SpecError> {
    parse_spec(text, file_name).map(Spec::into_stack)
}

/// Reads a stack and its assumptions from a file.
///
/// # Errors
/// When the file cannot be read, or as [`parse_spec`].
pub fn load_spec(path: &Path) -> Result<Spec, SpecError> {
    parse_spec(&read(path)?, &path.display().to_string())
}

/// Reads a stack from a file.
///
/// # Errors
/// As [`load_spec`].
pub fn load_stack(path: &Path) -> Result<Stack, SpecError> {
    load_spec(path).map(Spec::into_stack)
}

/// Reads the stack that `name` means: a shipped one, else a file. Relative paths are taken from
/// `base`, which is the folder of the file that names it.
///
/// # Errors
/// When `name` is neither shipped nor a file, or as [`load_spec`].
pub fn find_spec(name: &str, base: &Path) -> Result<Spec, SpecError> {
    match shipped(name) {
        Some(text) => parse_spec(text, &format!("stacks/{name}.yaml")),
        None => load_spec(&existing("stack", name, base, shipped_names())?),
    }
}

/// Reads a partition table from text; `file_name` stands in errors.
///
/// # Errors
/// When the text is not YAML, has unknown keys, or does not describe a table.
pub fn parse_partition(text: &str, file_name: &str) -> Result<Table, SpecError> {
    let spec: elements::partition::PartitionSpec = parse::parse_or(
        text,
        file_name,
        "write what is in it, as { modules: [sensing] }",
    )?;
    let mut context = context::Context::new(file_name);
    let table = convert::partition::convert(&mut context, &spec);
    context.finish()?;
    Ok(table)
}

/// Reads a partition table from a file.
///
/// # Errors
/// When the file cannot be read, or as [`parse_partition`].
pub fn load_partition(path: &Path) -> Result<Table, SpecError> {
    parse_partition(&read(path)?, &path.display().to_string())
}

/// What `name` means as a partition: a preset, a shipped table, else a file relative to `base`.
///
/// # Errors
/// When `name` is neither a preset, shipped, nor a file, or as [`load_partition`].
pub fn find_partition(name: &str, base: &Path) -> Result<Choice, SpecError> {
    if let Some(preset) = Preset::from_name(name) {
        return Ok(Choice::Preset(preset));
    }
    match shipped_partition(name) {
        Some(text) => parse_partition(text, &format!("stacks/partitions/{name}.yaml")),
        None => {
            let presets = Preset::ALL.into_iter().map(Preset::name);
            let known = presets.chain(shipped_partition_names());
            load_partition(&existing("partition", name, base, known)?)
        }
    }
    .map(Choice::Table)
}

/// Reads an experiment from text, whose places name these engines; `file_name` stands in errors.
///
/// # Errors
/// When the text is not YAML, has unknown keys, unknown places, or values that no experiment can have.
pub fn parse_experiment(
    text: &str,
    file_name: &str,
    known: &KnownEngines,
) -> Result<Experiment, SpecError> {
    let spec: elements::experiment::ExperimentSpec = parse::parse(text, file_name)?;
    let mut context = context::Context::new(file_name);
    let experiment = convert::experiment::convert(&mut context, &spec, known);
    context.finish()?;
    Ok(experiment.expect("an experiment without a problem is complete"))
}

/// Reads an experiment from a file.
///
/// # Errors
/// When the file cannot be read, or as [`parse_experiment`].
pub fn load_experiment(path: &Path, known: &KnownEngines) -> Result<Experiment, SpecError> {
    parse_experiment(&read(path)?, &path.display().to_string(), known)
}

/// The experiment that `name` means, a shipped one or else a file, and the folder that its relative paths start from.
///
/// # Errors
/// When `name` is neither shipped nor a file, or as [`load_experiment`].
pub fn find_experiment(
    name: &str,
    known: &KnownEngines,
) -> Result<(Experiment, PathBuf), SpecError> {
    if let Some(text) = shipped_experiment(name) {
        let file = format!("stacks/experiments/{name}.yaml");
        return Ok((parse_experiment(text, &file, known)?, PathBuf::from(".")));
    }
    let path = existing(
        "experiment",
        name,
        Path::new(""),
        shipped_experiment_names(),
    )?;
    let base = path.parent().unwrap_or(Path::new(".")).to_owned();
    Ok((load_experiment(&path, known)?, base))
}

/// Reads a scenario from text; `file_name` stands in errors.
///
/// # Errors
/// When the text is not YAML, has unknown keys, or a timeline that cannot be played.
pub fn parse_scenario(text: &str, file_name: &str) -> Result<Scenario, SpecError> {
    let spec: elements::scenario::ScenarioSpec = parse::parse(text, file_name)?;
    let mut context = context::Context::new(file_name);
    let scenario = convert::scenario::convert(&mut context, &spec);
    context.finish()?;
    Ok(scenario.expect("a scenario without a problem is complete"))
}

/// The scenario that `name` means, a shipped one or else a file, and the folder that its relative paths start from.
///
/// # Errors
/// When `name` is neither shipped nor a file, or as [`parse_scenario`].
pub fn find_scenario(name: &str) -> Result<(Scenario, PathBuf), SpecError> {
    if let Some(text) = shipped_scenario(name) {
        let file = format!("stacks/scenarios/{name}.yaml");
        return Ok((parse_scenario(text, &file)?, PathBuf::from(".")));
    }
    let path = existing("scenario", name, Path::new(""), shipped_scenario_names())?;
    let base = path.parent().unwrap_or(Path::new(".")).to_owned();
    let scenario = parse_scenario(&read(&path)?, &path.display().to_string())?;
    Ok((scenario, base))
}

/// The file that `name` means, which must exist, or an error that lists what is shipped.
fn existing(
    what: &'static str,
    name: &str,
    base: &Path,
    known: impl Iterator<Item = &'static str>,
) -> Result<PathBuf, SpecError> {
    let path = base.join(name);
    if path.exists() {
        return Ok(path);
    }
    let known: Vec<&str> = known.collect();
    let hint = match stowplan_plan::nearest::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("shipped: {}", known.join(", ")),
    };
    Err(SpecError::Unknown {
        what,
        name: name.to_owned(),
        hint,
    })
}

fn read(path: &Path) -> Result<String, SpecError> {
    std::fs::read_to_string(path).map_err(|source| SpecError::Read {
        path: path.to_owned(),
        source,
    })
}
