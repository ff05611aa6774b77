//! What got slower where a chain did: its parts and its callbacks, as far as they grew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A chain that is worse in a candidate than in its reference, or than in an earlier result: where that comes from.
/// Exploratory, as is everything but the primary comparisons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slower {
    /// Chain.
    pub chain: String,
    /// Metrics of the chain that are worse, as in the comparisons.
    pub metrics: Vec<String>,
    /// `reference` of those comparisons.
    pub reference: String,
    /// `candidate` of those comparisons.
    pub candidate: String,
    /// Parts whose sum is the end-to-end latency, the one that grew most first.
    pub parts: Vec<PartGrowth>,
    /// Callbacks of the chain, the one whose calls grew most first; all that were called, where the result does not
    /// have the callbacks of its chains.
    pub callbacks: Vec<CallbackGrowth>,
}

/// How a duration changed, over blocks of run means; against an earlier result less what changed for the reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Mean over the blocks of the reference, or of the earlier result, ns.
    pub before_ns: f64,
    /// Mean over the blocks of the candidate, ns.
    pub after_ns: f64,
    /// Estimated growth, ns.
    pub difference_ns: f64,
    /// Lower end of the 95 % interval, ns; null where one block has none.
    pub low_ns: Option<f64>,
    /// Upper end of the 95 % interval, ns; null where one block has none.
    pub high_ns: Option<f64>,
    /// Blocks, of the smaller result where there are two.
    pub blocks: usize,
}

/// Growth of one part of a chain's latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartGrowth {
    /// `computation`, `send`, `transport`, `wait` or `idle`; `communication` where the three in the middle are not known apart.
    pub part: String,
    /// How it changed.
    pub growth: Growth,
}

/// Growth of the calls of one callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackGrowth {
    /// `NODE/CALLBACK`.
    pub callback: String,
    /// Service of its node in the candidate; null where the result does not say.
    pub service: Option<String>,
    /// Wall time of a call.
    pub wall: Growth,
    /// CPU time of a call: where it did not grow with the wall time, the callback waited for a CPU.
    pub cpu: Option<Growth>,
    /// Why the CPU time is null.
    pub cpu_reason: Option<String>,
}
