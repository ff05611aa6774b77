//! What got worse since an earlier result.

use stowplan_results::{Comparison, Comparisons};
use stowplan_stats::Verdict;

use crate::metrics::LOST_INPUTS;

/// Whether a comparison with an earlier result says that something got worse: by a verdict on what answers the
/// question, or because more inputs are lost, which takes such a verdict back, or because nothing is left to compare.
#[must_use]
pub fn is_regression(c: &Comparison) -> bool {
    let gone = c.primary && c.reference_value.is_some() && c.candidate_value.is_none();
    let worse = c.verdict == Verdict::Worse;
    gone || worse && (c.primary || c.metric == LOST_INPUTS)
}

/// Comparisons that say that something got worse: what has no value any more first, then the largest change.
#[must_use]
pub fn regressions(verdicts: &Comparisons) -> Vec<&Comparison> {
    let worse = verdicts.comparisons.iter().filter(|c| is_regression(c));
    let mut worse: Vec<_> = worse.collect();
    let size = |change: Option<f64>| change.map_or(f64::INFINITY, f64::abs);
    worse.sort_by(|a, b| size(b.difference).total_cmp(&size(a.difference)));
    worse
}
