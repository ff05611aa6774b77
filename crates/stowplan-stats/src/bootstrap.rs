//! The studentised bootstrap, for many pairs.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::error::open_unit;
use crate::{Estimate, Interval, Sorted, StatsError};

/// Fewest pairs from which a bootstrap interval is offered: with fewer it flags
/// too many equal pairs.
pub const MIN_BOOTSTRAP_PAIRS: usize = 30;

/// Resamples drawn.
pub const BOOTSTRAP_RESAMPLES: usize = 9_999;

/// The studentised (bootstrap-t) interval for the mean of paired differences,
/// after Efron and Tibshirani (1993), chapter 12.
///
/// Blocks are drawn, never samples within a run. The same seed gives the same
/// interval.
pub fn studentised_bootstrap(
    differences: &[f64],
    level: f64,
    seed: u64,
) -> Result<Interval, StatsError> {
    open_unit("confidence level", level)?;
    let n = differences.len();
    if n < MIN_BOOTSTRAP_PAIRS {
        return Err(StatsError::TooFew {
            what: "a studentised bootstrap",
            need: MIN_BOOTSTRAP_PAIRS,
            have: n,
        });
    }
    let observed = Estimate::mean_of(differences)?;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut drawn = vec![0.0; n];
    let mut ratios = Vec::with_capacity(BOOTSTRAP_RESAMPLES);
    for _ in 0..BOOTSTRAP_RESAMPLES {
        drawn.fill_with(|| differences[random.random_range(0..n)]);
        let resample = Estimate::mean_of(&drawn)?;
        // A resample of one value repeated has no spread to studentise by.
        if resample.std_error > 0.0 {
            ratios.push((resample.value - observed.value) / resample.std_error);
        }
    }
    if ratios.is_empty() {
        return Ok(Interval {
            low: observed.value,
            high: observed.value,
            level,
        });
    }
    let ratios = Sorted::new(ratios)?;
    let tail = (1.0 - level) / 2.0;
    Ok(Interval {
        low: observed.value - ratios.quantile(1.0 - tail) * observed.std_error,
        high: observed.value - ratios.quantile(tail) * observed.std_error,
        level,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::t_interval;

    /// Normal scores: quantiles of the normal stand for an ideal normal sample,
    /// on which the bootstrap-t interval tends to Student's t interval.
    #[test]
    fn close_to_the_t_interval_on_normal_scores() {
        use statrs::distribution::{ContinuousCDF, Normal};
        let d: Vec<f64> = (1..=40)
            .map(|i| 0.3 + Normal::standard().inverse_cdf((f64::from(i) - 0.5) / 40.0))
            .collect();
        let boot = studentised_bootstrap(&d, 0.95, 5).unwrap();
        let t = t_interval(&d, 0.95).unwrap();
        assert!((boot.low - t.low).abs() < 0.03, "{boot:?} {t:?}");
        assert!((boot.high - t.high).abs() < 0.03, "{boot:?} {t:?}");
        assert_eq!(boot, studentised_bootstrap(&d, 0.95, 5).unwrap());
    }

    #[test]
    fn a_right_skew_moves_the_interval_right() {
        let d: Vec<f64> = (0..40).map(|i| (f64::from(i) / 10.0).exp()).collect();
        let boot = studentised_bootstrap(&d, 0.95, 5).unwrap();
        let t = t_interval(&d, 0.95).unwrap();
        assert!(boot.low > t.low && boot.high > t.high, "{boot:?} {t:?}");
    }

    #[test]
    fn not_offered_below_thirty_pairs() {
        assert_eq!(
            studentised_bootstrap(&[1.0; 29], 0.95, 1)
                .unwrap_err()
                .to_string(),
            "a studentised bootstrap needs at least 30 values, there are 29"
        );
        let flat = studentised_bootstrap(&[1.0; 30], 0.95, 1).unwrap();
        assert_eq!((flat.low, flat.high), (1.0, 1.0));
    }
}
