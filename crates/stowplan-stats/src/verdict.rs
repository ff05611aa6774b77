//! The four verdicts and the rule that gives them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::margins::Margins;
use crate::{Estimate, Interval, StatsError};

/// Fewest blocks that carry a verdict: with five, no sign-flip test can reach 5 %.
pub const MIN_BLOCKS: usize = 6;

/// Probability of a false alarm that a verdict accepts.
pub const ALPHA: f64 = 0.05;

/// The smallest relative change that matters, where none is declared.
pub const DEFAULT_DELTA: f64 = 0.02;

/// How two values of a block are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// ln(candidate / reference), shown as the relative change candidate /
    /// reference − 1. For times and other positive quantities.
    LogRatio,
    /// candidate − reference, in the unit of the metric.
    Difference,
}

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Smaller values are better, as with latency.
    LowerIsBetter,
    /// Larger values are better, as with throughput.
    HigherIsBetter,
}

/// The smallest difference that matters, declared before measuring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delta {
    /// A share of the reference: 0.02 is 2 %. On [`Scale::Difference`] a share
    /// of the reference's mean.
    Relative(f64),
    /// In the unit of the metric; for [`Scale::Difference`] only.
    Absolute(f64),
}

impl Default for Delta {
    fn default() -> Self {
        Self::Relative(DEFAULT_DELTA)
    }
}

/// What an experiment says about one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The candidate is better by more than δ, beyond chance.
    Better,
    /// The candidate is worse by more than δ, beyond chance.
    Worse,
    /// Any difference is smaller than δ.
    Equivalent,
    /// Neither can be said.
    Inconclusive,
    /// Containers against plain processes, and the plain processes in groups that tell isolation from group scheduling
    /// were not measured beside them. Never given by figures alone.
    NoControl,
    /// The two lost different shares of their inputs, so that their figures are of different inputs. Never given by
    /// figures alone.
    LostInputsDiffer,
}

impl Verdict {
    /// Whether it answers the question.
    #[must_use]
    pub const fn is_decided(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Equivalent)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::NoControl => "no control",
            Self::LostInputsDiffer => "lost inputs differ",
        })
    }
}

/// Why a verdict came out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Reason {
    /// Better or worse.
    #[error("the 95 % interval excludes zero and the estimate exceeds delta")]
    BeyondDelta,
    /// Equivalent.
    #[error("the 90 % interval lies within delta")]
    WithinDelta,
    /// Inconclusive: fewer than [`MIN_BLOCKS`] blocks.
    #[error("{blocks} blocks, a verdict needs {needed}")]
    TooFewBlocks {
        /// Blocks there are (of the smaller experiment, where there are two).
        blocks: usize,
        /// Blocks a verdict needs.
        needed: usize,
    },
    /// Inconclusive: the interval holds zero and differences beyond δ.
    #[error("the 95 % interval includes zero and the 90 % interval reaches beyond delta")]
    IntervalTooWide,
    /// Inconclusive: there is a difference, but it may be smaller or larger than δ.
    #[error("the 95 % interval excludes zero but the estimate does not exceed delta")]
    NearDelta,
    /// Inconclusive: a verdict for one comparison alone does not hold among all
    /// of its family.
    #[error("not significant after Holm's correction over {comparisons} comparisons")]
    NotAfterHolm {
        /// Comparisons in the family.
        comparisons: usize,
    },
}

impl Scale {
    /// Resolves δ: on the scale shown, and as margins where differences are taken.
    pub(crate) fn resolve(
        self,
        delta: Delta,
        reference_mean: f64,
    ) -> Result<(f64, Margins), StatsError> {
        let refuse = |value, expected| {
            Err(StatsError::Parameter {
                name: "delta",
                value,
                expected,
            })
        };
        match (self, delta) {
            (Self::LogRatio, Delta::Relative(share)) if share > 0.0 && share < 1.0 => {
                Ok((share, Margins::relative(share)))
            }
            (Self::LogRatio, Delta::Relative(share)) => refuse(share, "a share between 0 and 1"),
            (Self::LogRatio, Delta::Absolute(value)) => {
                refuse(value, "a share of the reference, as ratios are compared")
            }
            (Self::Difference, Delta::Relative(share)) => {
                let value = share * reference_mean.abs();
                if value > 0.0 && value.is_finite() {
                    Ok((value, Margins::absolute(value)))
                } else {
                    refuse(
                        share,
                        "a positive share of a reference whose mean is not zero",
                    )
                }
            }
            (Self::Difference, Delta::Absolute(value)) => {
                if value > 0.0 && value.is_finite() {
                    Ok((value, Margins::absolute(value)))
                } else {
                    refuse(value, "a positive number")
                }
            }
        }
    }

    /// From the scale on which differences are taken to the one shown.
    pub(crate) fn shown(self, difference: f64) -> f64 {
        match self {
            Self::LogRatio => difference.exp_m1(),
            Self::Difference => difference,
        }
    }

    /// The inverse of [`Scale::shown`].
    pub(crate) fn taken(self, shown: f64) -> f64 {
        match self {
            Self::LogRatio => shown.ln_1p(),
            Self::Difference => shown,
        }
    }

