//! One comparison and its verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stowplan_stats::Verdict;

/// Which effect a pair of deployments shows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Everything at once: the candidate against the reference of the experiment, or a place against `bare:flat` of its
    /// partition.
    Total,
    /// Splitting into services: another partition at the same place.
    Splitting,
    /// Group scheduling: `bare:flat` → `bare:grouped` or one with the groups of an engine, same partition.
    GroupScheduling,
    /// Isolation: `bare:grouped`, or the one with the groups of this engine → an engine, same partition.
    Isolation,
    /// Resources: another allocation of the machine (`limits`), same place and partition.
    Resources,
}

impl Effect {
    /// The word in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Splitting => "splitting",
            Self::GroupScheduling => "group scheduling",
            Self::Isolation => "isolation",
            Self::Resources => "resources",
        }
    }
}

/// A metric of a candidate against that of a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Metric, as `e2e_paper_mean`.
    pub metric: String,
    /// Metric for people, as `e2e mean`.
    pub label: String,
    /// Unit of the values: `ns`, `bytes`, `cpus`, `share`.
    pub unit: String,
    /// Chain, start kind or service that it is about.
    pub subject: Option<String>,
    /// Which effect the pair shows.
    pub effect: Effect,
    /// Whether it answers the question of the experiment (Holm-corrected); all else is exploratory.
    pub primary: bool,
    /// Id of the reference.
    pub reference: String,
    /// Id of the candidate.
    pub candidate: String,
    /// Mean over the blocks of the reference, in `unit`.
    pub reference_value: Option<f64>,
    /// Mean over the blocks of the candidate, in `unit`.
    pub candidate_value: Option<f64>,
    /// Whether `difference`, `low`, `high` and `delta` are relative changes; else they are in `unit`.
    pub relative: bool,
    /// Estimated difference: candidate against reference.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Lower end of the 95 % interval of the studentised bootstrap over blocks, which is given beside the other from 30 blocks on;
    /// null below, and between two results that were not measured in the same blocks.
    #[serde(default)]
    pub bootstrap_low: Option<f64>,
    /// Upper end of it.
    #[serde(default)]
    pub bootstrap_high: Option<f64>,
    /// Smallest difference that matters.
    pub delta: f64,
    /// p of the sign-flip test: up to 20 blocks exact, beyond that of 20,000 sign patterns drawn by the seed. Null between two
    /// results that were not measured in the same blocks.
    pub p_sign_flip: Option<f64>,
    /// p of the t test, Holm-corrected where `primary`.
    pub p_t: Option<f64>,
    /// Blocks in which both finished.
    pub blocks: usize,
    /// Verdict on the candidate: better, worse, equivalent, inconclusive; or why there is none, no-control or
    /// lost-inputs-differ.
    #[schemars(with = "VerdictWord")]
    pub verdict: Verdict,
    /// Why it came out so; where inconclusive, what would help.
    pub verdict_reason: String,
    /// Where inconclusive: about how many more blocks should bring a verdict; null otherwise, where no attainable number would,
    /// and between two results that were not measured in the same blocks: the earlier one gets no more, and its spread
    /// stays in the interval however many the later one has.
    #[serde(default)]
    pub blocks_needed: Option<usize>,
    /// Why figures are null.
    pub difference_reason: Option<String>,
    /// The same without the blocks in which a run of either is marked; null where none is.
    #[serde(default)]
    pub unmarked: Option<Unmarked>,
}

/// A comparison without the blocks that have a marked run: one of which the hypervisor took more than 0.5 % of the CPU time,
/// or whose environment was not that of its deployment's first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unmarked {
    /// Blocks that are left.
    pub blocks: usize,
    /// Estimated difference; null where no block is left.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval; null below two blocks.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; null below two blocks.
    pub high: Option<f64>,
    /// Verdict on the candidate; null where no block is left.
    #[schemars(with = "Option<VerdictWord>")]
    pub verdict: Option<Verdict>,
}

/// The words of a verdict, for the JSON Schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum VerdictWord {
    Better,
    Worse,
    Equivalent,
    Inconclusive,
    NoControl,
    LostInputsDiffer,
}
