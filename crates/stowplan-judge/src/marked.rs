//! Runs that are marked: the hypervisor took CPU time from them, or their environment was not that of their deployment's
//! first run. Comparisons are told with and without them (docs/measuring.md §5).

use std::collections::BTreeSet;

use stowplan_results::{Comparison, RunRow, RunStatus, Unmarked};

use crate::blocks::Blocks;
use crate::format::difference;
use crate::metrics::Metric;

/// A run with more steal than this is marked (share of the time of all CPUs).
pub(crate) const STEAL: f64 = 0.005;

fn is_marked(run: &RunRow) -> bool {
    run.steal.is_some_and(|steal| steal > STEAL) || run.changed.is_some()
}

/// Deployments and their blocks with a marked run.
#[derive(Debug, Default)]
pub(crate) struct Marked(BTreeSet<(String, u32)>);

impl Marked {
    pub(crate) fn of(runs: &[RunRow]) -> Self {
        let marked = runs.iter().filter(|run| is_marked(run));
        let finished = marked.filter(|run| run.status == RunStatus::Finished);
        Self(
            finished
                .map(|run| (run.deployment.to_string(), run.block))
                .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a deployment's run of this block is marked.
    pub(crate) fn has(&self, deployment: &str, block: u32) -> bool {
        self.0.contains(&(deployment.to_owned(), block))
    }

    /// The values of the blocks in which neither run is marked.
    pub(crate) fn without(&self, metric: &Metric, a: &str, b: &str) -> Blocks {
        Blocks::that(&metric.values, a, b, |block| {
            !self.has(a, block) && !self.has(b, block)
        })
    }
}

/// Says beside a comparison what the blocks without marked runs say, which `clean` is, if enough are left.
pub(crate) fn beside(all: &mut Comparison, clean: Option<&Comparison>, marked_blocks: usize) {
    if marked_blocks == 0 {
        return;
    }
    let shown = |v| difference(all.relative, &all.unit, Some(v));
    let found = clean.map_or_else(
        || "too few are left".to_owned(),
        |c| match (c.low, c.high) {
            (Some(low), Some(high)) => format!("{}, {} … {}", c.verdict, shown(low), shown(high)),
            _ => c.verdict.to_string(),
        },
    );
    all.verdict_reason +=
        &format!("; without {marked_blocks} blocks that have a marked run: {found}");
    all.unmarked = Some(Unmarked {
        blocks: clean.map_or(0, |c| c.blocks),
        difference: clean.and_then(|c| c.difference),
        low: clean.and_then(|c| c.low),
        high: clean.and_then(|c| c.high),
        verdict: clean.map(|c| c.verdict),
    });
}
