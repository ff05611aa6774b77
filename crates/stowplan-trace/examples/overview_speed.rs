//! Counts all traces in a folder and below, as `stowplan trace links` does, and prints events per second, the greatest
//! resident set and a digest of the figures. With `chains` the longest chains are measured, too. With `callbacks` messages
//! are not followed, as `stowplan trace callbacks` reads, and with `inventory` not even calls, as `stowplan trace info` does.
//!
//! `cargo run --release -p stowplan-trace --example overview_speed -- FOLDER [THREADS [chains|callbacks|inventory]]`

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::time::Instant;

use stowplan_trace::{Analysis, Inventory, Overview, Reading, Window};

/// Chains that are chosen from, as `stowplan trace report` does.
const CHAINS: usize = 16;

/// Greatest resident set so far, MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

fn digest(texts: impl Hash) -> u64 {
    let mut digest = DefaultHasher::new();
    texts.hash(&mut digest);
    digest.finish()
}

fn inventory(path: &str, reading: Reading) -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let inventory = Inventory::from_ctf(path, reading)?;
    let events: u64 = inventory.contents.by_event.values().sum();
    let ns = begin.elapsed().as_secs_f64() * 1e9 / events as f64;
    let peak = resident();
    println!("{events} events: {ns:.1} ns an event, {peak:.1} MB");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: overview_speed FOLDER [THREADS [chains|callbacks|inventory]]")?;
    let threads: NonZeroUsize = arguments
        .next()
        .map_or(Ok(NonZeroUsize::MIN), |n| n.parse())?;
    let reading = Reading {
        threads,
        ..Reading::default()
    };
    let more = arguments.next();
    let begin = Instant::now();
    if more.as_deref() == Some("inventory") {
        return inventory(&path, reading);
    }
    let overview = match more.as_deref() {
        Some("callbacks") => Overview::of_callbacks(&path, reading)?,
        _ => Overview::from_ctf(&path, reading)?,
    };
    let seconds = begin.elapsed().as_secs_f64();
    let figures = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        overview.callback_summaries(),
        overview.edge_summaries(),
        overview.outside_summaries(),
        overview.topic_summaries(),
        overview.link_summary(),
        overview.gaps,
        overview.contents,
    );
    println!(
        "{} events in {:.1} ms with {threads} threads: {:.1} ns an event, {:.2} M events/s, {:.1} MB (figures {:x})",
        overview.events,
        seconds * 1e3,
        seconds * 1e9 / overview.events as f64,
        overview.events as f64 / seconds / 1e6,
        resident(),
        digest(figures),
    );
    if more.as_deref() != Some("chains") {
        return Ok(());
    }
    let begin = Instant::now();
    let chains: Vec<_> = overview.longest_chains(CHAINS);
    let chains = chains.into_iter().map(|found| found.chain);
    let chains: Vec<_> = chains.collect();
    let analysis = Analysis::of_chains(&path, reading, &overview, &chains)?;
    println!(
        "{} instances, {} publications, {} takes of {} chains kept in {:.1} ms: {:.1} MB",
        analysis.records.instances.len(),
        analysis.records.publications.len(),
        analysis.records.takes.len(),
        chains.len(),
        begin.elapsed().as_secs_f64() * 1e3,
        resident(),
    );
    let mut measured = Vec::new();
    for chain in chains {
        let steps = chain.callbacks.len();
        let result = analysis.measure(chain, Window::ALWAYS);
        println!(
            "{} instances of {steps} callbacks: {:.1} MB (figures {:x})",
            result.instances.len(),
            resident(),
            digest(format!("{result:?}")),
        );
        measured.push(result);
    }
    Ok(())
}
