//! A sample of durations, described.

use stowplan_stats::{Sorted, Unsupported};

/// A sample of durations in nanoseconds. Quantiles after Hyndman and Fan 7, given
/// only if enough samples lie beyond them (docs/measuring.md §4).
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Least.
    pub min_ns: i64,
    /// Median, of however few.
    pub median_ns: f64,
    /// Median.
    pub q50_ns: Result<f64, Unsupported>,
    /// 99th percentile.
    pub p99_ns: Result<f64, Unsupported>,
    /// Greatest.
    pub max_ns: i64,
    /// Whether the quantiles are those of the samples; else, in long traces, they
    /// are within 0.4 %.
    pub exact: bool,
}

impl Distribution {
    /// The distribution of samples; `None` without any.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut samples: Vec<i64> = samples.into_iter().collect();
        // Whole numbers sort faster than those that they become below.
        samples.sort_unstable();
        let (min_ns, max_ns) = (*samples.first()?, *samples.last()?);
        let sum: i128 = samples.iter().copied().map(i128::from).sum();
        let sorted = Sorted::new(samples.iter().map(|&ns| ns as f64).collect()).ok()?;
        Some(Self {
            count: samples.len() as u64,
            mean_ns: sum as f64 / samples.len() as f64,
            min_ns,
            median_ns: sorted.quantile(0.5),
            q50_ns: sorted.quantile_if_supported(0.5),
            p99_ns: sorted.quantile_if_supported(0.99),
            max_ns,
            exact: true,
        })
    }
}