    /// Paired differences, one per block.
    pub(crate) fn differences(
        self,
        reference: &[f64],
        candidate: &[f64],
    ) -> Result<Vec<f64>, StatsError> {
        if reference.len() != candidate.len() {
            return Err(StatsError::Unpaired {
                reference: reference.len(),
                candidate: candidate.len(),
            });
        }
        if reference.is_empty() {
            return Err(StatsError::Empty);
        }
        crate::error::finite(reference)?;
        crate::error::finite(candidate)?;
        let pairs = reference.iter().zip(candidate).enumerate();
        pairs
            .map(|(block, (a, b))| match self {
                Self::Difference => Ok(b - a),
                Self::LogRatio => match [*a, *b].into_iter().find(|value| *value <= 0.0) {
                    Some(value) => Err(StatsError::NotPositive { block, value }),
                    // Not ln(b / a): the quotient can overflow.
                    None => Ok(b.ln() - a.ln()),
                },
            })
            .collect()
    }
}

/// An estimate with both intervals of the rule, where differences are taken.
pub(crate) struct Evidence {
    pub(crate) estimate: Estimate,
    pub(crate) at95: Interval,
    pub(crate) at90: Interval,
}

impl Evidence {
    pub(crate) fn of(estimate: Estimate) -> Result<Self, StatsError> {
        Ok(Self {
            estimate,
            at95: estimate.interval(1.0 - ALPHA)?,
            at90: estimate.interval(1.0 - 2.0 * ALPHA)?,
        })
    }

    /// The rule, for `blocks` blocks.
    pub(crate) fn judge(
        &self,
        blocks: usize,
        margins: Margins,
        direction: Direction,
    ) -> (Verdict, Reason) {
        if blocks < MIN_BLOCKS {
            return too_few(blocks);
        }
        let excludes = self.at95.excludes_zero();
        if excludes && margins.exceeded_by(self.estimate.value) {
            let lower = self.estimate.value < 0.0;
            let better = lower == (direction == Direction::LowerIsBetter);
            let verdict = if better {
                Verdict::Better
            } else {
                Verdict::Worse
            };
            return (verdict, Reason::BeyondDelta);
        }
        if self.at90.low > margins.low && self.at90.high < margins.high {
            return (Verdict::Equivalent, Reason::WithinDelta);
        }
        let reason = if excludes {
            Reason::NearDelta
        } else {
            Reason::IntervalTooWide
        };
        (Verdict::Inconclusive, reason)
    }
}

/// The verdict of fewer than six blocks.
pub(crate) fn too_few(blocks: usize) -> (Verdict, Reason) {
    let reason = Reason::TooFewBlocks {
        blocks,
        needed: MIN_BLOCKS,
    };
    (Verdict::Inconclusive, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(value: f64, half95: f64, half90: f64, blocks: usize) -> (Verdict, Reason) {
        let interval = |half: f64, level| Interval {
            low: value - half,
            high: value + half,
            level,
        };
        Evidence {
            estimate: Estimate {
                value,
                std_error: 1.0,
                df: 9.0,
            },
            at95: interval(half95, 0.95),
            at90: interval(half90, 0.9),
        }
        .judge(blocks, Margins::absolute(2.0), Direction::LowerIsBetter)
    }

    #[test]
    fn the_rule() {
        assert_eq!(judge(-3.0, 1.0, 0.8, 6).0, Verdict::Better);
        assert_eq!(judge(3.0, 1.0, 0.8, 6).0, Verdict::Worse);
        assert_eq!(judge(1.0, 0.9, 0.8, 6).0, Verdict::Equivalent);
        assert_eq!(judge(0.0, 2.1, 1.9, 6).0, Verdict::Equivalent);
        assert_eq!(judge(1.5, 1.2, 1.0, 6).1, Reason::NearDelta);
        assert_eq!(judge(3.0, 3.5, 3.0, 6).1, Reason::IntervalTooWide);
        assert_eq!(
            judge(-9.0, 0.1, 0.1, 5),
            (
                Verdict::Inconclusive,
                Reason::TooFewBlocks {
                    blocks: 5,
                    needed: 6
                }
            )
        );
    }

    #[test]
    fn delta_is_checked_against_the_scale() {
        let relative = Delta::Relative(0.02);
        assert_eq!(Scale::LogRatio.resolve(relative, 5.0).unwrap().0, 0.02);
        assert_eq!(
            Scale::Difference.resolve(relative, -50.0).unwrap(),
            (1.0, Margins::absolute(1.0))
        );
        for (scale, delta, mean) in [
            (Scale::LogRatio, Delta::Absolute(1.0), 5.0),
            (Scale::LogRatio, Delta::Relative(1.0), 5.0),
            (Scale::LogRatio, Delta::Relative(0.0), 5.0),
            (Scale::Difference, relative, 0.0),
            (Scale::Difference, Delta::Absolute(f64::NAN), 5.0),
        ] {
            assert!(scale.resolve(delta, mean).is_err(), "{scale:?} {delta:?}");
        }
    }

    #[test]
    fn pairs_are_checked() {
        let ratio = |a: &[f64], b: &[f64]| Scale::LogRatio.differences(a, b);
        assert_eq!(
            ratio(&[1.0, 2.0], &[1.0]).unwrap_err().to_string(),
            "2 blocks of the reference against 1 of the candidate"
        );
        assert_eq!(
            ratio(&[1.0, 2.0], &[1.0, 0.0]).unwrap_err(),
            StatsError::NotPositive {
                block: 1,
                value: 0.0
            }
        );
        assert_eq!(ratio(&[], &[]).unwrap_err(), StatsError::Empty);
        assert!((ratio(&[2.0], &[4.0]).unwrap()[0] - 2.0_f64.ln()).abs() < 1e-15);
    }
}
