//! `run`, `startup`, `latency`, `usage` and `demo`: from options to a request, and what is told at the end.

mod end;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stowplan_host::facts::online_cpus;
use stowplan_host::preemption::SwitchRecorder;
use stowplan_model::{Isolation, Launching, Partition, Resources};
use stowplan_run::request::DeploymentRequest;
use stowplan_run::{Ask, Question, Request, Starts};
use stowplan_spec::{AskedCpu, ListedDeployment, Problem, RunOptions, Spec, SpecError};

use crate::cli::{DemoArgs, MeasureArgs, ReadyMadeArgs, RunArgs};
use crate::commands::against::Against;
use crate::commands::require::Requirements;
use crate::engines;
use crate::execute::{Sessions, failed};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::inputs;
use crate::progress::{ProgressLine, Style};

pub use end::{budget_end, ended, judged};

/// Blocks below which no verdict is given (docs/measuring.md §5).
pub const BLOCKS: u32 = 6;

/// Most blocks of an experiment that its pilot sizes, where the user does not say.
const MOST_BLOCKS: u32 = 60;

/// What a ready-made experiment asks for where the user does not say.
struct Defaults {
    question: Question,
    name: &'static str,
    places: &'static [&'static str],
    partitions: &'static [&'static str],
    starts: Starts,
    warm_up: Duration,
    window: Duration,
}

const STARTUP: Defaults = Defaults {
    question: Question::StartUp,
    name: "startup",
    places: &[engines::FLAT, engines::CONTAINERS],
    partitions: &["single", "modules"],
    starts: Starts::ColdThenReRun,
    // The longest wait for the first output of a chain after the last endpoint is matched.
    warm_up: Duration::from_secs(3),
    window: Duration::ZERO,
};

const LATENCY: Defaults = Defaults {
    question: Question::Latency,
    name: "latency",
    places: &engines::CONTROLLED,
    partitions: &["single", "modules"],
    starts: Starts::Warm,
    warm_up: Duration::from_secs(2),
    window: Duration::from_secs(20),
};

const USAGE: Defaults = Defaults {
    question: Question::Usage,
    name: "usage",
    ..LATENCY
};

/// `stowplan startup`.
pub fn startup(args: &ReadyMadeArgs) -> Result<(), CommandError> {
    ready_made(args, &STARTUP)
}

/// `stowplan latency`.
pub fn latency(args: &ReadyMadeArgs) -> Result<(), CommandError> {
    ready_made(args, &LATENCY)
}

/// `stowplan usage`.
pub fn usage(args: &ReadyMadeArgs) -> Result<(), CommandError> {
    ready_made(args, &USAGE)
}

/// `stowplan demo`: `contended` in one service and in several, on the three places of the reference question.
pub fn demo(args: &DemoArgs) -> Result<(), CommandError> {
    let asked = of_demo(args);
    let request = request(
        &asked,
        &Defaults {
            name: "demo",
            warm_up: Duration::from_secs(1),
            ..LATENCY
        },
    )?;
    begin(&request, &asked.measure)
}

/// The options that `demo` stands for.
fn of_demo(args: &DemoArgs) -> ReadyMadeArgs {
    ReadyMadeArgs {
        stack: Some("contended".to_owned()),
        place: Vec::new(),
        partition: Vec::new(),
        ablation: false,
        blocks: Some(args.blocks),
        pilot: false,
        sensitivity: false,
        window: Some("2s".to_owned()),
        warm_up: None,
        utilisation: None,
        seed: None,
        measure: MeasureArgs {
            out: args.out.clone(),
            budget: None,
            settle: "20s".to_owned(),
            resume: None,
            delta: Vec::new(),
            options: RunOptions::default(),
            parallelism: None,
            launch: Vec::new(),
            natural_phase: false,
            dds: None,
            // A machine without containers has a demo of plain processes.
            skip_missing: true,
            against: None,
            as_measured: false,
            require: Vec::new(),
            require_verdict: false,
            full: args.full,
            quiet: args.quiet,
            json: false,
        },
    }
}

/// `stowplan run`.
pub fn run(args: &RunArgs) -> Result<(), CommandError> {
    if let Some(folder) = &args.measure.resume {
        return resume(folder, &args.measure);
    }
    begin(&of_run(args)?, &args.measure)
}

/// What an experiment file asks for, with what the command line adds or changes.
fn of_run(args: &RunArgs) -> Result<Request, CommandError> {
    let file = args.experiment.as_deref().unwrap_or(Path::new(""));
    let mut request = of_file(file, &args.measure.options)?;
    request.budget_ns = budget(&args.measure)?.or(request.budget_ns);
    request.deltas.extend(inputs::deltas(&args.measure.delta)?);
    request.parallelism = args.measure.parallelism.or(request.parallelism);
    if !args.measure.launch.is_empty() {
        request.launch(&inputs::launch(&args.measure.launch)?);
    }
    request.natural_phase |= args.measure.natural_phase;
    request.dds = args.measure.dds.clone().or(request.dds);
    request.skip_missing = args.measure.skip_missing;
    Ok(request)
}

