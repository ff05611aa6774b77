//! Losses per deployment and cause.

use std::collections::BTreeMap;

use stowplan_results::{LossCause, LossRow, Results};

use crate::counted::Counted;
use crate::error::JudgeError;

/// Lost messages of a deployment over its finished runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeploymentLosses {
    /// Id of the deployment.
    pub deployment: String,
    /// Lost by cause; `None` where a run could not tell.
    pub causes: BTreeMap<LossCause, Option<u64>>,
    /// The edges that lost most: topic, subscriber, cause, lost, published.
    pub worst: Vec<(String, String, LossCause, u64, Option<u64>)>,
}

/// Edges named per deployment.
const WORST: usize = 5;

type Edge = (String, String, LossCause);

/// Reads the losses table of the runs that count.
pub(crate) fn read(
    results: &Results,
    counted: &Counted,
) -> Result<Vec<DeploymentLosses>, JudgeError> {
    let mut by: BTreeMap<usize, DeploymentLosses> = BTreeMap::new();
    let mut edges: BTreeMap<usize, BTreeMap<Edge, (u64, Option<u64>)>> = BTreeMap::new();
    results.scan(|row: LossRow| {
        if counted.latency(row.run).is_none() {
            return;
        }
        let rank = counted.rank(&row.deployment);
        let one = by.entry(rank).or_default();
        let sum = one.causes.entry(row.cause).or_insert(Some(0));
        *sum = sum.zip(row.lost).map(|(a, b)| a + b);
        if let Some(lost @ 1..) = row.lost {
            let edge = (row.topic.to_string(), row.subscriber.to_string(), row.cause);
            let known = edges.entry(rank).or_default();
            let (sum, published) = known.entry(edge).or_insert((0, Some(0)));
            *sum += lost;
            *published = published.zip(row.published).map(|(a, b)| a + b);
        }
    })?;
    for (rank, one) in &mut by {
        counted.id(*rank).clone_into(&mut one.deployment);
        let mut worst: Vec<_> = edges
            .remove(rank)
            .unwrap_or_default()
            .into_iter()
            .map(|((topic, subscriber, cause), (lost, of))| (topic, subscriber, cause, lost, of))
            .collect();
        worst.sort_by_key(|edge| std::cmp::Reverse(edge.3));
        worst.truncate(WORST);
        one.worst = worst;
    }
    Ok(by.into_values().collect())
}
