//! Edges as messages travelled on them, by deployment.

use std::collections::BTreeMap;

use stowplan_results::{EdgeRow, LossRow, Results};

use crate::averages::over_blocks;
use crate::counted::Counted;
use crate::error::JudgeError;

/// The edges of a deployment, over the windows of its finished runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeploymentEdges {
    /// Id of the deployment.
    pub deployment: String,
    /// By topic and ends.
    pub edges: Vec<TravelledEdge>,
}

/// Messages of a topic from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct TravelledEdge {
    /// Topic.
    pub topic: String,
    /// Publishing node; `None` where any of several.
    pub from: Option<String>,
    /// Subscribing node.
    pub to: String,
    /// How messages travelled; `None` where nothing that was taken tells.
    pub class: Option<String>,
    /// Messages published.
    pub published: u64,
    /// Those of them of which it is known that they were lost.
    pub lost: u64,
    /// Length of the windows, s.
    pub seconds: f64,
    /// Mean over the blocks of publication → start of the callback that takes the message, ns.
    pub mean_ns: Option<f64>,
    /// Mean over the blocks of the 99th percentile of the same, ns.
    pub p99_ns: Option<f64>,
}

impl TravelledEdge {
    /// Messages per second; `None` where no window has a length.
    #[must_use]
    pub fn hz(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.published as f64 / self.seconds)
    }

    /// Share of the messages that was lost, 0 to 1; `None` where there were none.
    #[must_use]
    pub fn lost_share(&self) -> Option<f64> {
        (self.published > 0).then(|| self.lost as f64 / self.published as f64)
    }
}

/// Topic, publisher and subscriber.
type Key = (String, Option<String>, String);

#[derive(Default)]
struct Sums {
    class: Option<String>,
    lost: u64,
    /// By run: each cause of loss has a row with the same number.
    published: BTreeMap<u32, u64>,
    /// Block and figure of each run.
    mean_ns: Vec<(u32, f64)>,
    p99_ns: Vec<(u32, f64)>,
}

/// Reads the tables of losses and edges of the runs that count. The former has a row for each edge, also where nothing was lost.
pub(crate) fn read(
    results: &Results,
    counted: &Counted,
) -> Result<Vec<DeploymentEdges>, JudgeError> {
    let mut by: BTreeMap<usize, BTreeMap<Key, Sums>> = BTreeMap::new();
    results.scan(|row: LossRow| {
        if counted.latency(row.run).is_none() {
            return;
        }
        let from = row.publisher.as_ref().map(ToString::to_string);
        let key = (row.topic.to_string(), from, row.subscriber.to_string());
        let edges = by.entry(counted.rank(&row.deployment)).or_default();
        let sums = edges.entry(key).or_default();
        sums.lost += row.lost.unwrap_or(0);
        let published = sums.published.entry(row.run).or_default();
        *published = (*published).max(row.published.unwrap_or(0));
        if let Some(class) = &row.edge_class {
            sums.class = Some(class.to_string());
        }
    })?;
    results.scan(|row: EdgeRow| {
        let from = row.publisher.as_ref().map(ToString::to_string);
        let key = (row.topic.to_string(), from, row.subscriber.to_string());
        let edges = by.get_mut(&counted.rank(&row.deployment));
        if counted.latency(row.run).is_none() {
            return;
        }
        if let Some(sums) = edges.and_then(|edges| edges.get_mut(&key)) {
            let of_block = |ns: Option<f64>| ns.map(|ns| (row.block, ns));
            sums.mean_ns.extend(of_block(row.latency_mean_ns));
            sums.p99_ns.extend(of_block(row.latency_p99_ns));
        }
    })?;
    let seconds = |run: &u32| {
        let window = counted.latency(*run).and_then(|run| run.window_ns);
        window.unwrap_or(0) as f64 / 1e9
    };
    let all = by.into_iter().map(|(rank, edges)| DeploymentEdges {
        deployment: counted.id(rank).to_owned(),
        edges: edges
            .into_iter()
            .map(|((topic, from, to), sums)| TravelledEdge {
                topic,
                from,
                to,
                class: sums.class,
                published: sums.published.values().sum(),
                lost: sums.lost,
                seconds: sums.published.keys().map(seconds).sum(),
                mean_ns: over_blocks(sums.mean_ns.into_iter()),
                p99_ns: over_blocks(sums.p99_ns.into_iter()),
            })
            .collect(),
    });
    Ok(all.collect())
}
