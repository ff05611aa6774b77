//! The figures by which samples are described.

use serde::{Deserialize, Serialize};

use crate::quantile::samples_needed;
use crate::{Moments, Sorted, StatsError, Unsupported};

/// One figure of a [`Summary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// [`Summary::mean`].
    Mean,
    /// [`Summary::std`].
    Std,
    /// [`Summary::skewness`].
    Skewness,
    /// [`Summary::kurtosis`].
    Kurtosis,
    /// [`Summary::min`].
    Min,
    /// [`Summary::q25`].
    Q25,
    /// [`Summary::q50`].
    Q50,
    /// [`Summary::q75`].
    Q75,
    /// [`Summary::p99`].
    P99,
    /// [`Summary::p999`].
    P999,
    /// [`Summary::max`].
    Max,
}

/// A figure that the samples do not carry, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The figure left out.
    pub figure: Figure,
    /// Why.
    pub reason: Unsupported,
}

/// Description of samples, all in their unit save skewness and kurtosis (pure
/// numbers). What is `None` has its reason in [`Summary::missing`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Number of samples.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation, n−1 in the denominator.
    pub std: Option<f64>,
    /// Adjusted Fisher–Pearson skewness (G1).
    pub skewness: Option<f64>,
    /// Adjusted Fisher–Pearson excess kurtosis (G2).
    pub kurtosis: Option<f64>,
    /// Smallest sample.
    pub min: Option<f64>,
    /// First quartile; quantiles are Hyndman and Fan 7.
    pub q25: Option<f64>,
    /// Median.
    pub q50: Option<f64>,
    /// Third quartile.
    pub q75: Option<f64>,
    /// 99 % quantile.
    pub p99: Option<f64>,
    /// 99.9 % quantile.
    pub p999: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
    /// The figures that are `None`, and why.
    pub missing: Vec<Missing>,
}

impl Summary {
    /// Describes samples in any order. No samples give a summary in which every
    /// figure is missing; a sample that is not finite is an error.
    pub fn of(samples: Vec<f64>) -> Result<Self, StatsError> {
        if samples.is_empty() {
            return Ok(Self::build(&Moments::default(), |q| {
                Err(Unsupported::TooFewSamples {
                    have: 0,
                    need: samples_needed(q),
                })
            }));
        }
        Ok(Self::of_sorted(&Sorted::new(samples)?))
    }

    /// Describes samples already sorted.
    #[must_use]
    pub fn of_sorted(sorted: &Sorted) -> Self {
        let moments = sorted.values().iter().copied().collect();
        Self::build(&moments, |q| sorted.quantile_if_supported(q))
    }

    /// Why `figure` is missing, or `None` where it is given.
    #[must_use]
    pub fn why_missing(&self, figure: Figure) -> Option<Unsupported> {
        self.missing
            .iter()
            .find(|missing| missing.figure == figure)
            .map(|missing| missing.reason)
    }

    fn build(moments: &Moments, quantile: impl Fn(f64) -> Result<f64, Unsupported>) -> Self {
        let mut missing = Vec::new();
        let mut take = |figure, value: Result<f64, Unsupported>| match value {
            Ok(value) => Some(value),
            Err(reason) => {
                missing.push(Missing { figure, reason });
                None
            }
        };
        Self {
            n: moments.n(),
            mean: take(Figure::Mean, moments.mean()),
            std: take(Figure::Std, moments.std()),
            skewness: take(Figure::Skewness, moments.skewness()),
            kurtosis: take(Figure::Kurtosis, moments.kurtosis()),
            min: take(Figure::Min, moments.min()),
            q25: take(Figure::Q25, quantile(0.25)),
            q50: take(Figure::Q50, quantile(0.5)),
            q75: take(Figure::Q75, quantile(0.75)),
            p99: take(Figure::P99, quantile(0.99)),
            p999: take(Figure::P999, quantile(0.999)),
            max: take(Figure::Max, moments.max()),
            missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 0, 1, …, 9999 has Hyndman–Fan 7 quantiles 9999·q, mean 4999.5,
    /// and variance n(n+1)/12 with n−1 in the denominator.
    #[test]
    fn describes_ten_thousand_ranks() {
        let s = Summary::of((0..10_000).map(f64::from).collect()).unwrap();
        assert_eq!(s.n, 10_000);
        assert!(s.missing.is_empty());
        let near = |value: Option<f64>, expected: f64| {
            assert!(
                (value.unwrap() - expected).abs() < 1e-6,
                "{value:?} {expected}"
            );
        };
        near(s.mean, 4_999.5);
        near(s.std, (10_000.0 * 10_001.0 / 12.0_f64).sqrt());
        near(s.q25, 2_499.75);
        near(s.q50, 4_999.5);
        near(s.q75, 7_499.25);
        near(s.p99, 9_899.01);
        near(s.p999, 9_989.001);
        near(s.skewness, 0.0);
        near(s.kurtosis, -1.2);
        near(s.max, 9_999.0);
    }

    #[test]
    fn few_samples_leave_figures_out_with_reasons() {
        let s = Summary::of(vec![1.0, 2.0, 4.0]).unwrap();
        assert_eq!((s.q50, s.kurtosis, s.max), (None, None, Some(4.0)));
        assert_eq!(
            s.why_missing(Figure::P999),
            Some(Unsupported::TooFewSamples {
                have: 3,
                need: 10_000
            })
        );
        assert_eq!(s.why_missing(Figure::Max), None);
    }

    #[test]
    fn no_samples_are_not_zero() {
        let s = Summary::of(vec![]).unwrap();
        assert_eq!((s.n, s.mean, s.q50), (0, None, None));
        assert_eq!(s.missing.len(), 11);
        let json = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), s);
    }
}
