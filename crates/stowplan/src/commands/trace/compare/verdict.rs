//! What changed most, and what could not be compared: the last line.

use stowplan_model::units::show_ns;

use super::chains::WHOLE;
use crate::documents::trace_compare::{
    Change, ChangeVerdict, ChangedMost, ComparedCallback, ComparedChain, ComparedEdge,
    TraceComparison,
};

/// Of what exceeds its spread, what changed most: of chains where any did, else of callbacks and edges, else of rates.
pub fn changed_most(
    chains: &[ComparedChain],
    callbacks: &[ComparedCallback],
    edges: &[ComparedEdge],
) -> Option<ChangedMost> {
    let of_chains = chains.iter().filter_map(|chain| {
        let what = chain.changed_most?;
        most(what, &chain.path.join(" → "), &chain.over_blocks[what])
    });
    let of_callbacks = callbacks
        .iter()
        .filter_map(|of| most("callback", &of.name, &of.duration_ns));
    let of_edges = edges
        .iter()
        .filter_map(|of| most("edge", &of.name, &of.latency_ns));
    let of_rates = callbacks
        .iter()
        .filter_map(|of| most("rate", &of.name, &of.calls_per_s));
    let by_size = |x: &ChangedMost, y: &ChangedMost| x.change.abs().total_cmp(&y.change.abs());
    let by_share = |x: &ChangedMost, y: &ChangedMost| {
        let share = |of: &ChangedMost| of.change.abs() / of.a.abs().max(of.b.abs());
        share(x).total_cmp(&share(y))
    };
    of_chains
        .max_by(by_size)
        .or_else(|| of_callbacks.chain(of_edges).max_by(by_size))
        .or_else(|| of_rates.max_by(by_share))
}

fn most(what: &'static str, name: &str, change: &Change) -> Option<ChangedMost> {
    if change.verdict != ChangeVerdict::Changed {
        return None;
    }
    Some(ChangedMost {
        what,
        name: name.to_owned(),
        a: change.a?,
        b: change.b?,
        change: change.change?,
        explained: change.explained?,
    })
}

/// The last line: the answer, and beside it what is not part of the answer.
pub fn line(document: &TraceComparison) -> String {
    let unsaid = unsaid(document);
    let compared = document.callbacks.len() + document.edges.len() + document.chains.len();
    let answer = match &document.changed_most {
        Some(most) => in_words(document, most),
        None if compared == 0 => "nothing is in both traces".to_owned(),
        None if document.comparisons == 0 => "cannot tell whether anything changed".to_owned(),
        None if unsaid.is_empty() => {
            "nothing changed by more than the spread over blocks of time".to_owned()
        }
        None => "no change found exceeds the spread over blocks of time".to_owned(),
    };
    if unsaid.is_empty() {
        return answer;
    }
    format!("{answer}; {}", unsaid.join("; "))
}

fn in_words(document: &TraceComparison, most: &ChangedMost) -> String {
    let show = |value: f64| match most.what {
        "rate" => format!("{value:.3}/s"),
        _ => show_ns(value),
    };
    let others = changed(document) - 1;
    let others = match others {
        0 => String::new(),
        _ => format!("; {others} more exceed their spread"),
    };
    format!(
        "changed most: {} {}: {} → {} (spread explains ±{}){others}",
        most.what,
        most.name,
        show(most.a),
        show(most.b),
        show(most.explained),
    )
}

/// Figures that exceed their spread; of a chain its parts, of which the whole is made.
fn changed(document: &TraceComparison) -> usize {
    let callbacks = document.callbacks.iter();
    let callbacks = callbacks.flat_map(|of| [&of.duration_ns, &of.calls_per_s]);
    let edges = document.edges.iter().map(|of| &of.latency_ns);
    let chains = document.chains.iter().flat_map(|of| &of.over_blocks);
    let chains = chains
        .filter(|(part, _)| **part != WHOLE)
        .map(|part| part.1);
    let all = callbacks.chain(edges).chain(chains);
    all.filter(|change| change.verdict == ChangeVerdict::Changed)
        .count()
}

/// What the comparison says nothing of.
fn unsaid(document: &TraceComparison) -> Vec<String> {
    let mut unsaid = Vec::new();
    let (in_a, in_b) = (document.only_in_a.len(), document.only_in_b.len());
    let undecided: u64 = document
        .undecided
        .iter()
        .map(|of| of.in_a.max(of.in_b))
        .sum();
    let mut not_compared = Vec::new();
    for (count, what) in [
        (in_a as u64, "only in A"),
        (in_b as u64, "only in B"),
        (undecided, "that nothing tells apart"),
    ] {
        if count > 0 {
            not_compared.push(format!("{count} {what}"));
        }
    }
    if !not_compared.is_empty() {
        unsaid.push(format!("not compared: {}", not_compared.join(", ")));
    }
    let cannot = |change: &Change| change.verdict == ChangeVerdict::CannotTell;
    let callbacks = document
        .callbacks
        .iter()
        .filter(|of| cannot(&of.duration_ns));
    let edges = document.edges.iter().filter(|of| cannot(&of.latency_ns));
    let chains = document.chains.iter();
    let chains = chains.filter(|of| of.over_blocks.values().all(cannot));
    let mut few = Vec::new();
    for (count, what) in [
        (callbacks.count(), "callback"),
        (edges.count(), "edge"),
        (chains.count(), "chain"),
    ] {
        match count {
            0 => {}
            1 => few.push(format!("1 {what}")),
            _ => few.push(format!("{count} {what}s")),
        }
    }
    if !few.is_empty() {
        unsaid.push(format!(
            "too few blocks of time to tell: {}",
            few.join(", ")
        ));
    }
    let by_order = document
        .callbacks
        .iter()
        .filter(|of| of.matched_by == "order");
    let by_order = by_order.count();
    if by_order > 0 {
        unsaid.push(format!("matched by order of creation alone: {by_order}"));
    }
    unsaid
}
