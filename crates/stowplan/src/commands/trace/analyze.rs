//! `stowplan trace analyze`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stowplan_model::units::show_ns;
use stowplan_stats::{Figure, Sorted, Summary as Statistics};
use stowplan_trace::{
    Analysis, Chain, ChainInstance, ChainResult, ChainSpec, Confidence, Fate, Linking, Parts,
    Reading, Window,
};

use crate::cli::AnalyzeArgs;
use crate::documents;
use crate::documents::trace::{AnalyzedChain, Part, StoppedAt, TraceAnalysis, TumParts};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{note, tell};
use crate::{inputs, table};

use super::instances::InstancesFile;
use super::{architecture, ends, offers};

/// Most chains that are shown between two places.
pub const CHAINS: usize = 20;

/// `stowplan trace analyze`.
pub fn run(args: &AnalyzeArgs) -> Result<(), CommandError> {
    let reading = Reading {
        linking: if args.as_tum {
            Linking::Tum
        } else {
            Linking::Best
        },
        ..Reading::default()
    };
    match (&args.from, &args.to, &args.stack, &args.architecture) {
        (Some(from), Some(to), _, _) => {
            let (analysis, chains) = find(&args.dir, reading, from, to)?;
            show(&analysis, measured(&analysis, chains), args)
        }
        (_, _, Some(stack), _) => {
            let analysis = open(&args.dir, reading)?;
            show(&analysis, of_stack(&analysis, stack)?, args)
        }
        (_, _, _, Some(file)) => {
            let analysis = open(&args.dir, reading)?;
            show(&analysis, of_architecture(&analysis, file)?, args)
        }
        _ => offers::run(args),
    }
}

/// Shows the chains. The instances of one are forgotten before the next one is measured: of a long trace those of all
/// would take more memory than the rest.
fn show(
    analysis: &Analysis,
    results: impl IntoIterator<Item = ChainResult>,
    args: &AnalyzeArgs,
) -> Result<(), CommandError> {
    let mut instances = args.parquet.as_deref().map(InstancesFile::new);
    let mut chains = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        if let Some(file) = &mut instances {
            file.add(analysis, number, &result)?;
        }
        chains.push(describe(analysis, &result, args.as_tum));
    }
    if let Some(file) = instances {
        file.close()?;
    }
    print(chains, args)
}

/// Reads a trace; what of it cannot be read is said on standard error.
pub fn open(dir: &Path, reading: Reading) -> Result<Analysis, CommandError> {
    let analysis = Analysis::from_ctf_with(dir, reading).or_exit(ExitCode::BadInput)?;
    super::warn(&analysis.damage, &analysis.discards, &analysis.graph);
    super::clocks::warn(&analysis.clocks);
    super::warn_of_repeats(&analysis.repeats);
    Ok(analysis)
}

fn of_architecture(analysis: &Analysis, file: &Path) -> Result<Vec<ChainResult>, CommandError> {
    let paths = architecture::read(file)?;
    let window = window(analysis);
    let mut results = Vec::new();
    let mut last = None;
    for path in &paths {
        match analysis.resolve_nodes(path) {
            Ok(chain) => results.push(analysis.measure(chain, window)),
            Err(error) => {
                note!("warning: {error}");
                last = Some(error);
            }
        }
    }
    match (results.is_empty(), last) {
        (true, Some(error)) => Err(CommandError::from_error(ExitCode::BadInput, &error)),
        _ => Ok(results),
    }
}

/// The chains between two places, measured.
pub fn between(
    dir: &Path,
    reading: Reading,
    from: &str,
    to: &str,
) -> Result<(Analysis, Vec<ChainResult>), CommandError> {
    let (analysis, chains) = find(dir, reading, from, to)?;
    let results = measured(&analysis, chains).collect();
    Ok((analysis, results))
}

/// The chains in the window, each measured when it is asked for.
fn measured(analysis: &Analysis, chains: Vec<Chain>) -> impl Iterator<Item = ChainResult> {
    let window = window(analysis);
    let chains = chains.into_iter();
    chains.map(move |chain| analysis.measure(chain, window))
}

