//! `stowplan lifecycle`: what verbs of engines take, who detects faults, and how long until a service is back.

mod on_demand;
mod sections;
mod show;

use std::error::Error;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use stowplan_lifecycle::scenario::ScenarioSummary;
use stowplan_lifecycle::{Application, CompilerRoot, Fault, LifecycleError, Plan, Summary, Trial};
use stowplan_model::{Isolation, Partition, Resources, units};
use stowplan_results::Results;
use stowplan_run::{Ask, Question, Request, Starts};
use stowplan_spec::RunOptions;
use stowplan_suite::Outcome;

use super::bench::toolbox;
use super::measure::{BLOCKS, budget_end, ended, judged, nanos, or_default};
use crate::cli::LifecycleArgs;
use crate::documents;
use crate::engines;
use crate::execute::{self, Sessions};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::output::tell;
use crate::progress::{ProgressLine, Style};
use crate::table;

pub use sections::sections;

/// The stack where none is named.
const STACK: &str = "hello";

/// Its partition: one service is tried while others run.
const PARTITION: &str = "modules";

/// An engine that tells an end at all tells it within milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Several times what a service of `hello` needs.
const MEMORY_BYTES: u64 = 256 << 20;

/// Runs the command.
pub fn run(args: &LifecycleArgs) -> Result<(), CommandError> {
    let settle = inputs::duration(&args.settle)?;
    let budget = args.budget.as_deref().map(inputs::duration).transpose()?;
    let sessions = Sessions::new(settle)?;
    let mut progress = ProgressLine::new(Style::of(args.quiet), String::new());
    let executed = match &args.resume {
        Some(dir) => sessions.suite(&mut progress, failed, |stage, caller| {
            stowplan_lifecycle::resume(dir, budget, settle, stage, caller)
        }),
        None => {
            let (request, trial) = asked(args, budget)?;
            sessions.suite(&mut progress, failed, |stage, caller| {
                stowplan_lifecycle::begin(&request, &trial, &args.out, settle, stage, caller)
            })
        }
    };
    drop(progress);
    let (dir, outcome) = executed?;
    let shown = show(&dir, &outcome, args);
    // Why runs failed says more than what could not be shown of them.
    ended(&outcome, &dir)?;
    shown
}

/// What is to be measured.
fn asked(args: &LifecycleArgs, budget: Option<Duration>) -> Result<(Request, Trial), CommandError> {
    if let Some(scenario) = &args.scenario {
        return on_demand::asked(args, scenario, budget);
    }
    let name = args.stack.as_deref().unwrap_or(STACK);
    let (file, text) = inputs::stack_text(name, Path::new("."))?;
    let spec = stowplan_spec::parse_spec(&text, &file).or_exit(ExitCode::BadInput)?;
    let partition = args.partition.as_deref().unwrap_or(PARTITION);
    let partition = inputs::partition(spec.stack(), partition)?;
    let plan = plan(args, &partition)?;
    let request = request(
        args,
        Asked {
            name: format!("lifecycle-{}", spec.stack().name),
            stack: (&file, &text),
            places: or_default(&args.place, &engines::CONTROLLED),
            partition,
            recorded_ns: 0,
            utilisation: None,
            budget,
        },
    )?;
    Ok((request, Trial::Verbs(plan)))
}

/// What differs between requests of this command.
struct Asked<'a> {
    name: String,
    /// File name and text.
    stack: (&'a str, &'a str),
    places: Vec<String>,
    partition: Partition,
    /// So long is recorded, beside the start-up.
    recorded_ns: u64,
    utilisation: Option<f64>,
    budget: Option<Duration>,
}

fn request(args: &LifecycleArgs, asked: Asked<'_>) -> Result<Request, CommandError> {
    let mut request = Request::new(Ask {
        name: asked.name,
        question: Question::StartUp,
        stack: asked.stack,
        places: inputs::places(&asked.places)?,
        partitions: vec![asked.partition],
        blocks: args.blocks.unwrap_or(BLOCKS),
        pilot: false,
        sensitivity: false,
        seed: args.seed.unwrap_or(1),
        warm_up_ns: asked.recorded_ns,
        window_ns: 0,
        budget_ns: asked.budget.map(nanos),
        starts: Starts::Warm,
        utilisation: asked.utilisation,
        resources: vec![Resources::default()],
        listed: Vec::new(),
        isolation: Isolation::default(),
        ablation: false,
        variants: Vec::new(),
        phase_spans: Vec::new(),
        natural_phase: false,
        dds: inputs::dds_profile(None)?,
        parallelism: None,
        options: RunOptions::default(),
        command: std::env::args().collect(),
    });
    request.skip_missing = args.skip_missing;
    Ok(request)
}

