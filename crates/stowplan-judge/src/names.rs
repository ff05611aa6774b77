//! What a comparison is called, and a deployment where it stands beside its earlier self.

use stowplan_results::Comparison;
use stowplan_stats::Verdict;

/// What stands for a deployment in comparisons across results.
pub(crate) fn before(id: &str) -> String {
    format!("{id}{BEFORE}")
}

pub(crate) fn after(id: &str) -> String {
    format!("{id}{AFTER}")
}

/// Id of a deployment, also where it stands beside its earlier self.
#[must_use]
pub fn deployment_of(named: &str) -> &str {
    let id = named.strip_suffix(AFTER);
    id.or_else(|| named.strip_suffix(BEFORE)).unwrap_or(named)
}

const BEFORE: &str = " (before)";
const AFTER: &str = " (after)";

/// Metric and what it is of.
#[must_use]
pub fn difference_name(c: &Comparison) -> String {
    let subject = c.subject.as_deref();
    subject.map_or_else(|| c.label.clone(), |s| format!("{}, {s}", c.label))
}

/// Verdicts with their numbers, in the order in which they first come: `2 worse, 1 equivalent`.
pub fn verdict_counts<'a>(all: impl IntoIterator<Item = &'a Comparison>) -> String {
    let mut counts: Vec<(Verdict, usize)> = Vec::new();
    for c in all {
        match counts.iter_mut().find(|(verdict, _)| *verdict == c.verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((c.verdict, 1)),
        }
    }
    let counts: Vec<String> = counts.iter().map(|(v, n)| format!("{n} {v}")).collect();
    counts.join(", ")
}