/// The chains between two places. The trace is read twice: once to find them, once to keep what they need and nothing
/// else.
fn find(
    dir: &Path,
    reading: Reading,
    from: &str,
    to: &str,
) -> Result<(Analysis, Vec<Chain>), CommandError> {
    let ends = (ends::endpoint(from), ends::endpoint(to));
    let (analysis, found) = match reading.linking {
        Linking::Tum => {
            let analysis = open(dir, reading)?;
            let found = analysis.find_chains(ends.0, ends.1, CHAINS);
            (analysis, found)
        }
        Linking::Best => {
            let overview = super::counted(dir, reading)?;
            let found = overview.find_chains(ends.0, ends.1, CHAINS);
            let chains = found.chains.iter().map(|found| &found.chain);
            let overview = overview.without_durations();
            let analysis =
                Analysis::of_chains(dir, reading, &overview, chains).or_exit(ExitCode::BadInput)?;
            (analysis, found)
        }
    };
    if found.chains.is_empty() {
        return Err(ends::nothing_between(&analysis.graph, from, to));
    }
    if found.more {
        note!("warning: there are more than {CHAINS} chains; the shortest are shown");
    }
    let chains = found.chains.into_iter().map(|found| found.chain).collect();
    Ok((analysis, chains))
}

fn of_stack(analysis: &Analysis, stack: &str) -> Result<Vec<ChainResult>, CommandError> {
    let spec = inputs::stack(stack)?;
    let window = window(analysis);
    let chain = |chain| {
        analysis
            .chain(&ChainSpec::of_stack(chain), window)
            .or_exit(ExitCode::BadInput)
    };
    spec.stack().chains.iter().map(chain).collect()
}

/// The armed window of a trace of Stowplan, else the whole trace.
pub fn window(analysis: &Analysis) -> Window {
    analysis.armed_window().unwrap_or(Window::ALWAYS)
}

fn print(chains: Vec<AnalyzedChain>, args: &AnalyzeArgs) -> Result<(), CommandError> {
    if args.json {
        return documents::print(&TraceAnalysis {
            schema: "stowplan.trace-analyze/1",
            chains,
        });
    }
    for chain in &chains {
        tell!("{}", chain.name.as_deref().unwrap_or("chain"))?;
        tell!("  {}", chain.path.join("\n  → "))?;
        tell!(
            "  {} instances, {} invalid{}",
            chain.instances,
            chain.invalid,
            because(chain)
        )?;
        show_inputs(chain)?;
        tell!("{}\n", parts_table(chain))?;
    }
    Ok(())
}

/// How many inputs there were, and where those ended that gave no output.
fn show_inputs(chain: &AnalyzedChain) -> Result<(), CommandError> {
    tell!(
        "  {} inputs, {} used by an output",
        chain.inputs,
        chain.inputs_used
    )?;
    for stopped in &chain.inputs_stopped {
        tell!(
            "    {} ended at {}: {}",
            stopped.inputs,
            stopped.callback,
            stopped.reason
        )?;
    }
    if chain.inputs_left_out > 0 {
        tell!(
            "    {} more are so near the end that their output may come after it",
            chain.inputs_left_out
        )?;
    }
    if chain.outputs_without_input > 0 {
        tell!(
            "    {} outputs cannot be followed back to an input",
            chain.outputs_without_input
        )?;
    }
    Ok(())
}

fn stopped(analysis: &Analysis, result: &ChainResult) -> Vec<StoppedAt> {
    let stopped = result.stopped().into_iter();
    let stopped = stopped.map(|stopped| StoppedAt {
        callback: analysis
            .graph
            .describe(result.chain.callbacks[stopped.after]),
        reason: stopped.cause.in_words(),
        inputs: stopped.inputs,
    });
    stopped.collect()
}

/// Why instances are invalid.
fn because(chain: &AnalyzedChain) -> String {
    let reason = chain.reasons.get("invalid");
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

fn parts_table(chain: &AnalyzedChain) -> comfy_table::Table {
    let mut table = table::new(["part", "mean", "median", "P99", "max"]);
    let parts = [
        ("end to end, from the first callback's start", &chain.e2e_ns),
        (
            "end to end, from the first publication",
            &chain.e2e_from_publication_ns,
        ),
        ("computation", &chain.computation_ns),
        ("send", &chain.send_ns),
        ("transport", &chain.transport_ns),
        ("wait", &chain.wait_ns),
        ("idle", &chain.idle_ns),
    ];
    for (name, part) in parts {
        let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), show_ns);
        table.add_row([
            name.to_owned(),
            shown(part.as_ref().map(|p| p.mean)),
            shown(part.as_ref().map(|p| p.q50)),
            shown(part.as_ref().and_then(|p| p.p99)),
            shown(part.as_ref().map(|p| p.max)),
        ]);
    }
    table
}

