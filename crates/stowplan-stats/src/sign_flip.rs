//! The sign-flip (paired permutation) test.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::StatsError;
use crate::error::finite;

/// Up to this many pairs every one of the 2^n sign patterns is counted.
pub const EXACT_PAIRS: usize = 20;

/// Sign patterns drawn where there are more pairs.
pub const MONTE_CARLO_FLIPS: u32 = 20_000;

/// Result of a sign-flip test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignFlip {
    /// Two-sided p: share of sign patterns whose mean is at least as far from
    /// zero as the one observed.
    pub p: f64,
    /// Whether all patterns were counted, rather than some drawn.
    pub exact: bool,
}

/// Tests whether paired differences are symmetric about zero.
///
/// Assumes no distribution: were the two deployments alike, each difference
/// could as well have had the other sign. The smallest p of n pairs is 2^(1−n),
/// hence no verdict below six. Beyond [`EXACT_PAIRS`] patterns are drawn from
/// `seed`, and the observed one counts among them so that p is never zero.
pub fn sign_flip(differences: &[f64], seed: u64) -> Result<SignFlip, StatsError> {
    if differences.is_empty() {
        return Err(StatsError::Empty);
    }
    finite(differences)?;
    let total: f64 = differences.iter().sum();
    let scale: f64 = differences.iter().map(|d| d.abs()).sum();
    // Equal sums can differ in their last digits by the order of addition.
    let bound = total.abs() - 1e-12 * scale;
    if differences.len() <= EXACT_PAIRS {
        let hits = count_exact(differences, bound);
        let patterns = (1_u64 << differences.len()) as f64;
        return Ok(SignFlip {
            p: hits as f64 / patterns,
            exact: true,
        });
    }
    let mut random = Pcg64::seed_from_u64(seed);
    let hits = (0..MONTE_CARLO_FLIPS)
        .filter(|_| flipped_sum(differences, &mut random).abs() >= bound)
        .count();
    Ok(SignFlip {
        p: (hits as f64 + 1.0) / (f64::from(MONTE_CARLO_FLIPS) + 1.0),
        exact: false,
    })
}

/// Counts the sign patterns whose sum is at least `bound` from zero.
///
/// Each pattern is a pattern of the first half and one of the second, so two
/// tables of 2^(n/2) sums replace one of 2^n.
fn count_exact(differences: &[f64], bound: f64) -> u64 {
    if bound <= 0.0 {
        return 1 << differences.len();
    }
    let (left, right) = differences.split_at(differences.len() / 2);
    let mut right = signed_sums(right);
    right.sort_unstable_by(f64::total_cmp);
    signed_sums(left)
        .into_iter()
        .map(|sum| {
            let above = right.partition_point(|other| sum + other < bound);
            let below = right.partition_point(|other| sum + other <= -bound);
            (right.len() - above + below) as u64
        })
        .sum()
}

/// The sums of all sign patterns.
fn signed_sums(differences: &[f64]) -> Vec<f64> {
    differences.iter().fold(vec![0.0], |sums, d| {
        sums.iter().flat_map(|sum| [sum + d, sum - d]).collect()
    })
}

fn flipped_sum(differences: &[f64], random: &mut impl Rng) -> f64 {
    differences
        .chunks(64)
        .map(|chunk| {
            let mut signs: u64 = random.random();
            chunk
                .iter()
                .map(|d| {
                    let flip = signs & 1 == 1;
                    signs >>= 1;
                    if flip { -d } else { *d }
                })
                .sum::<f64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DARWIN: [f64; 15] = [
        49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0,
    ];

    fn p(differences: &[f64]) -> f64 {
        sign_flip(differences, 1).unwrap().p
    }

    /// Source: Fisher, The Design of Experiments (1935), section 21: Darwin's
    /// plants, 1726 of 32768 patterns (p = 0.05267).
    #[test]
    fn fishers_example() {
        assert_eq!(
            sign_flip(&DARWIN, 1).unwrap(),
            SignFlip {
                p: 1_726.0 / 32_768.0,
                exact: true
            }
        );
    }

    /// Source: scipy.stats.permutation_test(permutation_type="samples") on
    /// Student's sleep data: p = 0.00390625.
    #[test]
    fn sleep_data() {
        let d = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        assert_eq!(p(&d), 0.003_906_25);
    }

    /// By hand: of n equal signs only two patterns reach the observed sum.
    #[test]
    fn smallest_p() {
        assert_eq!(p(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625);
        assert_eq!(p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.03125);
        assert_eq!(p(&[0.0; 6]), 1.0);
    }

    #[test]
    fn drawn_patterns_agree_with_counted_ones() {
        // Darwin's pairs and six of zero: zeros change no sum, so p stays.
        let mut padded = DARWIN.to_vec();
        padded.extend([0.0; 6]);
        let drawn = sign_flip(&padded, 9).unwrap();
        assert!(!drawn.exact);
        // Five standard errors of 20,000 draws at p = 0.0527.
        assert!((drawn.p - 1_726.0 / 32_768.0).abs() < 0.008);
        assert_eq!(drawn, sign_flip(&padded, 9).unwrap());
        assert!(sign_flip(&[1.0; 100], 3).unwrap().p > 0.0);
    }

    proptest! {
        #[test]
        fn agrees_with_plain_enumeration(d in prop::collection::vec(-9..9i32, 1..10)) {
            let total: i32 = d.iter().sum();
            let hits = (0..1_u32 << d.len())
                .filter(|mask| {
                    let sum: i32 = d.iter().enumerate()
                        .map(|(i, v)| if mask >> i & 1 == 1 { -v } else { *v })
                        .sum();
                    sum.abs() >= total.abs()
                })
                .count();
            let values: Vec<f64> = d.iter().map(|v| f64::from(*v) * 0.1).collect();
            prop_assert_eq!(p(&values), hits as f64 / f64::from(1_u32 << d.len()));
        }
    }
}
