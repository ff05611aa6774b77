//! CPU time of calls.

use crate::distribution::Distribution;
use crate::durations::{Budget, Durations};

/// What all recorded calls of a callback used.
#[derive(Debug, Clone, Default)]
pub struct CallbackCpu {
    /// Calls.
    pub calls: u64,
    /// CPU time of their threads, nanoseconds.
    pub cpu_ns: u64,
    /// Iterations of the work kernel.
    pub iterations: u64,
    times: Durations,
    /// Picoseconds per iteration, of calls with work.
    per_iteration: Durations,
}

impl CallbackCpu {
    /// Adds a call.
    pub(crate) fn add(&mut self, cpu_ns: u64, iterations: u64, budget: &mut Budget) {
        let sample = |value| i64::try_from(value).unwrap_or(i64::MAX);
        self.calls += 1;
        self.cpu_ns += cpu_ns;
        self.iterations += iterations;
        self.times.add(sample(cpu_ns), budget);
        if let Some(ps) = cpu_ns.saturating_mul(1000).checked_div(iterations) {
            self.per_iteration.add(sample(ps), budget);
        }
    }

    /// CPU times of a call at these shares (0 to 1) of all calls, nanoseconds, after Hyndman and Fan 7;
    /// `None` without calls.
    #[must_use]
    pub fn quantiles(&self, shares: &[f64]) -> Option<Vec<f64>> {
        self.times.quantiles(shares)
    }

    /// Median over the calls with work of their CPU time per iteration, nanoseconds; `None` without such calls.
    #[must_use]
    pub fn ns_per_iteration(&self) -> Option<f64> {
        let median = self.per_iteration.quantiles(&[0.5])?[0];
        Some(median / 1e3)
    }

    /// Their distribution; `None` without calls.
    #[must_use]
    pub fn distribution(&self) -> Option<Distribution> {
        self.times.clone().distribution()
    }
}
