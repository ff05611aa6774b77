//! Services that a CPU quota stopped.

use std::collections::BTreeMap;

use stowplan_results::{Results, UsageRow};

use crate::counted::Counted;
use crate::error::JudgeError;

/// A service that its CPU quota stopped in the windows of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttled {
    /// Id of the deployment.
    pub deployment: String,
    /// Service.
    pub service: String,
    /// Periods in which a quota stopped it (`nr_throttled` of cpu.stat), over all runs.
    pub periods: u64,
    /// Runs in which it was stopped.
    pub runs: usize,
}

impl Throttled {
    /// The same as a sentence.
    #[must_use]
    pub(crate) fn sentence(&self, deployment: &str) -> String {
        let runs = match self.runs {
            1 => "one run".to_owned(),
            runs => format!("{runs} runs"),
        };
        format!(
            "{deployment}: its CPU quota stopped service {} in {} periods of {runs}",
            self.service, self.periods
        )
    }
}

/// Of one service in one run: the first sample of its window and the last, each with its count.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: (i64, u64),
    last: (i64, u64),
}

impl Span {
    fn with(self, sample: (i64, u64)) -> Self {
        Self {
            first: self.first.min(sample),
            last: self.last.max(sample),
        }
    }
}

/// Reads the usage table of the runs that count, from the beginning of each window.
pub(crate) fn read(results: &Results, counted: &Counted) -> Result<Vec<Throttled>, JudgeError> {
    let mut spans: BTreeMap<(usize, String, u32), Span> = BTreeMap::new();
    results.scan(|row: UsageRow| {
        let Some(periods) = row.throttled.filter(|_| row.t_ns >= 0) else {
            return;
        };
        if counted.latency(row.run).is_none() {
            return;
        }
        let key = (
            counted.rank(&row.deployment),
            row.subject.to_string(),
            row.run,
        );
        let sample = (row.t_ns, periods);
        let span = spans.entry(key).or_insert(Span {
            first: sample,
            last: sample,
        });
        *span = span.with(sample);
    })?;
    let mut by: BTreeMap<(usize, String), (u64, usize)> = BTreeMap::new();
    for ((rank, service, _), span) in spans {
        let periods = span.last.1.saturating_sub(span.first.1);
        if periods > 0 {
            let sum = by.entry((rank, service)).or_default();
            *sum = (sum.0 + periods, sum.1 + 1);
        }
    }
    let all = by
        .into_iter()
        .map(|((rank, service), (periods, runs))| Throttled {
            deployment: counted.id(rank).to_owned(),
            service,
            periods,
            runs,
        });
    Ok(all.collect())
}
