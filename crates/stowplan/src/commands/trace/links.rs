//! `stowplan trace links`.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use stowplan_trace::{Graph, Id as _, Overview, Pair, Reading};

use super::{clocks, services};
use crate::cli::LinksArgs;
use crate::documents;
use crate::documents::trace::{TraceLinks, UnlinkedMessages};
use crate::failure::{CommandError, ExitCode, OrExit};
use crate::output::tell;
use crate::table;

/// Most topics whose messages are not linked that a terminal gets.
const UNLINKED: usize = 15;

/// Columns of the file of pairs.
const COLUMNS: &str =
    "published_ns,taken_ns,topic,stamp,method,confidence,publisher,subscriber,subscription";

/// Runs the command.
pub fn run(args: &LinksArgs) -> Result<(), CommandError> {
    let reading = Reading {
        middleware_events: !args.without_dds_events,
        ..Reading::default()
    };
    let overview = match &args.pairs {
        None => Overview::from_ctf(&args.dir, reading).or_exit(ExitCode::BadInput)?,
        Some(file) => with_pairs(&args.dir, reading, file)?,
    };
    super::warn_of_counted(&overview);
    let links = overview.link_summary();
    let services = services::services(&overview);
    let document = TraceLinks {
        schema: "stowplan.trace-links/1",
        takes: links.takes,
        linked: links.linked,
        unlinked: links.unlinked,
        maybe_discarded: links.maybe_discarded,
        unlinked_topics: unlinked(&overview),
        by_method: links
            .by_method
            .iter()
            .map(|(m, n)| (m.name(), *n))
            .collect(),
        by_confidence: links
            .by_confidence
            .iter()
            .map(|(c, n)| (c.name(), *n))
            .collect(),
        actions: services::actions(&overview),
        services,
        clock_differences: clocks::document(&overview.clocks),
        missing: super::missing(&overview),
    };
    if args.json {
        return documents::print(&document);
    }
    tell!(
        "{} messages taken, {} linked to their publication, {} not",
        document.takes,
        document.linked,
        document.unlinked
    )?;
    let mut table = table::new(["how", "links"]);
    for (name, count) in document.by_method.iter().chain(&document.by_confidence) {
        table.add_row([(*name).to_owned(), count.to_string()]);
    }
    tell!("{table}")?;
    if !document.unlinked_topics.is_empty() {
        tell!("{}", unlinked_table(&document.unlinked_topics))?;
    }
    services::show(&document.services, &document.actions)?;
    for missing in &document.missing {
        tell!("missing: {missing}")?;
    }
    Ok(())
}

fn unlinked(overview: &Overview) -> Vec<UnlinkedMessages> {
    let topics = overview.link_summary().unlinked_topics(&overview.graph);
    let topics = topics.into_iter().map(|one| UnlinkedMessages {
        topic: overview.graph.topics[one.topic].to_string(),
        takes: one.takes,
        reason: one.because.in_words(),
    });
    topics.collect()
}

/// The topics with most of them; JSON has all.
fn unlinked_table(all: &[UnlinkedMessages]) -> comfy_table::Table {
    let mut table = table::new(["not linked", "messages", "why"]);
    for one in all.iter().take(UNLINKED) {
        let takes = one.takes.to_string();
        table.add_row([one.topic.as_str(), takes.as_str(), one.reason]);
    }
    if let Some(rest) = all.get(UNLINKED..).filter(|rest| !rest.is_empty()) {
        let takes = rest.iter().map(|one| one.takes).sum::<u64>().to_string();
        let topics = format!("{} more", rest.len());
        table.add_row([topics.as_str(), takes.as_str(), "see --json"]);
    }
    table
}

/// Writes a line per link while the trace is read.
fn with_pairs(dir: &Path, reading: Reading, file: &Path) -> Result<Overview, CommandError> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write {}: {error}", file.display());
        CommandError::new(ExitCode::BadInput, message)
    };
    let mut out = BufWriter::new(File::create(file).map_err(failed)?);
    let mut written = writeln!(out, "{COLUMNS}");
    let overview = Overview::from_ctf_with_pairs(dir, reading, |graph, pair| {
        if written.is_ok() {
            written = line(&mut out, graph, pair);
        }
    })
    .or_exit(ExitCode::BadInput)?;
    written.and_then(|()| out.flush()).map_err(failed)?;
    Ok(overview)
}

fn line(out: &mut impl std::io::Write, graph: &Graph, pair: &Pair) -> std::io::Result<()> {
    let subscription = &graph.subscriptions[pair.subscription];
    let topic = &graph.topics[subscription.topic];
    let publisher = graph.publishers[pair.publisher].node;
    let publisher = publisher.map_or_else(String::new, |node| graph.nodes[node].full_name());
    let subscriber = graph.nodes[subscription.node].full_name();
    let stamp = pair
        .stamp
        .map_or_else(String::new, |stamp| stamp.to_string());
    writeln!(
        out,
        "{},{},{topic},{stamp},{},{},{publisher},{subscriber},{}",
        pair.published_ns,
        pair.taken_ns,
        pair.method.name(),
        pair.confidence.name(),
        pair.subscription.index(),
    )
}
