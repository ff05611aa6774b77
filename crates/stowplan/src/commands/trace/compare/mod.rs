//! `stowplan trace compare`: two traces of one system.

mod chains;
mod figures;
mod names;
mod parts;
mod show;
mod verdict;

use std::path::Path;

use stowplan_trace::{Matching, Overview, Reading, TimeBlocks};

use crate::cli::TraceCompareArgs;
use crate::documents;
use crate::documents::trace_compare::TraceComparison;
use crate::failure::{CommandError, ExitCode, OrExit};

use names::Names;

/// A trace of the two.
struct Recorded {
    overview: Overview,
    blocks: TimeBlocks,
    names: Names,
}

/// Runs the command.
pub fn run(args: &TraceCompareArgs) -> Result<(), CommandError> {
    if args.learnt {
        return super::learnt::run(args);
    }
    let [dir_b] = args.b.as_slice() else {
        let message = "two traces are compared; several runs are with --learnt";
        return Err(CommandError::new(ExitCode::Usage, message));
    };
    let both = [recorded(&args.a)?, recorded(dir_b)?];
    let matching = Matching::between(&both[0].overview, &both[1].overview);
    let mut found = parts::Found::new(&both, &matching);
    let chains = match (&args.from, &args.to) {
        (Some(from), Some(to)) => {
            let dirs = [args.a.as_path(), dir_b.as_path()];
            let names = both.each_ref().map(|of| &of.names);
            chains::between(dirs, from, to, names, &matching, &mut found.only)?
        }
        _ => Vec::new(),
    };
    let document = document(found, chains);
    if args.json {
        return documents::print(&document);
    }
    show::show(&document)
}

fn recorded(dir: &Path) -> Result<Recorded, CommandError> {
    let read = Overview::from_ctf_with_blocks(dir, Reading::default());
    let (overview, blocks) = read.or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let names = Names::of(&overview);
    Ok(Recorded {
        overview,
        blocks,
        names,
    })
}

/// Judges every figure as one of all that can be judged.
fn document(found: parts::Found, chains: Vec<chains::Found>) -> TraceComparison {
    let figures = found
        .figures()
        .chain(chains.iter().flat_map(chains::Found::figures));
    let comparisons = figures.filter(|figure| figure.can_be_judged()).count();
    let mut callbacks: Vec<_> = found
        .callbacks
        .iter()
        .map(|of| of.compared(comparisons))
        .collect();
    let mut edges: Vec<_> = found
        .edges
        .iter()
        .map(|of| of.compared(comparisons))
        .collect();
    let chains: Vec<_> = chains.iter().map(|of| of.compared(comparisons)).collect();
    parts::sort(&mut callbacks);
    parts::sort(&mut edges);
    let changed_most = verdict::changed_most(&chains, &callbacks, &edges);
    let [only_in_a, only_in_b] = found.only;
    TraceComparison {
        schema: "stowplan.trace-compare/1",
        comparisons: comparisons as u64,
        callbacks,
        edges,
        chains,
        only_in_a,
        only_in_b,
        undecided: found.undecided,
        changed_most,
    }
}
