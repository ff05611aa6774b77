//! `stowplan trace info` and `stowplan trace analyze`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stowplan_ctf::dir::TraceFolder;
use stowplan_model::units::show_ns;
use stowplan_stats::{Sorted, Summary as Statistics};
use stowplan_trace::{Analysis, ChainInstance, ChainResult, ChainSpec, Endpoint, Parts, Window};

use crate::cli::TraceCommand;
use crate::documents::trace::{AnalyzedChain, Part, TraceAnalysis, TraceInfo};
use crate::documents::{self};
use crate::failure::{CommandError, ExitCode, OrExit, in_words};
use crate::output::{note, tell};
use crate::{inputs, table};

/// Most chains that are shown between two places.
const CHAINS: usize = 20;

/// Runs the command.
pub fn run(command: &TraceCommand) -> Result<(), CommandError> {
    match command {
        TraceCommand::Info { dir, json, events } => info(dir, *json, *events),
        TraceCommand::Analyze {
            dir,
            from,
            to,
            stack,
            json,
        } => {
            let analysis = open(dir)?;
            let chains = match (from, to, stack) {
                (Some(from), Some(to), _) => between(&analysis, from, to)?,
                (_, _, Some(stack)) => of_stack(&analysis, stack)?,
                _ => Vec::new(),
            };
            analyze(&analysis, &chains, *json)
        }
    }
}

/// Reads a trace; what of it cannot be read is said on standard error.
fn open(dir: &Path) -> Result<Analysis, CommandError> {
    let analysis = Analysis::from_ctf(dir).or_exit(ExitCode::BadInput)?;
    for error in &analysis.damage {
        note!("warning: read in part: {}", in_words(error));
    }
    Ok(analysis)
}

fn info(dir: &Path, json: bool, with_events: bool) -> Result<(), CommandError> {
    let folder = TraceFolder::open(dir).or_exit(ExitCode::BadInput)?;
    let summary = folder.summary().or_exit(ExitCode::BadInput)?;
    let analysis = open(dir)?;
    let graph = &analysis.graph;
    let topics: BTreeSet<&String> = graph.topics.iter().map(|(_, name)| name).collect();
    let versions: BTreeSet<String> = graph
        .processes
        .iter()
        .filter_map(|(_, p)| p.tracetools_version.clone())
        .collect();
    let version =
        (!versions.is_empty()).then(|| versions.into_iter().collect::<Vec<_>>().join(", "));
    let document = TraceInfo {
        schema: "stowplan.trace-info/1",
        events: summary.events,
        discarded_events: summary.discarded_events,
        duration_ns: summary
            .duration_ns()
            .and_then(|ns| u64::try_from(ns).ok())
            .unwrap_or(0),
        processes: graph.processes.len() as u64,
        nodes: graph.nodes.len() as u64,
        topics: topics.len() as u64,
        tracetools_version_reason: version
            .is_none()
            .then(|| "no process recorded ros2:rcl_init".to_owned()),
        tracetools_version: version,
        by_event: with_events.then(|| summary.by_name.clone()),
    };
    if json {
        return documents::print(&document);
    }
    tell!(
        "{} events in {}, {} discarded; {} processes, {} nodes, {} topics; tracetools {}",
        document.events,
        show_ns(document.duration_ns as f64),
        document.discarded_events,
        document.processes,
        document.nodes,
        document.topics,
        document
            .tracetools_version
            .as_deref()
            .unwrap_or("unknown: no process recorded ros2:rcl_init"),
    )?;
    if with_events {
        let mut table = table::new(["event", "count"]);
        for (name, count) in &summary.by_name {
            table.add_row([name.clone(), count.to_string()]);
        }
        tell!("{table}")?;
    }
    Ok(())
}

