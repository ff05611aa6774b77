//! `stowplan trace report`: a page of a trace.

use stowplan_report::TraceReport;
use stowplan_trace::{Analysis, Chain, ChainResult, Overview, Reading};

use super::{analyze, ends};
use crate::cli::TraceReportArgs;
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::{note, tell};

/// Most chains that are shown between two places: each is a bar, a curve and a colour.
const ASKED: usize = 8;
/// Chains that are shown where none was asked for, and of how many they are chosen: not every way has
/// instances.
const LONGEST: (usize, usize) = (4, 16);
/// Fewer instances of a chain that nobody asked for say little.
const FEWEST: usize = 10;

/// Runs the command.
pub fn run(args: &TraceReportArgs) -> Result<(), CommandError> {
    let reading = Reading::default();
    let overview = Overview::from_ctf(&args.dir, reading).or_exit(ExitCode::BadInput)?;
    super::warn(&overview.damage, &overview.discards, &overview.graph);
    super::warn_of_repeats(&overview.repeats);
    let chains = chains(args, &overview)?;
    let (analysis, measured) = measured(args, &overview, &chains)?;
    let name = args.dir.file_name().unwrap_or(args.dir.as_os_str());
    let report = TraceReport {
        name: &name.to_string_lossy(),
        overview: &overview,
        analysis: &analysis,
        chains: &measured,
        missing: &super::missing(&overview),
    };
    report
        .write_html(&args.output)
        .or_exit(ExitCode::RunFailed)?;
    tell!("{}", args.output.display())
}

/// The chains that are shown. Of those that nobody asked for that is the first with instances enough, and mostly no other
/// one has to be kept of the trace; where one of them has too few, the trace is read once more.
fn measured(
    args: &TraceReportArgs,
    overview: &Overview,
    chains: &[Chain],
) -> Result<(Analysis, Vec<ChainResult>), CommandError> {
    if args.from.is_some() {
        return kept(args, overview, chains, 0);
    }
    let first = &chains[..chains.len().min(LONGEST.0)];
    let (analysis, measured) = kept(args, overview, first, FEWEST)?;
    if measured.len() == first.len() {
        return Ok((analysis, measured));
    }
    drop((analysis, measured));
    kept(args, overview, chains, FEWEST)
}

/// Reads the trace again and keeps what these chains need; those of them that have so many instances, one after another.
fn kept(
    args: &TraceReportArgs,
    overview: &Overview,
    chains: &[Chain],
    fewest: usize,
) -> Result<(Analysis, Vec<ChainResult>), CommandError> {
    let analysis = Analysis::of_chains(&args.dir, Reading::default(), overview, chains)
        .or_exit(ExitCode::BadInput)?;
    let window = analyze::window(&analysis);
    let measured = chains.iter().cloned();
    let measured = measured.map(|chain| analysis.measure(chain, window));
    let often = measured.filter(|result| result.instances.len() >= fewest);
    let shown = if fewest == 0 { ASKED } else { LONGEST.0 };
    let measured = often.take(shown).collect();
    Ok((analysis, measured))
}

fn chains(args: &TraceReportArgs, overview: &Overview) -> Result<Vec<Chain>, CommandError> {
    let found = match (&args.from, &args.to) {
        (Some(from), Some(to)) => {
            let ends = (ends::endpoint(from), ends::endpoint(to));
            let found = overview.find_chains(ends.0, ends.1, ASKED);
            if found.chains.is_empty() {
                return Err(ends::nothing_between(&overview.graph, from, to));
            }
            if found.more {
                note!("warning: there are more than {ASKED} chains; the shortest are shown");
            }
            found.chains
        }
        _ => overview.longest_chains(LONGEST.1),
    };
    Ok(found.into_iter().map(|found| found.chain).collect())
}
