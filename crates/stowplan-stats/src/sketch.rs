//! Many samples reduced to few points without losing their quantiles.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Sorted, StatsError};

/// Points of a [`Sketch`] made by default.
pub const DEFAULT_POINTS: usize = 2_000;

/// One order statistic of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SketchPoint {
    /// Its place among the samples, 0 for the smallest and 1 for the largest.
    pub rank: f64,
    /// Its value, in the unit of the samples.
    pub value: f64,
}

/// The quantile function of samples, as some of their order statistics.
///
/// Four fifths of the points lie evenly over the ranks, the rest gather
/// towards both ends in geometric steps, because an error of 0.1 % in rank
/// would make P99.9 worthless. Values between two points are interpolated; a
/// quantile is therefore wrong in rank by at most the widest gap between two
/// points ([`Sketch::rank_error`]): with [`DEFAULT_POINTS`] at most 0.1 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    n: u64,
    points: Vec<SketchPoint>,
}

impl Sketch {
    /// Reduces samples to at most `max_points` (at least 10) points; fewer
    /// samples are kept as they are.
    pub fn new(sorted: &Sorted, max_points: usize) -> Result<Self, StatsError> {
        if max_points < 10 {
            return Err(StatsError::Parameter {
                name: "points of a sketch",
                value: max_points as f64,
                expected: "at least 10",
            });
        }
        let values = sorted.values();
        let last = values.len() - 1;
        let point = |index: usize| SketchPoint {
            // One sample alone stands for every rank.
            rank: if last == 0 {
                0.5
            } else {
                index as f64 / last as f64
            },
            value: values[index],
        };
        let points = if values.len() <= max_points {
            (0..=last).map(point).collect()
        } else {
            kept(last, max_points).into_iter().map(point).collect()
        };
        Ok(Self {
            n: values.len() as u64,
            points,
        })
    }

    /// Number of samples that the sketch stands for.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The points in ascending order of rank and value.
    #[must_use]
    pub fn points(&self) -> &[SketchPoint] {
        &self.points
    }

    /// The quantile `q`, interpolated between the points kept.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let above = self.points.partition_point(|point| point.rank < q);
        let last = self.points.len() - 1;
        if above == 0 {
            return self.points[0].value;
        }
        if above > last {
            return self.points[last].value;
        }
        let (a, b) = (self.points[above - 1], self.points[above]);
        let share = (q - a.rank) / (b.rank - a.rank);
        a.value * (1.0 - share) + b.value * share
    }

    /// Largest error in rank (0 to 1) of any quantile of this sketch.
    #[must_use]
    pub fn rank_error(&self) -> f64 {
        self.points
            .windows(2)
            .map(|pair| pair[1].rank - pair[0].rank)
            .fold(0.0, f64::max)
    }
}

/// Indices of the order statistics to keep among `0..=last`.
fn kept(last: usize, max_points: usize) -> BTreeSet<usize> {
    let even = max_points * 4 / 5;
    let tail = (max_points - even) / 2;
    let mut indices: BTreeSet<usize> = (0..even)
        .map(|i| (i as f64 / (even - 1) as f64 * last as f64).round() as usize)
        .collect();
    // Tails reach over the outer twentieth on each side.
    let reach = (last as f64 / 20.0).max(1.0).ln();
    for i in 0..tail {
        let step = (i as f64 / tail as f64 * reach).exp().round() as usize;
        indices.insert(step.min(last));
        indices.insert(last - step.min(last));
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// How far `value` is in rank from the quantile `q` of the samples.
    fn rank_distance(sorted: &Sorted, q: f64, value: f64) -> f64 {
        let values = sorted.values();
        let n = values.len() as f64;
        let low = values.partition_point(|v| *v < value) as f64 / n;
        let high = values.partition_point(|v| *v <= value) as f64 / n;
        if q < low {
            low - q
        } else if q > high {
            q - high
        } else {
            0.0
        }
    }

    #[test]
    fn a_million_samples_keep_their_quantiles_within_a_thousandth_in_rank() {
        let mut random = Pcg64::seed_from_u64(7);
        // Two modes and a heavy tail, as latencies have.
        let samples = (0..1_000_000)
            .map(|i| {
                let u: f64 = random.random_range(f64::EPSILON..1.0);
                if i % 3 == 0 { 40.0 + u } else { 5.0 / u.sqrt() }
            })
            .collect();
        let sorted = Sorted::new(samples).unwrap();
        let sketch = Sketch::new(&sorted, DEFAULT_POINTS).unwrap();
        assert!(sketch.points().len() <= DEFAULT_POINTS);
        assert!(sketch.rank_error() < 0.001);
        for i in 0..=10_000 {
            let q = f64::from(i) / 10_000.0;
            assert!(rank_distance(&sorted, q, sketch.quantile(q)) < 0.001, "{q}");
        }
        // The tail is held much closer than the bound.
        for q in [0.001, 0.99, 0.999, 0.9999] {
            let bound = (1.0_f64 - q).min(q) * 0.05;
            assert!(rank_distance(&sorted, q, sketch.quantile(q)) < bound, "{q}");
        }
        assert_eq!(sketch.quantile(0.0), sorted.quantile(0.0));
        assert_eq!(sketch.quantile(1.0), sorted.quantile(1.0));
    }

    #[test]
    fn few_samples_are_kept_exactly() {
        let sorted = Sorted::new(vec![3.0, 1.0, 2.0]).unwrap();
        let sketch = Sketch::new(&sorted, 10).unwrap();
        for q in [0.0, 0.2, 0.5, 0.9, 1.0] {
            assert!((sketch.quantile(q) - sorted.quantile(q)).abs() < 1e-12);
        }
        let one = Sketch::new(&Sorted::new(vec![4.0]).unwrap(), 10).unwrap();
        assert_eq!([0.0, 0.5, 1.0].map(|q| one.quantile(q)), [4.0; 3]);
        assert!(Sketch::new(&sorted, 9).is_err());
    }

    proptest! {
        #[test]
        fn the_default_holds_its_bound_for_any_number_of_samples(
            n in prop_oneof![Just(DEFAULT_POINTS + 1), 2..30_000usize],
        ) {
            let sorted = Sorted::new((0..n).map(|i| i as f64).collect()).unwrap();
            let sketch = Sketch::new(&sorted, DEFAULT_POINTS).unwrap();
            // Of 2,001 samples two are exactly a thousandth apart, give or take the rounding of their ranks.
            prop_assert!(n <= DEFAULT_POINTS || sketch.rank_error() <= 0.001 + f64::EPSILON);
        }

        #[test]
        fn never_more_points_than_asked_and_always_ascending(
            n in 1..5_000usize,
            max in 10..3_000usize,
        ) {
            let sorted = Sorted::new((0..n).map(|i| i as f64).collect()).unwrap();
            let sketch = Sketch::new(&sorted, max).unwrap();
            prop_assert!(sketch.points().len() <= max);
            prop_assert!(sketch.points().windows(2).all(|p| p[0].rank < p[1].rank));
        }
    }
}
