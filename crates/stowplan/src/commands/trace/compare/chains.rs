//! Chains between two places in both traces.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_trace::{
    Analysis, CallbackId, ChainInstance, ChainResult, Matching, Reading, block_means,
};

use super::figures::Figure;
use super::names::Names;
use crate::commands::trace::analyze;
use crate::documents::trace_compare::{ChangeVerdict, ComparedChain};
use crate::failure::CommandError;

/// A part of a chain's latency; `None` where the trace does not tell it.
type PartOf = fn(&ChainInstance) -> Option<i64>;

/// The latency and its parts.
const PARTS: [(&str, PartOf); 6] = [
    ("e2e_ns", |i| Some(i.e2e_ns)),
    ("computation_ns", |i| Some(i.parts.computation_ns)),
    (SEND, |i| Some(i.parts.send_ns)),
    ("transport_ns", |i| i.parts.transport_ns),
    ("wait_ns", |i| i.parts.wait_ns),
    ("idle_ns", |i| Some(i.parts.idle_ns)),
];
const SEND: &str = "send_ns";
/// The sum of the parts.
pub const WHOLE: &str = "e2e_ns";

/// A chain that both traces have.
pub struct Found {
    path: Vec<String>,
    instances: [u64; 2],
    /// By part: means of all instances, and by block of time.
    parts: BTreeMap<&'static str, ([f64; 2], Figure)>,
}

/// Chains of both traces; what only one has is added to `only`.
pub fn between(
    dirs: [&Path; 2],
    from: &str,
    to: &str,
    names: [&Names; 2],
    matching: &Matching,
    only: &mut [Vec<String>; 2],
) -> Result<Vec<Found>, CommandError> {
    let read = |dir| analyze::between(dir, Reading::default(), from, to);
    let (a, in_a) = read(dirs[0])?;
    let (b, mut in_b) = read(dirs[1])?;
    let to_b: BTreeMap<CallbackId, CallbackId> =
        matching.both.iter().map(|&(a, b, _)| (a, b)).collect();
    let mut both = Vec::new();
    for of_a in in_a {
        let path = of_a.chain.callbacks.iter();
        let path: Vec<String> = path.map(|&id| names[0].callback(id).to_owned()).collect();
        let same: Option<Vec<CallbackId>> = of_a
            .chain
            .callbacks
            .iter()
            .map(|id| to_b.get(id).copied())
            .collect();
        let place = in_b
            .iter()
            .position(|of_b| Some(&of_b.chain.callbacks) == same.as_ref());
        match place {
            Some(place) => {
                let of_b = in_b.remove(place);
                both.push(found(path, [&a, &b], [&of_a, &of_b]));
            }
            None => only[0].push(format!("chain {}", path.join(" → "))),
        }
    }
    for of_b in in_b {
        let path = of_b.chain.callbacks.iter().map(|&id| names[1].callback(id));
        only[1].push(format!("chain {}", path.collect::<Vec<_>>().join(" → ")));
    }
    Ok(both)
}

fn found(path: Vec<String>, traces: [&Analysis; 2], of: [&ChainResult; 2]) -> Found {
    let sends = traces
        .iter()
        .zip(of)
        .all(|(trace, of)| trace.records_send(&of.chain));
    let told = PARTS.into_iter().filter(|(name, _)| sends || *name != SEND);
    let parts = told.filter_map(|(name, part)| {
        let [a, b] = of.map(|of| values(of, part));
        let both = [a?, b?];
        let means = both.each_ref().map(|values| {
            values.iter().map(|value| value.1 as f64).sum::<f64>() / values.len() as f64
        });
        Some((name, (means, Figure(both.map(block_means)))))
    });
    Found {
        path,
        instances: of.map(|of| of.instances.len() as u64),
        parts: parts.collect(),
    }
}

/// Output and value of each instance; `None` where some lack it, and without instances.
fn values(of: &ChainResult, part: PartOf) -> Option<Vec<(i64, i64)>> {
    let all = of.instances.iter();
    let all: Option<Vec<(i64, i64)>> = all.map(|i| Some((i.output_ns, part(i)?))).collect();
    all.filter(|values| !values.is_empty())
}

impl Found {
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.parts.values().map(|part| &part.1)
    }

    pub fn compared(&self, comparisons: usize) -> ComparedChain {
        let parts = self.parts.iter();
        let over_blocks: BTreeMap<&'static str, _> = parts
            .map(|(name, part)| (*name, part.1.change(comparisons)))
            .collect();
        let changed = over_blocks
            .iter()
            .filter(|(name, change)| **name != WHOLE && change.verdict == ChangeVerdict::Changed);
        let size = |change: Option<f64>| change.unwrap_or(0.0).abs();
        let changed_most = changed
            .max_by(|x, y| size(x.1.change).total_cmp(&size(y.1.change)))
            .map(|(name, _)| *name);
        ComparedChain {
            path: self.path.clone(),
            instances: self.instances,
            change_ns: self
                .parts
                .iter()
                .map(|(name, of)| (*name, of.0[1] - of.0[0]))
                .collect(),
            over_blocks,
            changed_most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part that changed most, not the sum that it is part of, and none that its spread explains.
    #[test]
    fn the_part_of_a_chain_that_changed_most_is_named() {
        let part = |a: f64, b: f64, spread: f64| {
            let blocks = |mean: f64| {
                (0..10)
                    .map(|i| mean + spread * f64::from(i % 2 * 2 - 1))
                    .collect()
            };
            ([a, b], Figure([blocks(a), blocks(b)]))
        };
        let found = Found {
            path: vec!["a".into(), "b".into()],
            instances: [20, 20],
            parts: BTreeMap::from([
                (WHOLE, part(200.0, 260.0, 1.0)),
                ("computation_ns", part(100.0, 130.0, 1.0)),
                ("idle_ns", part(90.0, 50.0, 1.0)),
                ("wait_ns", part(10.0, 80.0, 60.0)),
            ]),
        };
        let compared = found.compared(4);
        assert_eq!(compared.changed_most, Some("idle_ns"));
        assert_eq!(compared.change_ns["wait_ns"], 70.0);
        assert_eq!(
            compared.over_blocks["wait_ns"].verdict,
            ChangeVerdict::WithinSpread
        );
    }
}