/// What an experiment asks for, a shipped one or a file, with these options beside its own.
pub fn of_file(path: &Path, more: &RunOptions) -> Result<Request, CommandError> {
    let known = engines::known()?;
    let name = path.to_string_lossy();
    let found = stowplan_spec::find_experiment(&name, &known).or_exit(ExitCode::BadInput)?;
    let (experiment, base) = (found.0, found.1.as_path());
    has_cpus(&experiment.cpus, path)?;
    let (file, text) = inputs::stack_text(&experiment.stack, base)?;
    let mut options = experiment.options;
    options.replay = options.replay.map(|replay| replay.below(base));
    options |= more.clone();
    let spec = spec(&text, &file, &options)?;
    let mut texts: Vec<&String> = experiment.partitions.iter().collect();
    for listed in &experiment.deployments {
        if !texts.contains(&&listed.partition) {
            texts.push(&listed.partition);
        }
    }
    let partition = |text: &String| {
        let choice = stowplan_spec::find_partition(text, base).or_exit(ExitCode::BadInput)?;
        stowplan_plan::partition(spec.stack(), &choice).or_exit(ExitCode::BadInput)
    };
    let partitions = texts.iter().map(|text| partition(text));
    let partitions: Vec<Partition> = partitions.collect::<Result<_, CommandError>>()?;
    let named = texts.into_iter().zip(&partitions);
    let listed = listed(&experiment.deployments, &named.collect());
    let mut request = Request::new(Ask {
        name: experiment.name.to_string(),
        question: Question::Everything,
        stack: (&file, &text),
        places: experiment.places.iter().map(ToString::to_string).collect(),
        partitions,
        blocks: number_of_blocks(experiment.blocks, experiment.pilot),
        pilot: experiment.pilot,
        sensitivity: experiment.sensitivity,
        seed: experiment.seed,
        warm_up_ns: experiment.warm_up_ns,
        window_ns: experiment.window_ns.unwrap_or_default(),
        budget_ns: experiment.budget_ns,
        starts: match experiment.start {
            None => Starts::Warm,
            Some(stowplan_spec::Start::Cold) => Starts::Cold,
            Some(stowplan_spec::Start::ReRun) => Starts::ReRun,
        },
        utilisation: experiment.utilisation,
        resources: experiment.resources.clone(),
        listed,
        isolation: experiment.isolation,
        ablation: experiment.ablation,
        variants: Launching::variants(&experiment.launch),
        phase_spans: Vec::new(),
        natural_phase: experiment.natural_phase,
        dds: experiment.dds,
        parallelism: experiment.parallelism,
        options,
        command: std::env::args().collect(),
    });
    request.deltas = experiment.delta;
    replaying(request, experiment.window_ns)
}

/// Whether this machine has the CPUs that the limits of a file name: said with the place of the first that it lacks.
fn has_cpus(asked: &[AskedCpu], file: &Path) -> Result<(), CommandError> {
    let online = online_cpus().or_exit(ExitCode::RunFailed)?;
    let Some(lacks) = asked.iter().find(|asked| !online.contains(&asked.cpu)) else {
        return Ok(());
    };
    let have: Vec<String> = online.iter().map(ToString::to_string).collect();
    let have = have.join(", ");
    let problem = Problem {
        file: file.display().to_string(),
        line: lacks.line,
        column: lacks.column,
        message: format!(
            "limits of service '{}' name CPU {}, and this machine has CPUs {have}",
            lacks.service, lacks.cpu
        ),
        hint: Some(format!("write those that it has, as cpuset: [{have}]")),
    };
    Err(SpecError::Invalid(vec![problem])).or_exit(ExitCode::BadInput)
}

/// A stack with what these options add to it.
fn spec(text: &str, file: &str, options: &RunOptions) -> Result<Spec, CommandError> {
    stowplan_spec::parse_spec(text, file)
        .and_then(|spec| spec.with_timers(&options.timers))
        .and_then(|spec| spec.with_neighbours(options.neighbours))
        .or_exit(ExitCode::BadInput)
}

/// Deployments of a file by the names that its partitions have.
fn listed(
    all: &[ListedDeployment],
    partitions: &BTreeMap<&String, &Partition>,
) -> Vec<DeploymentRequest> {
    let listed = all.iter().map(|one| DeploymentRequest {
        place: one.place.to_string(),
        partition: partitions[&one.partition].name.clone(),
        resources: one.resources.as_ref().map(ToString::to_string),
    });
    listed.collect()
}

fn begin(request: &Request, measure: &MeasureArgs) -> Result<(), CommandError> {
    if request.options.preemption {
        // Not found out when the first run is to be recorded.
        SwitchRecorder::start(Duration::ZERO).or_exit(ExitCode::EngineUnavailable)?;
    }
    let Against { as_measured, again } = Against::of_new(measure)?;
    let mut request = request.clone();
    if let Some(earlier) = &as_measured {
        // What the request does not have, the figures may still: an older result has no work in time.
        Request::load(earlier.dir())
            .iter()
            .for_each(|of| request.calibrate_as(of));
    }
    let sessions = Sessions::new(settle(measure)?)?.comparable(as_measured.clone());
    let requirements = Requirements::read(&measure.require)?;
    let mut progress = ProgressLine::new(Style::of(measure.quiet), String::new());
    let executed = sessions.begin(&request, again.as_ref(), &measure.out, &mut progress)?;
    drop(progress);
    end::finish(&executed, measure, as_measured.as_ref(), &requirements)
}

