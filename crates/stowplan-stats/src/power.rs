//! How many blocks a question needs.

use crate::StatsError;
use crate::distribution::{normal_below, over_spread, t_quantile};
use crate::error::open_unit;
use crate::margins::Margins;
use crate::verdict::MIN_BLOCKS;

/// Probability with which a planned number of blocks shall reach its verdict.
pub const TARGET_POWER: f64 = 0.8;

/// Beyond this many blocks an experiment is taken to be out of reach.
pub const MAX_BLOCKS: usize = 10_000;

/// Probability that `n` blocks, whose paired differences spread by `std` about
/// `truth`, give an interval of confidence 1−`alpha` that excludes zero together
/// with an estimate beyond the margins. With margins of zero this is the power
/// of the paired t test.
#[must_use]
pub fn power_of_difference(n: usize, std: f64, truth: f64, margins: Margins, alpha: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    if std <= 0.0 {
        return f64::from(truth != 0.0 && margins.exceeded_by(truth));
    }
    let df = n as f64 - 1.0;
    let std_error = std / (n as f64).sqrt();
    let t = t_quantile(1.0 - alpha / 2.0, df);
    over_spread(df, f64::INFINITY, |u| {
        let reach = t * u * std_error;
        let above = reach.max(margins.high);
        let below = (-reach).min(margins.low);
        normal_below((truth - above) / std_error) + normal_below((below - truth) / std_error)
    })
}

/// Probability that `n` such blocks give an interval of confidence 1−2`alpha`
/// that lies inside the margins (two one-sided tests).
#[must_use]
pub fn power_of_equivalence(n: usize, std: f64, truth: f64, margins: Margins, alpha: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    if std <= 0.0 {
        return f64::from(truth > margins.low && truth < margins.high);
    }
    let df = n as f64 - 1.0;
    let std_error = std / (n as f64).sqrt();
    let t = t_quantile(1.0 - alpha, df);
    // A wider interval than the margins fits nowhere.
    let end = (margins.high - margins.low) / (2.0 * t * std_error);
    over_spread(df, end, |u| {
        let reach = t * u * std_error;
        normal_below((margins.high - reach - truth) / std_error)
            - normal_below((margins.low + reach - truth) / std_error)
    })
}

/// Fewest blocks, at least six, with which a true difference of `truth` is told
/// with [`TARGET_POWER`]; `None` beyond [`MAX_BLOCKS`].
#[must_use]
pub fn blocks_for_difference(std: f64, truth: f64, margins: Margins, alpha: f64) -> Option<usize> {
    fewest(|n| power_of_difference(n, std, truth, margins, alpha))
}

/// Fewest blocks, at least six, with which a true difference of `truth` is found
/// equivalent with [`TARGET_POWER`]; `None` beyond [`MAX_BLOCKS`].
#[must_use]
pub fn blocks_for_equivalence(std: f64, truth: f64, margins: Margins, alpha: f64) -> Option<usize> {
    fewest(|n| power_of_equivalence(n, std, truth, margins, alpha))
}

/// Blocks for a margin, from the standard deviation of the paired differences of
/// pilot blocks: enough that the t test shows a difference as large as the
/// nearer margin, and that no difference is found equivalent, each with
/// [`TARGET_POWER`]. `alpha` is 0.05, divided by the number of comparisons where
/// Holm's correction will follow. `None` beyond [`MAX_BLOCKS`].
#[must_use]
pub fn blocks_for(std: f64, margins: Margins, alpha: f64) -> Option<usize> {
    let nearer = margins.high.min(-margins.low);
    let difference = blocks_for_difference(std, nearer, Margins::NONE, alpha)?;
    let equivalence = blocks_for_equivalence(std, 0.0, margins, alpha)?;
    Some(difference.max(equivalence))
}

/// Half-width that the t interval of this confidence has after `n` blocks, at
/// least two, whose paired differences spread by `std`; in the unit of `std`.
pub fn half_width(n: usize, std: f64, level: f64) -> Result<f64, StatsError> {
    open_unit("confidence level", level)?;
    if n < 2 {
        return Err(StatsError::TooFew {
            what: "the half-width of an interval",
            need: 2,
            have: n,
        });
    }
    let t = t_quantile(f64::midpoint(1.0, level), n as f64 - 1.0);
    Ok(t * std / (n as f64).sqrt())
}

