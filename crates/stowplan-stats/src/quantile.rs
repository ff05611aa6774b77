//! Quantiles and the empirical distribution function.

use crate::error::finite;
use crate::{StatsError, Unsupported};

/// How many samples must lie beyond a quantile before it is given.
///
/// n(1−q) ≥ 10 for the upper half, nq ≥ 10 for the lower: an extreme quantile
/// on fewer samples is the maximum (or minimum) under another name.
pub const MIN_BEYOND: f64 = 10.0;

/// At least one finite sample, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts the samples; refuses none at all and what is not finite.
    pub fn new(mut samples: Vec<f64>) -> Result<Self, StatsError> {
        if samples.is_empty() {
            return Err(StatsError::Empty);
        }
        finite(&samples)?;
        samples.sort_unstable_by(f64::total_cmp);
        Ok(Self(samples))
    }

    /// The samples in ascending order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The quantile `q` after Hyndman and Fan (1996), definition 7 (the default
    /// of R and numpy), in the unit of the samples. `q` is held within 0 and 1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let last = self.0.len() - 1;
        let position = q.clamp(0.0, 1.0) * last as f64;
        let below = (position.floor() as usize).min(last);
        let above = (below + 1).min(last);
        let share = position - below as f64;
        // Weighted form: the difference of two opposite extremes could overflow.
        if share == 0.0 || self.0[below] == self.0[above] {
            self.0[below]
        } else {
            self.0[below] * (1.0 - share) + self.0[above] * share
        }
    }

    /// The quantile `q`, if at least [`MIN_BEYOND`] samples lie beyond it on its
    /// own side: n · min(q, 1−q) ≥ 10.
    pub fn quantile_if_supported(&self, q: f64) -> Result<f64, Unsupported> {
        supports(self.0.len() as u64, q).map(|()| self.quantile(q))
    }

    /// The empirical distribution function: the share of samples at or below `x`.
    #[must_use]
    pub fn ecdf(&self, x: f64) -> f64 {
        self.0.partition_point(|value| *value <= x) as f64 / self.0.len() as f64
    }
}

/// Whether `have` samples carry the quantile `q`: n · min(q, 1−q) ≥ [`MIN_BEYOND`].
pub fn supports(have: u64, q: f64) -> Result<(), Unsupported> {
    let beyond = q.min(1.0 - q);
    // 1 − 0.999 is a little above 0.001 or below it, by rounding alone.
    if have as f64 * beyond * (1.0 + 1e-9) >= MIN_BEYOND {
        Ok(())
    } else {
        Err(Unsupported::TooFewSamples {
            have,
            need: samples_needed(q),
        })
    }
}

/// How many samples the quantile `q` needs.
pub(crate) fn samples_needed(q: f64) -> u64 {
    (MIN_BEYOND / q.min(1.0 - q) * (1.0 - 1e-9)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(samples: &[f64]) -> Sorted {
        Sorted::new(samples.to_vec()).unwrap()
    }

    /// Source: numpy.quantile (method "linear", which is Hyndman and Fan 7).
    #[test]
    fn agrees_with_numpy() {
        let x = sorted(&[2.1, 3.4, 1.9, 8.7, 4.4, 5.0, 2.2, 12.5, 3.3, 4.1]);
        for (q, expected) in [
            (0.0, 1.9),
            (0.1, 2.08),
            (0.25, 2.475),
            (0.5, 3.75),
            (0.75, 4.85),
            (0.9, 9.08),
            (1.0, 12.5),
        ] {
            assert!((x.quantile(q) - expected).abs() < 1e-12, "q = {q}");
        }
    }

    #[test]
    fn a_quantile_needs_ten_samples_beyond_it() {
        let of = |n: usize| Sorted::new((0..n).map(|i| i as f64).collect()).unwrap();
        for (q, need) in [
            (0.25, 40),
            (0.5, 20),
            (0.75, 40),
            (0.01, 1_000),
            (0.99, 1_000),
            (0.999, 10_000),
        ] {
            assert!(of(need).quantile_if_supported(q).is_ok(), "q = {q}");
            assert_eq!(
                of(need - 1).quantile_if_supported(q),
                Err(Unsupported::TooFewSamples {
                    have: need as u64 - 1,
                    need: need as u64
                })
            );
        }
    }

    #[test]
    fn ecdf_counts_ties() {
        let x = sorted(&[1.0, 2.0, 2.0, 5.0]);
        assert_eq!(
            [0.9, 1.0, 2.0, 4.9, 5.0].map(|at| x.ecdf(at)),
            [0.0, 0.25, 0.75, 0.75, 1.0]
        );
    }

    #[test]
    fn refuses_nothing_and_nan() {
        assert_eq!(Sorted::new(vec![]), Err(StatsError::Empty));
        assert!(Sorted::new(vec![f64::INFINITY]).is_err());
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(
            samples in prop::collection::vec(-1e300..1e300f64, 1..60),
            a in 0.0..=1.0f64,
            b in 0.0..=1.0f64,
        ) {
            let x = Sorted::new(samples).unwrap();
            let (low, high) = (x.quantile(a.min(b)), x.quantile(a.max(b)));
            let slack = 1e-12 * low.abs().max(high.abs());
            prop_assert!(low <= high + slack);
            prop_assert!(x.quantile(0.0) - slack <= low);
            prop_assert!(high <= x.quantile(1.0) + slack);
        }
    }
}
