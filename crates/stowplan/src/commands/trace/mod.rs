//! `stowplan trace …`: traces of any tracer that speaks CTF.

mod analyze;
mod architecture;
mod callbacks;
mod clocks;
mod compare;
mod ends;
mod graph;
mod info;
mod instances;
mod lacks;
mod learnt;
mod links;
mod offers;
mod record;
mod report;
mod services;
mod start_up;
mod window;

use std::path::Path;

use stowplan_ctf::CtfError;
use stowplan_trace::{Contents, Discard, Graph, Inventory, Overview, Reading, Repeats};

use crate::cli::TraceCommand;
use crate::failure::{CommandError, ExitCode, OrExit, in_words};
use crate::output::note;

/// Runs the command.
pub fn run(command: &TraceCommand) -> Result<(), CommandError> {
    match command {
        TraceCommand::Info { dir, json, events } => info::run(dir, *json, *events),
        TraceCommand::Links(args) => links::run(args),
        TraceCommand::Callbacks(args) => callbacks::run(args),
        TraceCommand::Analyze(args) => analyze::run(args),
        TraceCommand::StartUp { dir, json } => start_up::run(dir, *json),
        TraceCommand::Compare(args) => compare::run(args),
        TraceCommand::Graph(args) => graph::run(args),
        TraceCommand::Report(args) => report::run(args),
        TraceCommand::Window(args) => window::run(args),
        TraceCommand::Record(args) => record::run(args),
        TraceCommand::Learn(args) => super::learn::run(args),
    }
}

/// Most broken places that are named.
const SHOWN: usize = 5;

/// Says on standard error what of a trace cannot be read and what it lost.
fn warn(damage: &[CtfError], discards: &[Discard], graph: &Graph) {
    for error in damage.iter().take(SHOWN) {
        note!("warning: read in part: {}", in_words(error));
    }
    if damage.len() > SHOWN {
        note!(
            "warning: {} more places cannot be read",
            damage.len() - SHOWN
        );
    }
    let discarded: u64 = discards.iter().map(|discard| discard.count).sum();
    let places = discards.iter().filter(|discard| discard.count > 0).count();
    if discarded > 0 {
        note!(
            "warning: the tracer discarded {discarded} events at {places} places; what they touch is \
             invalid\nhint: record with larger sub-buffers"
        );
    }
    for (lack, hint) in lacks::lacks(graph) {
        match hint {
            Some(hint) => note!("warning: {lack}\nhint: {hint}"),
            None => note!("warning: {lack}"),
        }
    }
}

/// Reads a trace and counts what it has; what of it cannot be read or compared is said on standard error.
pub fn counted(dir: &Path, reading: Reading) -> Result<Overview, CommandError> {
    let overview = Overview::from_ctf(dir, reading).or_exit(ExitCode::BadInput)?;
    warn_of_counted(&overview);
    Ok(overview)
}

/// Reads what a trace has; what of it cannot be read is said on standard error.
fn inventory(dir: &Path, reading: Reading) -> Result<Inventory, CommandError> {
    let inventory = Inventory::from_ctf(dir, reading).or_exit(ExitCode::BadInput)?;
    warn(&inventory.damage, &inventory.discards, &inventory.graph);
    warn_of_repeats(&inventory.repeats);
    Ok(inventory)
}

fn warn_of_counted(overview: &Overview) {
    warn(&overview.damage, &overview.discards, &overview.graph);
    clocks::warn(&overview.clocks);
    warn_of_repeats(&overview.repeats);
}

/// Says on standard error what several sessions or snapshots hold of the same.
pub fn warn_of_repeats(repeats: &Repeats) {
    for overlap in repeats.overlaps.iter().take(SHOWN) {
        let [a, b] = &overlap.folders;
        match overlap.packets {
            Some(packets) => note!(
                "warning: {a} and {b} hold {packets} equal packets of one trace; each is read once"
            ),
            None => note!(
                "warning: {a} and {b} hold different packets of one time and trace; both are read, \
                 and events may be counted twice\nhint: analyse one of the folders alone"
            ),
        }
    }
    if repeats.overlaps.len() > SHOWN {
        note!(
            "warning: {} more pairs of folders hold the same packets",
            repeats.overlaps.len() - SHOWN
        );
    }
    if repeats.events > 0 {
        note!(
            "note: two sessions recorded {} events; each is counted once",
            repeats.events
        );
    }
    if repeats.guessed > 0 {
        note!(
            "note: {} processes are in sessions of different times and taken for the same: host, boot, \
             PID namespace, vpid and name are equal, and no later session has their start (ros2:rcl_init)",
            repeats.guessed
        );
    }
}

/// What a trace lacks, in words; what its calls and messages lack is said where these are read.
fn missing_of_inventory(inventory: &Inventory) -> Vec<String> {
    let mut missing = missing_entities(&inventory.graph);
    missing.extend(number_of(inventory.unreadable_events, UNREADABLE));
    missing.extend(unread(&inventory.contents, inventory.damage.len()));
    missing
}

/// What a trace lacks of entities and calls, in words; what its messages lack is said where these are read.
fn missing_of_calls(overview: &Overview) -> Vec<String> {
    let mut missing = missing_entities(&overview.graph);
    let gaps = overview.gaps;
    let counts = [
        (gaps.ends_without_start, "callback ends without their start"),
        (gaps.starts_without_end, "callback starts without their end"),
        (gaps.unreadable_events, UNREADABLE),
    ];
    missing.extend(counts.into_iter().filter_map(|of| number_of(of.0, of.1)));
    missing.extend(unread(&overview.contents, overview.damage.len()));
    missing
}

/// What a trace lacks, in words.
fn missing(overview: &Overview) -> Vec<String> {
    let mut missing = missing_of_calls(overview);
    let gaps = overview.gaps;
    let counts = [
        (
            gaps.takes_without_subscription,
            "takes by subscriptions that the trace does not name",
        ),
        (
            gaps.publications_without_stamp,
            "publications without a source timestamp (loaned messages), linked by topic and time",
        ),
        (
            overview.link_summary().maybe_discarded,
            "messages not linked because their publication may be among the discarded events",
        ),
    ];
    missing.extend(counts.into_iter().filter_map(|of| number_of(of.0, of.1)));
    missing.extend(clocks::missing(&overview.clocks));
    missing.extend(clocks::unlinked(overview.link_summary()));
    missing
}

const UNREADABLE: &str = "events that lack a field which every distribution records";

/// Entities that the trace does not name.
fn missing_entities(graph: &Graph) -> Vec<String> {
    let mut missing: Vec<String> = lacks::lacks(graph).into_iter().map(|lack| lack.0).collect();
    let nodes = graph.nodes.iter().filter(|node| node.1.name.is_none());
    let publishers = graph.publishers.iter().filter(|of| of.1.topic.is_none());
    missing.extend(number_of(
        nodes.count() as u64,
        "nodes without a name: no rcl_node_init",
    ));
    missing.extend(number_of(
        publishers.count() as u64,
        "publishers whose topic is not in the trace (rcl copies that of /rosout)",
    ));
    missing
}

/// What was recorded and cannot be read.
fn unread(contents: &Contents, damaged: usize) -> impl Iterator<Item = String> {
    let counts = [
        (contents.discarded_events, "discarded events"),
        (contents.discarded_packets, "discarded packets"),
        (damaged as u64, "places where a stream is broken"),
    ];
    counts.into_iter().filter_map(|of| number_of(of.0, of.1))
}

/// So many of something; `None` of nothing.
fn number_of(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}"))
}