fn plan(args: &LifecycleArgs, partition: &Partition) -> Result<Plan, CommandError> {
    let services = partition.services.iter();
    let mut names = services.map(|of| of.service.to_string());
    let first = names.next().unwrap_or_default();
    let faults = match &args.faults[..] {
        [] => Fault::ALL.to_vec(),
        [none] if none == "none" => Vec::new(),
        words => all_of::<Fault>(words)?,
    };
    let patience = args.patience.as_deref().map(inputs::duration).transpose()?;
    let memory = args.memory.as_deref().map(units::parse_bytes).transpose();
    let applications = match &args.applications[..] {
        [all] if all == "all" => Application::ALL.to_vec(),
        words => all_of::<Application>(words)?,
    };
    let toolbox = match applications.is_empty() {
        true => None,
        false => Some(toolbox::require()?),
    };
    Ok(Plan {
        toolbox: toolbox.map(|toolbox| CompilerRoot {
            tree: toolbox.tree(),
            digest: toolbox.digest,
        }),
        applications,
        service: args.service.clone().unwrap_or(first),
        faults,
        patience_ns: nanos(patience.unwrap_or(PATIENCE)),
        memory_bytes: memory.or_exit(ExitCode::Usage)?.unwrap_or(MEMORY_BYTES),
    })
}

/// What each of these words names.
fn all_of<T: FromStr<Err: Error + 'static>>(words: &[String]) -> Result<Vec<T>, CommandError> {
    let all = words.iter().map(|word| word.parse());
    all.collect::<Result<_, _>>().or_exit(ExitCode::Usage)
}

/// Writes verdicts and report, and prints the tables or the verdicts.
fn show(dir: &Path, outcome: &Outcome, args: &LifecycleArgs) -> Result<(), CommandError> {
    let results = Results::open(dir).or_exit(ExitCode::RunFailed)?;
    let (judgement, verdicts, page) = judged(&results, |of| sections(&results, of))?;
    if args.json {
        return documents::print(&verdicts);
    }
    match stowplan_lifecycle::trial_of(&results.experiment).map_err(|e| failed(&e))? {
        Trial::Verbs(plan) => {
            let summary = Summary::read(&results).or_exit(ExitCode::RunFailed)?;
            if args.full {
                tell!("{}", show::full(&summary, &judgement))?;
            }
            tell!("{}", show::screen(&summary, &judgement, &plan))?;
        }
        Trial::Scenario(scenario) => {
            let summary = ScenarioSummary::read(&results, &scenario);
            let summary = summary.or_exit(ExitCode::RunFailed)?;
            if args.full {
                let tables = stowplan_report::terminal(&judgement, table::width().into());
                tell!("{tables}\n")?;
            }
            tell!("{}", on_demand::screen(&summary, &scenario))?;
        }
    }
    for skipped in &verdicts.skipped {
        tell!("skipped: {}: {}", skipped.label, skipped.reason)?;
    }
    if let Some(end) = budget_end(outcome, &results, dir) {
        tell!("{end}")?;
    }
    tell!("report: {}", page.display())
}

/// An error of the suite, with its exit code.
fn failed(error: &LifecycleError) -> CommandError {
    match error {
        LifecycleError::Experiment(error) => execute::failed(error),
        LifecycleError::RealService { .. } => {
            let hint = "take the real programs out of the stack, or measure their start with `stowplan startup`";
            CommandError::from_error(ExitCode::BadInput, error).hint(hint)
        }
        LifecycleError::NoService { .. } => {
            CommandError::from_error(ExitCode::Usage, error).hint("give one of these as --service")
        }
        LifecycleError::NoToolbox { .. } => {
            let hint = "begin anew: another toolbox may have another compiler";
            CommandError::from_error(ExitCode::EngineUnavailable, error).hint(hint)
        }
        LifecycleError::Unplayable { hint, .. } => {
            CommandError::from_error(ExitCode::BadInput, error).hint(hint.clone())
        }
        LifecycleError::OtherSuite { .. } => CommandError::from_error(ExitCode::BadInput, error),
    }
}

#[cfg(test)]
mod tests;
