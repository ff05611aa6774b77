//! What this machine cannot tell apart: the reference against itself.
//!
//! The reference is measured twice in each block. Half of these pairs give the floor, the other half says whether it holds.

use serde::Serialize;
use stowplan_stats::t_interval;

/// A floor above this is told in its row.
pub const FLOOR_LIMIT: f64 = 0.05;

/// Fewest pairs of a half.
const FEWEST: usize = 2;

/// A floor, as a share of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Floor {
    /// Largest difference between equal things: how far the 95 % interval over the first half of the pairs reaches.
    pub share: f64,
    /// Whether the mean of the other half lies within it.
    pub held: bool,
    /// Pairs that gave it.
    pub pairs: usize,
    /// Pairs that it was held against.
    pub held_against: usize,
}

impl Floor {
    /// From the pairs of a figure, in the order of blocks; none where there are too few or one is not positive.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let usable = pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let differences = pairs.iter().map(|(a, b)| (b / a).ln());
        let mut halves = [Vec::new(), Vec::new()];
        for (number, difference) in differences.enumerate() {
            halves[number % 2].push(difference);
        }
        let [first, other] = halves;
        if !usable || first.len() < FEWEST || other.len() < FEWEST {
            return None;
        }
        let interval = t_interval(&first, 0.95).ok()?;
        let reach = interval.low.abs().max(interval.high.abs());
        let mean = other.iter().sum::<f64>() / other.len() as f64;
        Some(Self {
            share: reach.exp() - 1.0,
            held: mean.abs() <= reach,
            pairs: first.len(),
            held_against: other.len(),
        })
    }

    /// Whether a place that has this share of the reference differs from it by less than the reference from itself.
    #[must_use]
    pub fn covers(&self, share: f64) -> bool {
        share.ln().abs() <= self.share.ln_1p()
    }

    /// Whether it is too high to tell a difference of some percent.
    #[must_use]
    pub fn is_high(&self) -> bool {
        self.share > FLOOR_LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_of_one_half_and_held_against_the_other() {
        // Known by hand: differences 0, ln 1.02, 0 of the first half have the interval 0.0066 ± 4.3027 · 0.0066.
        let pairs = [
            (100.0, 100.0),
            (100.0, 101.0),
            (100.0, 102.0),
            (100.0, 99.0),
            (100.0, 100.0),
            (100.0, 100.0),
        ];
        let floor = Floor::of(&pairs).unwrap();
        assert!((floor.share - 0.035_623).abs() < 1e-4, "{floor:?}");
        assert!(floor.held && !floor.is_high());
        assert_eq!((floor.pairs, floor.held_against), (3, 3));
        assert!(floor.covers(1.03) && floor.covers(0.97) && !floor.covers(0.96));
    }

    #[test]
    fn a_half_that_is_elsewhere_is_told() {
        let pairs = [
            (100.0, 100.1),
            (100.0, 130.0),
            (100.0, 99.9),
            (100.0, 131.0),
        ];
        let floor = Floor::of(&pairs).unwrap();
        assert!(!floor.held, "{floor:?}");
    }

    #[test]
    fn too_few_pairs_give_none() {
        assert_eq!(Floor::of(&[(1.0, 1.0); 3]), None);
        assert_eq!(Floor::of(&[(1.0, 0.0); 6]), None);
    }
}
