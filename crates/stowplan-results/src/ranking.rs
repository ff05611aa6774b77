//! Rankings of partitions, and whether they survive other values of assumed parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The partitions at one place, ranked by one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// Metric, as `e2e_paper_mean`.
    pub metric: String,
    /// Metric for people.
    pub label: String,
    /// Chain, start kind or service that it is about.
    pub subject: Option<String>,
    /// Place of all that are ranked.
    pub place: String,
    /// Ids of the deployments by their mean over all blocks, least first.
    pub order: Vec<String>,
    /// Blocks, each with other values of the assumed parameters.
    pub blocks: usize,
    /// Blocks in which the ranking was this one.
    pub survived: usize,
    /// Whether it survived in at least 90 % of them; where not, the order says nothing.
    pub decided: bool,
    /// Each deployment with the next.
    pub pairs: Vec<RankedPair>,
}

/// Two neighbours of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankedPair {
    /// Id of the one with less.
    pub first: String,
    /// Id of the other.
    pub second: String,
    /// Blocks in which the first had less, or as much.
    pub survived: usize,
    /// Whether in at least 90 % of them.
    pub decided: bool,
}
