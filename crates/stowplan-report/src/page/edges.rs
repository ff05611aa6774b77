//! How long messages took on each edge, for the page.

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_judge::{Judgement, TravelledEdge};

use super::hops::Hops;

/// Edges that the page has: those of chains, then those on which messages took longest.
const MOST: usize = 120;

#[derive(Serialize)]
pub(super) struct Edge<'a> {
    topic: &'a str,
    from: Option<&'a str>,
    to: &'a str,
    chain: bool,
    by: BTreeMap<&'a str, Latency>,
}

/// From publication to the start of the callback that takes the message: means over the blocks, ns.
#[derive(Serialize)]
struct Latency {
    mean_ns: Option<f64>,
    p99_ns: Option<f64>,
}

pub(super) fn all<'a>(report: &'a Judgement, hops: &Hops<'a>) -> Vec<Edge<'a>> {
    let mut all: BTreeMap<_, Edge<'_>> = BTreeMap::new();
    for deployment in &report.figures.edges {
        for edge in deployment.edges.iter().filter(|e| e.mean_ns.is_some()) {
            let key = (&edge.topic, &edge.from, &edge.to);
            let one = all.entry(key).or_insert_with(|| new(edge, hops));
            let latency = Latency {
                mean_ns: edge.mean_ns.map(f64::round),
                p99_ns: edge.p99_ns.map(f64::round),
            };
            one.by.insert(&deployment.deployment, latency);
        }
    }
    let mut all: Vec<Edge<'_>> = all.into_values().collect();
    let longest = |edge: &Edge<'_>| {
        let means = edge.by.values().filter_map(|l| l.mean_ns);
        means.fold(0.0, f64::max)
    };
    all.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    all.sort_by_key(|edge| hops.rank(edge.from, edge.to).unwrap_or(usize::MAX));
    all.truncate(MOST);
    all
}

fn new<'a>(edge: &'a TravelledEdge, hops: &Hops<'a>) -> Edge<'a> {
    Edge {
        topic: &edge.topic,
        from: edge.from.as_deref(),
        to: &edge.to,
        chain: hops.rank(edge.from.as_deref(), &edge.to).is_some(),
        by: BTreeMap::new(),
    }
}
