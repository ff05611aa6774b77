//! Two recordings of one system, held against each other by what varies within each.

use crate::{ALPHA, DEFAULT_DELTA, Estimate, Interval, MIN_BLOCKS, Moments, StatsError};

/// How far one recording's level lies from another's, and whether the spread over blocks of time explains it.
///
/// Blocks of time of one recording are not independent starts of a system: their spread alone would call almost every
/// pair of long recordings different. So a start is taken to have a level of its own, which varies from start to start
/// as much as blocks vary within a recording. The level of a recording of `n` blocks with standard deviation `s` then
/// has a standard error of `s·√(1 + 1/n)`, that of predicting one block more. The interval is Welch's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadComparison {
    /// Mean over the blocks of each recording.
    pub means: [f64; 2],
    /// The second mean less the first.
    pub difference: f64,
    /// Differences that the spread explains: from `-explained` to `explained`.
    pub explained: f64,
    /// Where the true difference lies: `difference` ± `explained`.
    pub interval: Interval,
}

impl SpreadComparison {
    /// Whether the difference exceeds what the spread explains, and [`DEFAULT_DELTA`] of the first mean.
    #[must_use]
    pub fn differs(&self) -> bool {
        let matters = self.difference.abs() > DEFAULT_DELTA * self.means[0].abs();
        self.interval.excludes_zero() && matters
    }
}

/// Compares two recordings by their means over blocks of time, as one of so many comparisons: the intervals of all of
/// them hold together with a confidence of 95 % (Bonferroni).
///
/// # Errors
/// With fewer than [`MIN_BLOCKS`] blocks in either, or a value that is not finite.
pub fn compare_spread(
    a: &[f64],
    b: &[f64],
    comparisons: usize,
) -> Result<SpreadComparison, StatsError> {
    let (a, b) = (next_start(a)?, next_start(b)?);
    let difference = b.less(a);
    let level = 1.0 - ALPHA / comparisons.max(1) as f64;
    let interval = difference.interval(level)?;
    Ok(SpreadComparison {
        means: [a.value, b.value],
        difference: difference.value,
        explained: interval.half_width(),
        interval,
    })
}

/// The level of another start, after a recording with these blocks.
fn next_start(blocks: &[f64]) -> Result<Estimate, StatsError> {
    if blocks.len() < MIN_BLOCKS {
        return Err(StatsError::TooFew {
            what: "a comparison by spread",
            need: MIN_BLOCKS,
            have: blocks.len(),
        });
    }
    let mean = Estimate::mean_of(blocks)?;
    let moments: Moments = blocks.iter().copied().collect();
    let std = moments.std().unwrap_or_default();
    Ok(Estimate {
        std_error: std.hypot(mean.std_error),
        ..mean
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: standard deviations √1.2 and 2·√1.2 over six blocks, squared and times 7/6: 1.4 and 5.6; Welch's
    /// degrees of freedom 5·(1.4 + 5.6)² / (1.4² + 5.6²) = 7.353; R: qt(.975, 7.353) = 2.34183.
    #[test]
    fn an_interval_by_hand() {
        let a = [9.0, 11.0, 9.0, 11.0, 9.0, 11.0];
        let b = [18.0, 22.0, 18.0, 22.0, 18.0, 22.0];
        let c = compare_spread(&a, &b, 1).unwrap();
        assert_eq!((c.means, c.difference), ([10.0, 20.0], 10.0));
        assert!(
            (c.explained - 2.341_83 * 7.0_f64.sqrt()).abs() < 1e-3,
            "{c:?}"
        );
        assert!(c.differs());
        // One of a hundred comparisons has to show more.
        let one_of_many = compare_spread(&a, &b, 100).unwrap();
        assert!(
            one_of_many.explained > 10.0 && !one_of_many.differs(),
            "{one_of_many:?}"
        );
    }

    #[test]
    fn five_blocks_tell_nothing() {
        let error = compare_spread(&[1.0; 5], &[2.0; 9], 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a comparison by spread needs at least 6 values, there are 5"
        );
    }

    #[test]
    fn what_matters_to_nobody_does_not_differ() {
        assert!(
            !compare_spread(&[100.0; 8], &[101.0; 8], 1)
                .unwrap()
                .differs()
        );
        assert!(
            compare_spread(&[100.0; 8], &[103.0; 8], 1)
                .unwrap()
                .differs()
        );
    }
}
