//! `stowplan trace graph`: nodes and messages as Graphviz DOT or SVG.

use std::collections::BTreeSet;

use stowplan_report::{Form, Limits, NodeGraph, View};
use stowplan_trace::{Overview, Reading};

use super::analyze::CHAINS;
use crate::cli::GraphArgs;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{note, tell_on};

/// Runs the command.
pub fn run(args: &GraphArgs) -> Result<(), CommandError> {
    let overview = Overview::from_ctf(&args.dir, Reading::default()).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let graph = NodeGraph::of(&overview, args.every_topic);
    let is_svg = |file: &std::path::PathBuf| file.extension().is_some_and(|end| end == "svg");
    let text = if args.svg || args.output.as_ref().is_some_and(is_svg) {
        graph.svg(&view(args, &graph, &overview)?, Form::File)
    } else {
        graph.dot()
    };
    match &args.output {
        None => tell_on!("{text}"),
        Some(file) => std::fs::write(file, text).map_err(|error| {
            let message = format!("cannot write {}: {error}", file.display());
            CommandError::new(ExitCode::BadInput, message)
        }),
    }
}

/// What was asked for, else what can be read.
fn view(args: &GraphArgs, graph: &NodeGraph, overview: &Overview) -> Result<View, CommandError> {
    if let (Some(from), Some(to)) = (&args.from, &args.to) {
        return between(overview, from, to);
    }
    if let Some(module) = &args.module {
        let modules = graph.modules();
        if !modules.contains(&module.as_str()) {
            let message = format!("the trace has no module '{module}'");
            let hint = format!("name one of: {}", modules.join(", "));
            return Err(CommandError::new(ExitCode::BadInput, message).hint(hint));
        }
        return Ok(View::Module(module.clone()));
    }
    let view = graph.readable(Limits::default());
    if view == View::Modules {
        note!(
            "{} nodes are too many for one picture: modules are drawn\nhint: --module NAME, or --from and --to, \
             draws nodes",
            graph.nodes.len()
        );
    }
    Ok(view)
}

/// The nodes of the chains between two places.
fn between(overview: &Overview, from: &str, to: &str) -> Result<View, CommandError> {
    let ends = (super::ends::endpoint(from), super::ends::endpoint(to));
    let found = overview.find_chains(ends.0, ends.1, CHAINS);
    if found.chains.is_empty() {
        return Err(super::ends::nothing_between(&overview.graph, from, to));
    }
    let graph = &overview.graph;
    let callbacks = found.chains.iter().flat_map(|found| &found.chain.callbacks);
    let nodes: BTreeSet<String> = callbacks
        .filter_map(|&callback| Some(graph.nodes[graph.node_of(callback)?].full_name()))
        .collect();
    Ok(View::Only(nodes))
}
