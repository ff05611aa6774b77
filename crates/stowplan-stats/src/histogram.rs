//! Counts of samples in bins of equal width.

use serde::{Deserialize, Serialize};

use crate::{Sorted, StatsError};

/// Samples counted in bins of equal width, and those beyond on either side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Lower edge of the first bin, in the unit of the samples.
    pub low: f64,
    /// Upper edge of the last bin.
    pub high: f64,
    /// Samples per bin; a bin holds its lower edge, the last one both.
    pub counts: Vec<u64>,
    /// Samples under `low`.
    pub below: u64,
    /// Samples over `high`.
    pub above: u64,
}

impl Histogram {
    /// Counts samples into `bins` bins between `low` and `high`. The same range
    /// for two deployments makes their bins comparable.
    pub fn between(sorted: &Sorted, low: f64, high: f64, bins: usize) -> Result<Self, StatsError> {
        let refuse = |name, value, expected| {
            Err(StatsError::Parameter {
                name,
                value,
                expected,
            })
        };
        if bins == 0 {
            return refuse("bins of a histogram", 0.0, "at least 1");
        }
        if !low.is_finite() {
            return refuse("low edge of a histogram", low, "a finite number");
        }
        if high <= low || !(high - low).is_finite() {
            return refuse(
                "high edge of a histogram",
                high,
                "a finite number above the low edge",
            );
        }
        let values = sorted.values();
        let first = values.partition_point(|value| *value < low);
        let end = values.partition_point(|value| *value <= high);
        let mut counts = vec![0; bins];
        for value in &values[first..end] {
            let bin = ((value - low) / (high - low) * bins as f64) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
        Ok(Self {
            low,
            high,
            counts,
            below: first as u64,
            above: (values.len() - end) as u64,
        })
    }

    /// Counts all samples into at most `max_bins` bins, their width after
    /// Freedman and Diaconis (1981): 2·IQR·n^(−1/3).
    pub fn of(sorted: &Sorted, max_bins: usize) -> Result<Self, StatsError> {
        let (low, high) = (sorted.quantile(0.0), sorted.quantile(1.0));
        if high <= low {
            // Equal samples have no width of their own: one bin around them.
            let margin = (low.abs() * 1e-6).max(f64::MIN_POSITIVE);
            return Self::between(sorted, low - margin, low + margin, max_bins.min(1));
        }
        let iqr = sorted.quantile(0.75) - sorted.quantile(0.25);
        let width = 2.0 * iqr / (sorted.values().len() as f64).cbrt();
        let bins = if width > 0.0 {
            ((high - low) / width).ceil().min(max_bins as f64) as usize
        } else {
            max_bins
        };
        Self::between(sorted, low, high, bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(samples: &[f64]) -> Sorted {
        Sorted::new(samples.to_vec()).unwrap()
    }

    #[test]
    fn edges_belong_to_the_bin_they_open() {
        let h = Histogram::between(
            &sorted(&[-1.0, 0.0, 0.9, 1.0, 2.0, 3.0, 4.0, 4.1]),
            0.0,
            4.0,
            4,
        )
        .unwrap();
        assert_eq!(h.counts, [2, 1, 1, 2]);
        assert_eq!((h.below, h.above), (1, 1));
    }

    /// By hand: 0..=1000 has IQR 500, so a width of 1000/1001^(1/3) ≈ 99.97
    /// and eleven bins.
    #[test]
    fn width_after_freedman_and_diaconis() {
        let h = Histogram::of(
            &Sorted::new((0..=1_000).map(f64::from).collect()).unwrap(),
            200,
        )
        .unwrap();
        assert_eq!(h.counts.len(), 11);
        assert_eq!(h.counts.iter().sum::<u64>(), 1_001);
    }

    #[test]
    fn equal_samples_make_one_bin() {
        for value in [0.0, 5.0, -3.0] {
            let h = Histogram::of(&sorted(&[value; 3]), 50).unwrap();
            assert_eq!((h.counts.as_slice(), h.below, h.above), (&[3][..], 0, 0));
        }
    }

    #[test]
    fn refuses_an_empty_range() {
        assert!(Histogram::between(&sorted(&[1.0]), 1.0, 1.0, 4).is_err());
        assert!(Histogram::between(&sorted(&[1.0]), 1.0, f64::NAN, 4).is_err());
        assert!(Histogram::of(&sorted(&[1.0, 2.0]), 0).is_err());
    }
}
