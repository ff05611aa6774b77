//! Callbacks and edges of two traces.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_trace::{CallbackId, Distribution, MatchedBy, Matching};

use super::Recorded;
use super::figures::Figure;
use crate::documents::trace_compare::{Change, ComparedCallback, ComparedEdge, Side, Undecided};

/// A callback that was called in both traces.
pub struct FoundCallback {
    name: String,
    matched_by: MatchedBy,
    sides: [Option<Distribution>; 2],
    calls: [u64; 2],
    durations: Figure,
    rates: Figure,
}

/// An edge that carried messages in both traces.
pub struct FoundEdge {
    name: String,
    sides: [Distribution; 2],
    latencies: Figure,
}

/// What two traces have.
pub struct Found {
    pub callbacks: Vec<FoundCallback>,
    pub edges: Vec<FoundEdge>,
    /// What only the first and only the second has.
    pub only: [Vec<String>; 2],
    pub undecided: Vec<Undecided>,
}

impl Found {
    pub fn new(both: &[Recorded; 2], matching: &Matching) -> Self {
        let mut found = Self {
            callbacks: Vec::new(),
            edges: Vec::new(),
            only: Default::default(),
            undecided: Vec::new(),
        };
        found.callbacks(both, matching);
        found.edges(both, matching);
        found
    }

    /// All figures that can differ.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let callbacks = self.callbacks.iter();
        let callbacks = callbacks.flat_map(|of| [&of.durations, &of.rates]);
        callbacks.chain(self.edges.iter().map(|of| &of.latencies))
    }

    fn callbacks(&mut self, both: &[Recorded; 2], matching: &Matching) {
        let called: [BTreeMap<CallbackId, _>; 2] = [0, 1].map(|side: usize| {
            let all = both[side].overview.callback_summaries().into_iter();
            all.map(|of| (of.callback, of)).collect()
        });
        let name = |side: usize, id| both[side].names.callback(id).to_owned();
        for &(a, b, matched_by) in &matching.both {
            match (called[0].get(&a), called[1].get(&b)) {
                (Some(in_a), Some(in_b)) => {
                    let blocks = [both[0].blocks.callback(a), both[1].blocks.callback(b)];
                    let blocks = blocks.map(|of| of.cloned().unwrap_or_default());
                    self.callbacks.push(FoundCallback {
                        name: name(0, a),
                        matched_by,
                        sides: [in_a.durations.clone(), in_b.durations.clone()],
                        calls: [in_a.count, in_b.count],
                        rates: Figure(blocks.clone().map(|of| of.rates_per_s)),
                        durations: Figure(blocks.map(|of| of.durations_ns)),
                    });
                }
                (Some(_), None) => {
                    self.only[0].push(format!("{} (in B without calls)", name(0, a)))
                }
                (None, Some(_)) => {
                    self.only[1].push(format!("{} (in A without calls)", name(1, b)))
                }
                (None, None) => {}
            }
        }
        for (side, only) in [&matching.only_in_a, &matching.only_in_b]
            .into_iter()
            .enumerate()
        {
            let only = only.iter().filter(|id| called[side].contains_key(id));
            self.only[side].extend(only.map(|&id| name(side, id)));
        }
        for of in &matching.undecided {
            let count = |side: usize, ids: &[CallbackId]| {
                ids.iter()
                    .filter(|id| called[side].contains_key(id))
                    .count() as u64
            };
            let in_traces = [count(0, &of.a), count(1, &of.b)];
            if in_traces != [0, 0] {
                self.undecided.push(Undecided {
                    name: name(0, of.a[0]),
                    in_a: in_traces[0],
                    in_b: in_traces[1],
                });
            }
        }
    }

    /// Edges between callbacks that are matched; of the others their callbacks are told already.
    fn edges(&mut self, both: &[Recorded; 2], matching: &Matching) {
        type Ends = (CallbackId, CallbackId);
        let to_b: BTreeMap<CallbackId, CallbackId> =
            matching.both.iter().map(|&(a, b, _)| (a, b)).collect();
        let matched_b: BTreeSet<CallbackId> = to_b.values().copied().collect();
        let [in_a, mut in_b]: [BTreeMap<Ends, Distribution>; 2] = [0, 1].map(|side: usize| {
            let all = both[side].overview.edge_summaries().into_iter();
            all.filter_map(|edge| Some(((edge.from, edge.to), edge.latency?)))
                .collect()
        });
        for ((from, to), latency_a) in in_a {
            let (Some(&from_b), Some(&to_b)) = (to_b.get(&from), to_b.get(&to)) else {
                continue;
            };
            let name = both[0].names.edge(from, to);
            let Some(latency_b) = in_b.remove(&(from_b, to_b)) else {
                self.only[0].push(name);
                continue;
            };
            let blocks = [
                both[0].blocks.edge(from, to),
                both[1].blocks.edge(from_b, to_b),
            ];
            self.edges.push(FoundEdge {
                name,
                sides: [latency_a, latency_b],
                latencies: Figure(blocks.map(|of| of.unwrap_or_default().to_vec())),
            });
        }
        let rest = in_b.into_keys();
        let rest = rest.filter(|(from, to)| matched_b.contains(from) && matched_b.contains(to));
        self.only[1].extend(rest.map(|(from, to)| both[1].names.edge(from, to)));
    }
}

impl FoundCallback {
    pub fn compared(&self, comparisons: usize) -> ComparedCallback {
        let [a, b] = &self.sides;
        ComparedCallback {
            name: self.name.clone(),
            matched_by: self.matched_by.name(),
            calls: self.calls,
            a: a.as_ref().map(side),
            b: b.as_ref().map(side),
            duration_ns: self.durations.change(comparisons),
            calls_per_s: self.rates.change(comparisons),
        }
    }
}

impl FoundEdge {
    pub fn compared(&self, comparisons: usize) -> ComparedEdge {
        let [a, b] = &self.sides;
        ComparedEdge {
            name: self.name.clone(),
            a: side(a),
            b: side(b),
            latency_ns: self.latencies.change(comparisons),
        }
    }
}

fn side(of: &Distribution) -> Side {
    Side {
        count: of.count,
        mean: of.mean_ns,
        q50: of.median_ns,
    }
}

/// Something that is shown in order of its change.
pub trait Changed {
    fn of_time(&self) -> &Change;
}

impl Changed for ComparedCallback {
    fn of_time(&self) -> &Change {
        &self.duration_ns
    }
}

impl Changed for ComparedEdge {
    fn of_time(&self) -> &Change {
        &self.latency_ns
    }
}

/// What exceeds its spread first, then by how far it changed, and last what cannot be told.
pub fn sort(list: &mut [impl Changed]) {
    list.sort_by(|x, y| {
        let (x, y) = (x.of_time(), y.of_time());
        let size = |of: &Change| of.change.unwrap_or(0.0).abs();
        x.verdict.cmp(&y.verdict).then(size(y).total_cmp(&size(x)))
    });
}