fn between(analysis: &Analysis, from: &str, to: &str) -> Result<Vec<ChainResult>, CommandError> {
    let found = analysis.find_chains(Endpoint::Either(from), Endpoint::Either(to), CHAINS);
    if found.chains.is_empty() {
        let message = format!("nothing in this trace leads from '{from}' to '{to}'");
        return Err(CommandError::new(ExitCode::BadInput, message)
            .hint("give a topic or a node; `trace info` counts what is there"));
    }
    if found.more {
        note!("warning: there are more than {CHAINS} chains; the shortest are shown");
    }
    let window = window(analysis);
    Ok(found
        .chains
        .into_iter()
        .map(|chain| analysis.measure(chain.chain, window))
        .collect())
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
fn window(analysis: &Analysis) -> Window {
    analysis.armed_window().unwrap_or(Window::ALWAYS)
}

fn analyze(analysis: &Analysis, results: &[ChainResult], json: bool) -> Result<(), CommandError> {
    let chains: Vec<AnalyzedChain> = results
        .iter()
        .map(|result| describe(analysis, result))
        .collect::<Result<_, _>>()?;
    if json {
        return documents::print(&TraceAnalysis {
            schema: "stowplan.trace-analyze/1",
            chains,
        });
    }
    for chain in &chains {
        tell!("{}", chain.name.as_deref().unwrap_or("chain"))?;
        tell!("  {}", chain.path.join("\n  → "))?;
        tell!("  {} instances, {} invalid", chain.instances, chain.invalid)?;
        tell!("{}\n", parts_table(chain))?;
    }
    Ok(())
}

fn parts_table(chain: &AnalyzedChain) -> comfy_table::Table {
    let mut table = table::new(["part", "mean", "median", "P99", "max"]);
    let parts = [
        ("end to end", &chain.e2e_ns),
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

fn describe(analysis: &Analysis, result: &ChainResult) -> Result<AnalyzedChain, CommandError> {
    let mut reasons = BTreeMap::new();
    let mut part = |name: &str, of: &dyn Fn(&ChainInstance) -> Option<i64>| {
        let values: Option<Vec<f64>> = result
            .instances
            .iter()
            .map(|i| of(i).map(|ns| ns as f64))
            .collect();
        let summarised = match values {
            None => Err("the trace has no arrival of a message of the chain".to_owned()),
            Some(values) => Sorted::new(values).map_err(|error| error.to_string()),
        };
        summarised
            .map_err(|reason| reasons.insert(name.to_owned(), reason))
            .ok()
            .map(|sorted| to_part(&sorted))
    };
    let sum = |of: fn(&Parts) -> Option<i64>| move |instance: &ChainInstance| of(&instance.parts);
    let e2e_ns = part("e2e_ns", &|instance| Some(instance.e2e_ns));
    let computation_ns = part("computation_ns", &sum(|p| Some(p.computation_ns)));
    let send_ns = part("send_ns", &sum(|p| Some(p.send_ns)));
    let transport_ns = part("transport_ns", &sum(|p| p.transport_ns));
    let wait_ns = part("wait_ns", &sum(|p| p.wait_ns));
    let idle_ns = part("idle_ns", &sum(|p| Some(p.idle_ns)));
    Ok(AnalyzedChain {
        name: (!result.chain.name.is_empty()).then(|| result.chain.name.clone()),
        path: result
            .chain
            .callbacks
            .iter()
            .map(|&id| analysis.graph.describe(id))
            .collect(),
        instances: result.instances.len() as u64,
        invalid: result.invalid.len() as u64,
        e2e_ns,
        computation_ns,
        send_ns,
        transport_ns,
        wait_ns,
        idle_ns,
        reasons,
    })
}

fn to_part(sorted: &Sorted) -> Part {
    let statistics = Statistics::of_sorted(sorted);
    let values = sorted.values();
    Part {
        mean: statistics.mean.unwrap_or(f64::NAN),
        q50: sorted.quantile(0.5),
        p99: statistics.p99,
        max: values[values.len() - 1],
    }
}