fn ready_made(args: &ReadyMadeArgs, defaults: &Defaults) -> Result<(), CommandError> {
    match &args.measure.resume {
        Some(folder) => resume(folder, &args.measure),
        None => begin(&request(args, defaults)?, &args.measure),
    }
}

fn resume(folder: &Path, measure: &MeasureArgs) -> Result<(), CommandError> {
    let Against { as_measured, .. } = Against::of_resumed(folder, measure)?;
    let sessions = Sessions::new(settle(measure)?)?.comparable(as_measured.clone());
    let requirements = Requirements::read(&measure.require)?;
    let mut progress = ProgressLine::new(Style::of(measure.quiet), String::new());
    let executed = sessions.resume(folder, budget(measure)?, &mut progress)?;
    drop(progress);
    end::finish(&executed, measure, as_measured.as_ref(), &requirements)
}

fn request(args: &ReadyMadeArgs, defaults: &Defaults) -> Result<Request, CommandError> {
    let name = args.stack.as_deref().unwrap_or_default();
    let (file, text) = inputs::stack_text(name, Path::new("."))?;
    let spec = spec(&text, &file, &args.measure.options)?;
    // An ablation brings its places, and has one partition: one with several services, so that there are groups.
    let (default_places, default_partitions): (&[&str], &[&str]) = if args.ablation {
        (&[], &["modules"])
    } else {
        (defaults.places, defaults.partitions)
    };
    let places = inputs::places(&or_default(&args.place, default_places))?;
    let partitions = or_default(&args.partition, default_partitions)
        .iter()
        .map(|p| inputs::partition(spec.stack(), p))
        .collect::<Result<_, _>>()?;
    let duration = |given: &Option<String>| given.as_deref().map(inputs::duration).transpose();
    let asked_window = duration(&args.window)?;
    let window = asked_window.unwrap_or(defaults.window);
    let warm_up = duration(&args.warm_up)?.unwrap_or(defaults.warm_up);
    if window.is_zero() && defaults.question != Question::StartUp {
        let message = format!("'{}' needs a window that is longer than 0", defaults.name);
        return Err(CommandError::new(ExitCode::Usage, message));
    }
    let mut request = Request::new(Ask {
        name: format!("{}-{}", defaults.name, spec.stack().name),
        question: defaults.question,
        stack: (&file, &text),
        places,
        partitions,
        blocks: number_of_blocks(args.blocks, args.pilot),
        pilot: args.pilot,
        sensitivity: args.sensitivity,
        seed: args.seed.unwrap_or(1),
        warm_up_ns: nanos(warm_up),
        window_ns: nanos(window),
        budget_ns: budget(&args.measure)?,
        starts: defaults.starts,
        utilisation: inputs::utilisation(args.utilisation)?,
        resources: vec![Resources::default()],
        listed: Vec::new(),
        isolation: Isolation::default(),
        ablation: args.ablation,
        variants: Launching::variants(&inputs::launch(&args.measure.launch)?),
        phase_spans: Vec::new(),
        natural_phase: args.measure.natural_phase,
        dds: inputs::dds_profile(args.measure.dds.as_deref())?,
        parallelism: args.measure.parallelism,
        options: args.measure.options.clone(),
        command: std::env::args().collect(),
    });
    request.deltas = inputs::deltas(&args.measure.delta)?;
    request.skip_missing = args.measure.skip_missing;
    // A start-up has no window, whatever is replayed.
    let own_window = asked_window.or(Some(window).filter(Duration::is_zero));
    replaying(request, own_window.map(nanos))
}

/// A request with what it replays, where that is anything, in a window of its own if it has one.
fn replaying(request: Request, window_ns: Option<u64>) -> Result<Request, CommandError> {
    request.replaying(window_ns).map_err(|error| failed(&error))
}

/// As asked for; else the fewest that carry a verdict, or the most that a pilot may fix.
fn number_of_blocks(asked: Option<u32>, pilot: bool) -> u32 {
    asked.unwrap_or(if pilot { MOST_BLOCKS } else { BLOCKS })
}

pub fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    if given.is_empty() {
        default.iter().map(ToString::to_string).collect()
    } else {
        given.to_vec()
    }
}

fn budget(measure: &MeasureArgs) -> Result<Option<u64>, CommandError> {
    measure
        .budget
        .as_deref()
        .map(|text| inputs::duration(text).map(nanos))
        .transpose()
}

fn settle(measure: &MeasureArgs) -> Result<Duration, CommandError> {
    inputs::duration(&measure.settle)
}

/// Nanoseconds of a duration.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
