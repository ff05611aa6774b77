//! `selftest.json`: the calibration of the instrument, by pairs of equal deployments and of deployments with a known
//! difference (docs/measuring.md §5). It is made by `stowplan selftest` and kept beside later results of the machine.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stowplan_stats::Verdict;

use crate::comparison::VerdictWord;
use crate::error::ResultsError;
use crate::experiment::Machine;
use crate::file::{read_json, write_json};

/// Format of `selftest.json`.
pub const SELFTEST_SCHEMA: &str = "stowplan.selftest/1";

/// Name of the file, in the folder of a selftest and in that of a result.
pub const SELFTEST_FILE: &str = "selftest.json";

/// How the instrument did on pairs of which the truth is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selftest {
    /// Always [`SELFTEST_SCHEMA`].
    pub schema: String,
    /// Version of Stowplan.
    pub stowplan_version: String,
    /// Build id that command line, agent and node program share.
    pub build_id: String,
    /// When the last comparison was begun, seconds since 1970.
    pub measured_unix_s: u64,
    /// The machine that all comparisons were measured on.
    pub machine: Machine,
    /// Whether it meets every criterion.
    pub passed: bool,
    /// What is asked of it, and what came out.
    pub criteria: Vec<Criterion>,
    /// Median half-width of the 95 % intervals of the pairs without a difference, as a relative change: 0.01 is 1 %.
    pub median_half_width: f64,
    /// Counts of comparisons by kind.
    pub counts: Vec<KindCounts>,
    /// The known difference of the pairs that have one.
    pub injected: InjectedDifference,
    /// What was compared.
    pub subject: SelftestSubject,
    /// Which comparisons share runs, and so are not independent.
    pub dependence: String,
    /// Every comparison, in order.
    pub comparisons: Vec<SelftestComparison>,
}

/// What the comparisons of a selftest are of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelftestSubject {
    /// Name of the stack.
    pub stack: String,
    /// SHA-256 of its file, hex.
    pub stack_sha256: String,
    /// Place of all deployments.
    pub place: String,
    /// Partition of all deployments.
    pub partition: String,
    /// The chain.
    pub chain: String,
    /// The metric, primary in each comparison.
    pub metric: String,
    /// Blocks of each comparison.
    pub blocks: u32,
    /// Length of the measured window, s.
    pub window_s: f64,
    /// Seed that those of the comparisons are derived from.
    pub seed: u64,
}

/// What is known of the two deployments of a comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SelftestKind {
    /// A/A: they are the same.
    Equal,
    /// A/B: the candidate does more counted work.
    Work,
    /// A/B: data waits longer for a timer of the candidate.
    Idle,
}

impl SelftestKind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Equal, Self::Work, Self::Idle];
}

/// How comparisons of one kind came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCounts {
    /// The kind.
    pub kind: SelftestKind,
    /// Comparisons.
    pub compared: u64,
    /// Those whose 95 % interval leaves out no difference.
    pub flagged: u64,
    /// Those of them that say that the candidate takes longer.
    pub flagged_longer: u64,
    /// Those whose 95 % interval of the difference in ns holds the true one, which is 0 for equal deployments.
    pub covered: u64,
}

/// A known difference, fixed before the comparisons that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedDifference {
    /// Size as a share of the metric's mean: the greater of 0.1 and three times the median half-width.
    pub share: f64,
    /// The same in ns; less where a quarter of the timer's period is less.
    pub ns: u64,
    /// Callback that does more work, as `node/callback`.
    pub work_callback: String,
    /// Factor on its counted iterations.
    pub work_factor: f64,
    /// Iterations that this adds to each of its executions, in the mean.
    pub work_iterations: f64,
    /// ns per iteration that this was computed with: the median of the calibrations of the equal pairs. What is
    /// expected of a comparison is computed with those of its own blocks.
    pub ns_per_iteration: f64,
    /// Callback of the timer that is released later by `ns`, as `node/callback`.
    pub timer: String,
    /// When data arrives at the timer's node after its release by the source, modulo the timer's period, ns: measured
    /// in the equal pairs. Phases are drawn so that data never arrives near a release of the timer.
    pub arrival_ns: u64,
}

/// Whether `found` has to stay at or below, or at or above `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// At most `limit`.
    AtMost,
    /// At least `limit`.
    AtLeast,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// Its name: `equal-flagged`, `equal-half-width`, `work-flagged`, `idle-flagged` or `covered`.
    pub name: String,
    /// What it asks, for people.
    pub asks: String,
    /// What came out: a number of comparisons, for `equal-half-width` a relative change.
    pub found: f64,
    /// Of how many comparisons; null for `equal-half-width`.
    pub of: Option<u64>,
    /// Which side of the limit is good.
    pub bound: Bound,
    /// The limit.
    pub limit: f64,
    /// Whether it is met.
    pub passed: bool,
}

/// One comparison of a selftest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelftestComparison {
    /// What is known of its deployments.
    pub kind: SelftestKind,
    /// Folder of its experiment, below that of the selftest.
    pub result: String,
    /// Id of the reference in that experiment.
    pub reference: String,
    /// Id of the candidate in that experiment.
    pub candidate: String,
    /// Blocks in which both finished.
    pub blocks: u64,
    /// Estimated difference as a relative change, as in every comparison.
    pub difference: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Whether that leaves out no difference.
    pub flagged: bool,
    /// Verdict of the comparison.
    #[schemars(with = "VerdictWord")]
    pub verdict: Verdict,
    /// Difference that was injected, ns: for work, what the injected iterations took, as the difference of the
    /// callback's CPU time per call, the mean over the blocks.
    pub injected_ns: f64,
    /// Estimated difference, ns.
    pub difference_ns: f64,
    /// Lower end of its 95 % interval, ns.
    pub low_ns: f64,
    /// Upper end of its 95 % interval, ns.
    pub high_ns: f64,
    /// Whether that holds what was injected.
    pub covered: bool,
}

impl SelftestComparison {
    /// Half of the width of the 95 % interval, as a relative change.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

impl Selftest {
    /// Counts of one kind; `None` where there are no comparisons of it.
    #[must_use]
    pub fn of_kind(&self, kind: SelftestKind) -> Option<&KindCounts> {
        self.counts.iter().find(|c| c.kind == kind)
    }

    /// Reads a file; `None` where there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, ResultsError> {
        if path.exists() {
            read_json(path, &[SELFTEST_SCHEMA]).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Writes a file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ResultsError> {
        write_json(path, self)
    }

    /// JSON Schema of the document.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}