/// Power rises with the number of blocks, so bisection finds the fewest.
fn fewest(power: impl Fn(usize) -> f64) -> Option<usize> {
    let enough = |n| power(n) >= TARGET_POWER;
    if enough(MIN_BLOCKS) {
        return Some(MIN_BLOCKS);
    }
    if !enough(MAX_BLOCKS) {
        return None;
    }
    let (mut short, mut long) = (MIN_BLOCKS, MAX_BLOCKS);
    while long - short > 1 {
        let middle = usize::midpoint(short, long);
        if enough(middle) {
            long = middle;
        } else {
            short = middle;
        }
    }
    Some(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: the noncentral t distribution, scipy.stats.nct, both tails.
    #[test]
    fn power_of_the_t_test() {
        for (n, delta, expected) in [
            (6, 0.5, 0.170_707_079_6),
            (6, 1.0, 0.506_841_980_0),
            (6, 2.0, 0.970_503_569_4),
            (10, 1.0, 0.803_096_856_6),
            (13, 1.0, 0.910_708_475_7),
            (34, 0.5, 0.807_777_501_3),
        ] {
            let got = power_of_difference(n, 1.0, delta, Margins::NONE, 0.05);
            assert!((got - expected).abs() < 1e-7, "{n} {delta} {got}");
        }
    }

    /// Source: scipy.integrate.quad over scipy.stats.chi of the probability
    /// that both one-sided tests reject.
    #[test]
    fn power_of_two_one_sided_tests() {
        for (n, truth, expected) in [
            (6, 0.0, 0.409_043_549_7),
            (10, 0.0, 0.795_207_266_7),
            (11, 0.0, 0.848_999_657_7),
            (10, 0.3, 0.638_453_405_1),
            (20, 0.3, 0.914_810_266_6),
        ] {
            let got = power_of_equivalence(n, 1.0, truth, Margins::absolute(1.0), 0.05);
            assert!((got - expected).abs() < 1e-7, "{n} {truth} {got}");
        }
        let relative = power_of_equivalence(10, 0.02, 0.0, Margins::relative(0.02), 0.05);
        assert!((relative - 0.795_154_376_7).abs() < 1e-7);
    }

    /// Source: scipy.stats.nct crosses 0.8 between 9 and 10 for d = 1 and between
    /// 33 and 34 for d = 0.5 (power 0.748, 0.803; 0.795, 0.808).
    #[test]
    fn blocks_from_pilot_spread() {
        let needed = |std, truth| blocks_for_difference(std, truth, Margins::NONE, 0.05);
        assert_eq!(needed(1.0, 1.0), Some(10));
        assert_eq!(needed(1.0, 0.5), Some(34));
        assert_eq!(needed(0.1, 1.0), Some(MIN_BLOCKS));
        assert_eq!(needed(1_000.0, 1.0), None);
        // From the table above: equivalence passes 0.8 at 11, not at 10.
        assert_eq!(blocks_for(1.0, Margins::absolute(1.0), 0.05), Some(11));
        assert!(blocks_for(1.0, Margins::absolute(1.0), 0.05 / 4.0) > Some(11));
    }

    #[test]
    fn margins_lower_the_power_near_them() {
        let margins = Margins::absolute(1.0);
        let at_margin = power_of_difference(500, 1.0, 1.0, margins, 0.05);
        assert!((at_margin - 0.5).abs() < 1e-3, "{at_margin}");
        assert_eq!(blocks_for_difference(1.0, 1.0, margins, 0.05), None);
        assert_eq!(power_of_difference(9, 0.0, 1.5, margins, 0.05), 1.0);
        assert_eq!(power_of_equivalence(9, 0.0, 0.5, margins, 0.05), 1.0);
    }

    /// By hand: t(0.975, 9) = 2.262157, over √10.
    #[test]
    fn half_width_of_ten_blocks() {
        let got = half_width(10, 0.01, 0.95).unwrap();
        assert!((got - 0.01 * 2.262_157_162_8 / 10.0_f64.sqrt()).abs() < 1e-10);
        assert!(half_width(1, 0.01, 0.95).is_err());
    }
}
