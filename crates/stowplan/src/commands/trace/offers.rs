//! Chains that a trace has, for a user who has named none.

use stowplan_trace::{Chain, FoundChain, Graph, Reading};

use crate::cli::AnalyzeArgs;
use crate::documents;
use crate::documents::trace::{OfferedChain, TraceChains};
use crate::failure::{CommandError, ExitCode};
use crate::output::tell;

/// Most chains that are listed.
const CHAINS: usize = 10;

/// Lists the longest chains with the words that ask for each.
pub fn run(args: &AnalyzeArgs) -> Result<(), CommandError> {
    let overview = super::counted(&args.dir, Reading::default())?;
    let found = overview.longest_chains(CHAINS);
    let offered: Vec<OfferedChain> = found
        .iter()
        .filter_map(|found| offer(&overview.graph, found))
        .collect();
    if args.json {
        return documents::print(&TraceChains {
            schema: "stowplan.trace-chains/1",
            chains: offered,
        });
    }
    if offered.is_empty() {
        return Err(CommandError::new(
            ExitCode::BadInput,
            "no chain between named nodes of this trace has ten messages on each of its hops",
        )
        .hint("name two places with --from and --to; `trace graph` draws what leads where"));
    }
    tell!(
        "the longest chains of this trace, from sensors to actuators; measure one with its words:"
    )?;
    for chain in &offered {
        tell!("\n  --from {} --to {}", chain.from, chain.to)?;
        let fewest = chain.fewest_messages;
        let messages =
            fewest.map_or_else(String::new, |n| format!(", at least {n} messages a hop"));
        tell!("    {} callbacks{messages}", chain.path.len())?;
        tell!("    {}", chain.path.join("\n    → "))?;
    }
    Ok(())
}

/// A chain with the names of its ends; none where the trace has no name for one.
fn offer(graph: &Graph, found: &FoundChain) -> Option<OfferedChain> {
    let chain = &found.chain;
    let (first, last) = (chain.callbacks.first()?, chain.callbacks.last()?);
    let node = |callback| {
        let node = graph.node_of(callback)?;
        Some(graph.nodes[node].full_name())
    };
    let named = |topic| graph.topics[topic].to_string();
    let from = graph.topic_of(*first).map(named).or_else(|| node(*first))?;
    Some(OfferedChain {
        from,
        to: node(*last)?,
        path: path(graph, chain),
        fewest_messages: found.messages.iter().flatten().min().copied(),
    })
}

fn path(graph: &Graph, chain: &Chain) -> Vec<String> {
    let callbacks = chain.callbacks.iter();
    callbacks.map(|&id| graph.describe(id)).collect()
}
