//! A comparison on the terminal.

use stowplan_model::units::show_ns;

use super::verdict;
use crate::documents::trace_compare::{
    Change, ChangeVerdict, ComparedCallback, ComparedChain, Side, TraceComparison,
};
use crate::failure::CommandError;
use crate::output::tell;
use crate::table;

/// Rows that the terminal shows of each kind.
const SHOWN: usize = 10;

pub fn show(document: &TraceComparison) -> Result<(), CommandError> {
    callbacks(document)?;
    edges(document)?;
    rates(document)?;
    for chain in &document.chains {
        one_chain(chain)?;
    }
    for of in document.undecided.iter().take(SHOWN) {
        tell!(
            "not compared, nothing tells them apart: {} ({} in A, {} in B)",
            of.name,
            of.in_a,
            of.in_b
        )?;
    }
    more("not compared", document.undecided.len())?;
    for (side, only) in [("A", &document.only_in_a), ("B", &document.only_in_b)] {
        for name in only.iter().take(SHOWN) {
            tell!("only in {side}: {name}")?;
        }
        more(&format!("only in {side}"), only.len())?;
    }
    tell!("{}", verdict::line(document))
}

fn more(what: &str, count: usize) -> Result<(), CommandError> {
    if count > SHOWN {
        tell!("{what}: {} more", count - SHOWN)?;
    }
    Ok(())
}

fn callbacks(document: &TraceComparison) -> Result<(), CommandError> {
    let mut table = table::new(["callback", "mean A", "mean B", "change", "spread", ""]);
    for of in document.callbacks.iter().take(SHOWN) {
        let sides = [of.a.as_ref(), of.b.as_ref()];
        table.add_row(row(name(of), sides, &of.duration_ns));
    }
    tell!("{table}\n")
}

fn edges(document: &TraceComparison) -> Result<(), CommandError> {
    if document.edges.is_empty() {
        return Ok(());
    }
    let mut table = table::new(["edge", "mean A", "mean B", "change", "spread", ""]);
    for of in document.edges.iter().take(SHOWN) {
        let sides = [Some(&of.a), Some(&of.b)];
        table.add_row(row(of.name.clone(), sides, &of.latency_ns));
    }
    tell!("{table}\n")
}

fn row(name: String, sides: [Option<&Side>; 2], change: &Change) -> [String; 6] {
    let [a, b] = sides.map(|side| side.map_or_else(|| "–".to_owned(), |side| show_ns(side.mean)));
    [
        name,
        a,
        b,
        change.change.map_or_else(|| "–".to_owned(), signed),
        change
            .explained
            .map_or_else(|| "–".to_owned(), |ns| format!("±{}", show_ns(ns))),
        in_words(change),
    ]
}

/// Rates that exceed their spread.
fn rates(document: &TraceComparison) -> Result<(), CommandError> {
    let changed = |of: &&ComparedCallback| of.calls_per_s.verdict == ChangeVerdict::Changed;
    let changed: Vec<&ComparedCallback> = document.callbacks.iter().filter(changed).collect();
    for of in changed.iter().take(SHOWN) {
        let rate = &of.calls_per_s;
        if let (Some(a), Some(b), Some(explained)) = (rate.a, rate.b, rate.explained) {
            let name = name(of);
            tell!("calls per second of {name}: {a:.3} → {b:.3} (spread explains ±{explained:.3})")?;
        }
    }
    more("calls per second", changed.len())
}

fn one_chain(chain: &ComparedChain) -> Result<(), CommandError> {
    tell!("{}", chain.path.join("\n  → "))?;
    for (part, change) in &chain.over_blocks {
        match (change.change, change.explained) {
            (Some(by), Some(explained)) => tell!(
                "  {part}: {} (spread explains ±{}) {}",
                signed(by),
                show_ns(explained),
                in_words(change)
            )?,
            _ => tell!(
                "  {part}: {} {}",
                signed(chain.change_ns[part]),
                in_words(change)
            )?,
        }
    }
    Ok(())
}

/// The name, and where it was matched by little, by what.
fn name(of: &ComparedCallback) -> String {
    match of.matched_by {
        "order" => format!("{} (by order alone)", of.name),
        "remainder" => format!("{} (by what is left)", of.name),
        _ => of.name.clone(),
    }
}

fn in_words(change: &Change) -> String {
    match change.verdict {
        ChangeVerdict::Changed => "CHANGED".to_owned(),
        ChangeVerdict::WithinSpread => String::new(),
        ChangeVerdict::CannotTell => {
            let [a, b] = change.blocks;
            format!("cannot tell: {a} and {b} blocks")
        }
    }
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", show_ns(ns.abs()))
}
