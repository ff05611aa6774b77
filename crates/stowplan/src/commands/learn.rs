//! `stowplan trace learn`: a stack from a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use stowplan_learn::{Counted, Facts, Fit, Learned, Options, Round};
use stowplan_model::units::show_ns;
use stowplan_model::{FIRST_LEVEL_BYTES, Stack};
use stowplan_results::{Results, SubjectKind};
use stowplan_run::Request;
use stowplan_run::request::REQUEST_FILE;
use stowplan_trace::Analysis;

use crate::cli::LearnArgs;
use crate::commands::plan;
use crate::documents::learn::LearntTrace;
use crate::documents::{self};
use crate::failure::{CommandError, ExitCode, OrExit, in_words};
use crate::output::{note, tell, tell_on};

/// Runs the command.
pub fn run(args: &LearnArgs) -> Result<(), CommandError> {
    let ns_per_iteration = match args.ns_per_iteration {
        Some(ns) if ns.is_finite() && ns > 0.0 => ns,
        Some(ns) => {
            let message = format!("an iteration cannot take {ns} ns");
            return Err(CommandError::new(ExitCode::Usage, message));
        }
        // The statistic that the blocks of an experiment have, so that both say the same of one machine.
        None => plan::speed(&[FIRST_LEVEL_BYTES])?.ns(),
    };
    let analysis = read(&args.dir)?;
    let options = Options {
        name: args.name.clone().unwrap_or_else(|| name_of(args)),
        ns_per_iteration,
        cpus: std::thread::available_parallelism()
            .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        chain: args.from.clone().zip(args.to.clone()),
        launch_begin_ns: launch_begin(&args.dir, &analysis),
        fit: fit(&args.fit)?,
    };
    let learned = learnt(&analysis, &options)?;
    let yaml = learned.draft.to_yaml();
    write_stack(&yaml, args.output.as_deref(), args.json)?;
    if args.json {
        return documents::print(&LearntTrace::of(&learned.facts));
    }
    match &args.output {
        Some(path) => summary(&learned, path),
        None => Ok(()),
    }
}

fn read(dir: &Path) -> Result<Analysis, CommandError> {
    let analysis = Analysis::from_ctf(dir).or_exit(ExitCode::BadInput)?;
    for error in &analysis.damage {
        note!(
            "warning: {} is read in part: {}",
            dir.display(),
            in_words(error)
        );
    }
    super::trace::warn_of_repeats(&analysis.repeats);
    Ok(analysis)
}

fn learnt(analysis: &Analysis, options: &Options) -> Result<Learned, CommandError> {
    stowplan_learn::learn(analysis, options).map_err(|error| {
        CommandError::from_error(ExitCode::BadInput, &error)
            .hint("`stowplan trace info --events` counts what is in the trace")
    })
}

/// What a trace says, in the names that a stack learnt from it has.
pub fn facts(dir: &Path) -> Result<Facts, CommandError> {
    let analysis = read(dir)?;
    let options = Options {
        name: "facts".to_owned(),
        // Facts are in nanoseconds.
        ns_per_iteration: 1.0,
        cpus: 1,
        chain: None,
        launch_begin_ns: launch_begin(dir, &analysis),
        fit: None,
    };
    Ok(learnt(&analysis, &options)?.facts)
}

fn fit(dirs: &[PathBuf]) -> Result<Option<Fit>, CommandError> {
    let mut by_result: Vec<(Option<PathBuf>, Vec<PathBuf>)> = Vec::new();
    for dir in dirs {
        let result = result_of(dir).map(|(result, _)| result);
        match by_result.iter_mut().find(|(of, _)| *of == result) {
            Some((_, runs)) => runs.push(dir.clone()),
            None => by_result.push((result, vec![dir.clone()])),
        }
    }
    let rounds = by_result.iter().map(|(_, runs)| of_runs(runs));
    let rounds: Vec<Round> = rounds.collect::<Result<_, _>>()?;
    Ok((!rounds.is_empty()).then_some(Fit { rounds }))
}

/// What runs of one stack say together, whose traces lie in their result.
pub fn of_runs(dirs: &[PathBuf]) -> Result<Round, CommandError> {
    let refused = |message: &str| CommandError::new(ExitCode::Usage, message.to_owned());
    let (results, numbers): (BTreeSet<_>, BTreeSet<_>) =
        dirs.iter().map(|dir| result_of(dir).unzip()).unzip();
    if results.len() > 1 {
        let message = "the runs are of different results";
        return Err(refused(message).hint("give runs of one result"));
    }
    let runs: Vec<Facts> = dirs
        .iter()
        .map(|dir| facts(dir))
        .collect::<Result<_, _>>()?;
    let run = Facts::over(runs).ok_or_else(|| refused("no run was given"))?;
    let mut round = Round {
        run,
        work_scale: 1.0,
        ns_per_iteration: None,
        counted_ns: None,
        counted: BTreeMap::new(),
    };
    if let Some(result) = results.iter().flatten().next() {
        let numbers = numbers.into_iter().flatten().collect();
        let results = Results::open(result).or_exit(ExitCode::BadInput)?;
        let request = Request::load(result).or_exit(ExitCode::BadInput)?;
        let spec = request.spec().or_exit(ExitCode::BadInput)?;
        round.work_scale = results.experiment.scale_factor.unwrap_or(1.0);
        round.ns_per_iteration = speed(&results, &numbers);
        round.counted_ns = spec.stack().ns_per_iteration;
        round.counted = counted(spec.stack());
    }
    Ok(round)
}

