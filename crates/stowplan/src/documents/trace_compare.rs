//! What `stowplan trace compare` prints as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Two traces of one system beside each other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceComparison {
    /// `stowplan.trace-compare/1`.
    pub schema: &'static str,
    /// Figures that both traces have in enough blocks of time: the intervals of all of them hold together.
    pub comparisons: u64,
    /// Callbacks that were called in both; what exceeds its spread first, then by how far it changed.
    pub callbacks: Vec<ComparedCallback>,
    /// Edges that carried messages in both, in the same order.
    pub edges: Vec<ComparedEdge>,
    /// Chains that both have, with `--from` and `--to`.
    pub chains: Vec<ComparedChain>,
    /// Callbacks, edges between callbacks that both have, and chains that only the first has.
    pub only_in_a: Vec<String>,
    /// The same of the second.
    pub only_in_b: Vec<String>,
    /// Callbacks of one name of which nothing tells which is which.
    pub undecided: Vec<Undecided>,
    /// What changed most of what exceeds its spread: of chains where any does, else of callbacks and edges, else of
    /// rates; null where nothing does.
    pub changed_most: Option<ChangedMost>,
}

/// A callback in two traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedCallback {
    /// Node and trigger, without what belongs to one start only (`*`), and where they do not tell callbacks apart the
    /// process and a number.
    pub name: String,
    /// What told which is which: `name`, `process`, `endpoints` (topics, services, periods), `symbol`, `remainder` (all
    /// others of the name were told apart) or `order` of creation alone.
    pub matched_by: &'static str,
    /// Calls in the first and the second trace.
    pub calls: [u64; 2],
    /// Durations in the first trace; null without a call that counts.
    pub a: Option<Side>,
    /// In the second trace.
    pub b: Option<Side>,
    /// Mean duration.
    pub duration_ns: Change,
    /// Calls per second, from the time between calls.
    pub calls_per_s: Change,
}

/// An edge in two traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedEdge {
    /// Callbacks from → to.
    pub name: String,
    /// Publication to callback in the first trace.
    pub a: Side,
    /// In the second trace.
    pub b: Side,
    /// Mean time from publication to callback.
    pub latency_ns: Change,
}

/// All durations of a callback or latencies of an edge in one trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Side {
    /// Instances.
    pub count: u64,
    /// Mean in ns.
    pub mean: f64,
    /// Median in ns.
    pub q50: f64,
}

/// How a figure changed from the first trace to the second, by its means over blocks of time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Change {
    /// Blocks that have the figure in the first and the second trace.
    pub blocks: [u64; 2],
    /// Mean over the blocks of the first trace; null with fewer than six blocks in either, as all that follow.
    pub a: Option<f64>,
    /// Mean over the blocks of the second trace.
    pub b: Option<f64>,
    /// `b` less `a`.
    pub change: Option<f64>,
    /// Half the width of the interval of the change: what the spread over blocks explains.
    pub explained: Option<f64>,
    /// Whether the change exceeds that, and 2 % of `a`.
    pub verdict: ChangeVerdict,
}

/// Whether a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// By more than its spread over blocks of time explains.
    Changed,
    /// Not by more than that.
    WithinSpread,
    /// There are fewer than six blocks in a trace.
    CannotTell,
}

/// A chain in two traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedChain {
    /// Callbacks in order.
    pub path: Vec<String>,
    /// Instances in the first and the second trace.
    pub instances: [u64; 2],
    /// Mean over the instances of the second less that of the first in ns, by part and end to end; a part
    /// that one of them lacks is left out.
    pub change_ns: BTreeMap<&'static str, f64>,
    /// The same over blocks of time, with its spread.
    pub over_blocks: BTreeMap<&'static str, Change>,
    /// The part that changed most of those that exceed their spread.
    pub changed_most: Option<&'static str>,
}

/// Callbacks that cannot be told apart.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Undecided {
    /// Their name.
    pub name: String,
    /// How many the first trace has.
    pub in_a: u64,
    /// How many the second trace has.
    pub in_b: u64,
}

/// What changed most between two traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedMost {
    /// `callback` (its duration), `edge`, the part of a chain, or `rate`.
    pub what: &'static str,
    /// Which.
    pub name: String,
    /// In the first trace: ns, of a rate calls per second. So are those that follow.
    pub a: f64,
    /// In the second trace.
    pub b: f64,
    /// `b` less `a`.
    pub change: f64,
    /// What its spread over blocks of time explains.
    pub explained: f64,
}