pub fn describe(analysis: &Analysis, result: &ChainResult, as_tum: bool) -> AnalyzedChain {
    let mut reasons = BTreeMap::new();
    let mut part = |name: &str, of: &dyn Fn(&ChainInstance) -> Option<i64>| {
        let values: Option<Vec<f64>> = result
            .instances
            .iter()
            .map(|i| of(i).map(|ns| ns as f64))
            .collect();
        let summarised = match values {
            None => Err(missing(name).to_owned()),
            Some(values) => Sorted::new(values).map_err(|error| error.to_string()),
        };
        summarised
            .map_err(|reason| reasons.insert(name.to_owned(), reason))
            .ok()
            .map(|sorted| to_part(&sorted))
    };
    let sum = |of: fn(&Parts) -> Option<i64>| move |instance: &ChainInstance| of(&instance.parts);
    let entries = analysis.records_send(&result.chain);
    let e2e_ns = part("e2e_ns", &|instance| Some(instance.e2e_ns));
    let e2e_from_publication_ns = part("e2e_from_publication_ns", &|instance| {
        analysis.since_publication_ns(instance)
    });
    let computation_ns = part("computation_ns", &sum(|p| Some(p.computation_ns)));
    let send_ns = part("send_ns", &|instance| {
        entries.then_some(instance.parts.send_ns)
    });
    let transport_ns = part("transport_ns", &sum(|p| p.transport_ns));
    let wait_ns = part("wait_ns", &sum(|p| p.wait_ns));
    let idle_ns = part("idle_ns", &sum(|p| Some(p.idle_ns)));
    let tum = as_tum.then(|| TumParts {
        dds_ns: part("tum.dds_ns", &|i| Some(i.parts.communication_ns())),
        idle_ns: part("tum.idle_ns", &|i| Some(i.parts.idle_ns)),
        cpu_ns: part("tum.cpu_ns", &|i| Some(i.parts.computation_ns)),
    });
    let why: BTreeSet<&str> = result.invalid.iter().map(|i| i.reason.as_str()).collect();
    if !why.is_empty() {
        let why: Vec<&str> = why.into_iter().collect();
        reasons.insert("invalid".to_owned(), why.join("; "));
    }
    let confidence = result.instances.iter().map(|i| i.confidence).min();
    AnalyzedChain {
        name: (!result.chain.name.is_empty()).then(|| result.chain.name.clone()),
        path: result
            .chain
            .callbacks
            .iter()
            .map(|&id| analysis.graph.describe(id))
            .collect(),
        instances: result.instances.len() as u64,
        invalid: result.invalid.len() as u64,
        inputs: result.inputs.len() as u64,
        inputs_used: result
            .inputs
            .iter()
            .filter(|i| i.fate == Fate::Used)
            .count() as u64,
        inputs_stopped: stopped(analysis, result),
        inputs_left_out: result.left_out_ns.len() as u64,
        outputs_without_input: result.broken.len() as u64,
        e2e_ns,
        e2e_from_publication_ns,
        computation_ns,
        send_ns,
        transport_ns,
        wait_ns,
        idle_ns,
        tum,
        least_sure_link: confidence.map(Confidence::name),
        reasons,
    }
}

/// Why a part has no values.
fn missing(part: &str) -> &'static str {
    match part {
        "e2e_from_publication_ns" => {
            "the publication of a message that started the first callback was not found"
        }
        "send_ns" => {
            "this distribution has no event for the entry of a publication into the middleware"
        }
        _ => "the trace has no arrival of a message of the chain",
    }
}

fn to_part(sorted: &Sorted) -> Part {
    let statistics = Statistics::of_sorted(sorted);
    let values = sorted.values();
    Part {
        mean: statistics.mean.unwrap_or(f64::NAN),
        q50: sorted.quantile(0.5),
        p99: statistics.p99,
        p99_reason: statistics.why_missing(Figure::P99).map(|w| w.to_string()),
        max: values[values.len() - 1],
    }
}