/// Nanoseconds that an iteration took in the blocks of these runs, in the geometric mean.
fn speed(results: &Results, runs: &BTreeSet<u32>) -> Option<f64> {
    let rows = results.runs.iter().filter(|row| runs.contains(&row.run));
    let logarithms: Option<Vec<f64>> = rows.map(|row| row.calibration_ns.map(f64::ln)).collect();
    let logarithms = logarithms.filter(|all| !all.is_empty())?;
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// What a call of each callback counts.
fn counted(stack: &Stack) -> BTreeMap<(String, String), Counted> {
    let topics = stack.topics.iter().filter(|topic| !topic.intra_process);
    let serialising: BTreeMap<&str, f64> = topics
        .filter_map(|topic| {
            let cost = topic.serialisation?;
            Some((topic.name.as_str(), cost.iterations(topic.bytes.median())))
        })
        .collect();
    let nodes = stack.nodes.iter();
    let callbacks = nodes.flat_map(|node| {
        node.callbacks.iter().map(|callback| {
            let messages = callback.publishes.iter();
            let counted = Counted {
                work: callback.work.iterations.median(),
                serialising: messages
                    .filter_map(|topic| serialising.get(topic.as_str()))
                    .sum(),
            };
            ((node.name.to_string(), callback.name.to_string()), counted)
        })
    });
    callbacks.collect()
}

/// The result that a run's trace lies in, and the number of the run.
fn result_of(dir: &Path) -> Option<(PathBuf, u32)> {
    let dir = dir.canonicalize().ok()?;
    let run = dir.file_name()?.to_str()?.strip_prefix("run-")?;
    let result = dir.parent()?.parent()?;
    let found = (result.to_owned(), run.parse().ok()?);
    result.join(REQUEST_FILE).exists().then_some(found)
}

/// When the launchers of a run of ours began, for a trace that lies in its result: they record no events,
/// but the run's start-up says so. Both know when nodes were loaded, which ties their clocks together.
fn launch_begin(dir: &Path, analysis: &Analysis) -> Option<i64> {
    let (result, run) = result_of(dir)?;
    let rows = Results::open(result).ok()?.startup().ok()?;
    let rows: Vec<_> = rows.into_iter().filter(|row| row.run == run).collect();
    let total = rows
        .iter()
        .find(|row| row.subject_kind == SubjectKind::Total)?;
    let loaded = |name: &str| {
        let mut loaded = analysis.marks.loaded.iter();
        loaded
            .find(|l| l.1.trim_start_matches('/') == name)
            .map(|l| l.3)
    };
    let t0 = rows
        .iter()
        .filter(|row| row.subject_kind == SubjectKind::Node)
        .find_map(|row| Some(loaded(&row.subject)? - row.end_ns?))?;
    Some(t0 + total.first_instruction_ns?)
}

/// The name of the file that is written, else that of the trace's folder.
fn name_of(args: &LearnArgs) -> String {
    let path = args.output.as_deref().unwrap_or(&args.dir);
    path.file_stem().map_or_else(
        || "learnt".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// Checks a stack that was made and writes it to a file, or else to standard output unless that is for
/// something else.
pub fn write_stack(yaml: &str, output: Option<&Path>, silent: bool) -> Result<(), CommandError> {
    let shown = output.map_or_else(|| "the stack".to_owned(), |path| path.display().to_string());
    stowplan_spec::parse_spec(yaml, &shown).or_exit(ExitCode::BadInput)?;
    match output {
        Some(path) => std::fs::write(path, yaml).map_err(|error| {
            CommandError::new(
                ExitCode::RunFailed,
                format!("cannot write {shown}: {error}"),
            )
        }),
        None if silent => Ok(()),
        None => tell_on!("{yaml}"),
    }
}

fn summary(learned: &Learned, path: &Path) -> Result<(), CommandError> {
    let Facts {
        nodes,
        processes,
        containers,
        ..
    } = learned.facts;
    let callbacks: usize = learned.draft.nodes().map(|node| node.callbacks.len()).sum();
    tell!(
        "{}: {nodes} nodes in {processes} processes, {containers} of them component containers; {} topics, {callbacks} callbacks, {} chains; from {} of the trace",
        path.display(),
        learned.draft.topics.len(),
        learned.draft.chains.len(),
        show_ns(learned.facts.window_ns as f64),
    )?;
    if let Some(fitted) = &learned.fitted {
        tell!(
            "fitted: the work of {} callbacks, the serialising of {} topics{}",
            fitted.callbacks,
            fitted.topics,
            fitted.stretch.map_or_else(String::new, |stretch| format!(
                "; the launch takes {stretch:.2} times as long as in the trace"
            ))
        )?;
    }
    match (&learned.facts.launch, &learned.facts.launch_reason) {
        (Some(times), _) => {
            let shares = times.shares().unwrap_or_default();
            tell!(
                "launch: {} from launch's own node to the last node: {:.0} % evaluate, {:.0} % spawn, {:.0} % load",
                show_ns(times.total_ns() as f64),
                shares[0] * 100.0,
                shares[1] * 100.0,
                shares[2] * 100.0
            )
        }
        (None, reason) => tell!(
            "launch: not known, {}",
            reason.as_deref().unwrap_or_default()
        ),
    }
}
