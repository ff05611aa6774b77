//! Paired comparison of a deployment with the reference, block by block.

use serde::{Deserialize, Serialize};

use crate::margins::Margins;
use crate::power::{blocks_for_difference, blocks_for_equivalence};
use crate::verdict::{Evidence, too_few};
use crate::{
    ALPHA, Delta, Direction, Estimate, Interval, MIN_BLOCKS, MIN_BOOTSTRAP_PAIRS, Moments, Reason,
    Scale, StatsError, Verdict, sign_flip, studentised_bootstrap,
};

/// What is compared and how, declared before measuring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Name of the metric.
    pub metric: String,
    /// How two values of a block are compared.
    pub scale: Scale,
    /// Which way the metric improves.
    pub direction: Direction,
    /// The smallest difference that matters.
    pub delta: Delta,
    /// Seed of the sign-flip test beyond [`crate::EXACT_PAIRS`] blocks.
    pub seed: u64,
    /// Blocks of the pilot, where one fixed the number of all; see [`Estimate::after_pilot`].
    #[serde(default)]
    pub pilot: Option<usize>,
}

impl Rule {
    /// The rule for times: log ratios, lower is better, δ of 2 %.
    pub fn time(metric: impl Into<String>) -> Self {
        Self {
            metric: metric.into(),
            scale: Scale::LogRatio,
            direction: Direction::LowerIsBetter,
            delta: Delta::default(),
            seed: 0,
            pilot: None,
        }
    }
}

/// A deployment against the reference over the blocks of an experiment.
///
/// `estimate` and the interval ends are relative changes (−0.03 is 3 % less than
/// the reference) on [`Scale::LogRatio`], else in the unit of the metric. What
/// one block alone cannot give is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedComparison {
    /// Name of the metric.
    pub metric: String,
    /// How values were compared.
    pub scale: Scale,
    /// Which way the metric improves.
    pub direction: Direction,
    /// δ on the scale of `estimate`.
    pub delta: f64,
    /// Blocks compared.
    pub n: usize,
    /// Mean difference; geometric mean of the ratios less one on `LogRatio`.
    pub estimate: f64,
    /// Standard deviation (n−1) of the paired differences: of log ratios on
    /// `LogRatio`. What [`crate::blocks_for`] plans with.
    pub std: Option<f64>,
    /// Lower end of the 95 % t interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % t interval.
    pub high: Option<f64>,
    /// Lower end of the 90 % t interval.
    pub low90: Option<f64>,
    /// Upper end of the 90 % t interval.
    pub high90: Option<f64>,
    /// Two-sided p of the paired t test.
    pub p_t: Option<f64>,
    /// p of equivalence: two one-sided t tests against ±δ.
    pub p_equivalence: Option<f64>,
    /// The 95 % interval of the studentised bootstrap, given beside the t interval from
    /// [`crate::MIN_BOOTSTRAP_PAIRS`] blocks on; the verdict does not go by it.
    pub bootstrap: Option<Interval>,
    /// Two-sided p of the sign-flip test, given beside the interval.
    pub p_sign_flip: f64,
    /// Whether that p counts every sign pattern.
    pub sign_flip_exact: bool,
    /// `p_t` corrected by [`crate::apply_holm`].
    pub p_t_holm: Option<f64>,
    /// `p_equivalence` corrected by [`crate::apply_holm`].
    pub p_equivalence_holm: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it came out so.
    pub reason: Reason,
    /// Where inconclusive: about how many blocks more should bring a verdict
    /// (power 0.8), if spread and difference stay as estimated. `None` with any
    /// other verdict, and where [`crate::MAX_BLOCKS`] would not suffice.
    pub blocks_needed: Option<usize>,
}

impl PairedComparison {
    /// Half-width of the 95 % interval, on the scale of `estimate`.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// The verdict's reason and what would help, as one line of text.
    #[must_use]
    pub fn explain(&self) -> String {
        match (self.verdict, self.blocks_needed) {
            (Verdict::Inconclusive, Some(1)) => format!("{}; about 1 more block", self.reason),
            (Verdict::Inconclusive, Some(more)) => {
                format!("{}; about {more} more blocks", self.reason)
            }
            (Verdict::Inconclusive, None) => {
                format!(
                    "{}; no attainable number of blocks would settle it",
                    self.reason
                )
            }
            _ => self.reason.to_string(),
        }
    }

    /// δ as margins on the scale on which differences are taken.
    #[must_use]
    pub fn margins(&self) -> Margins {
        match self.scale {
            Scale::LogRatio => Margins::relative(self.delta),
            Scale::Difference => Margins::absolute(self.delta),
        }
    }

    /// Blocks still needed at this level, from the figures of the comparison.
    pub(crate) fn more_blocks(&self, alpha: f64) -> Option<usize> {
        let margins = self.margins();
        let Some(std) = self.std else {
            return Some(MIN_BLOCKS.saturating_sub(self.n).max(1));
        };
        let estimate = self.scale.taken(self.estimate);
        let total = if margins.exceeded_by(estimate) {
            blocks_for_difference(std, estimate, margins, alpha)
        } else {
            blocks_for_equivalence(std, estimate, margins, alpha)
        };
        Some(total?.saturating_sub(self.n).max(1))
    }
}

/// Compares values of the candidate with those of the reference, paired by block.
///
/// One value per run: `reference[i]` and `candidate[i]` are of block i. Blocks
/// in which either is missing are left out by the caller, who says so.
///
/// What drifts slowly over the experiment cancels within a block. What is left is
/// taken to be independent from block to block, and has to be: were the
/// differences themselves autocorrelated with ρ = 0.3, 12 to 15 % of equal pairs
/// would be flagged (simulated at 6 to 20 blocks). Drawing order and phases anew
/// in each block is what keeps them independent.
pub fn compare(
    rule: &Rule,
    reference: &[f64],
    candidate: &[f64],
) -> Result<PairedComparison, StatsError> {
    let differences = rule.scale.differences(reference, candidate)?;
    let n = differences.len();
    let reference_mean = reference.iter().sum::<f64>() / n as f64;
    let (delta, margins) = rule.scale.resolve(rule.delta, reference_mean)?;
    let evidence = match n {
        1 => None,
        _ => {
            let mean = Estimate::mean_of(&differences)?;
            let pilot = rule.pilot.map(|pilot| mean.after_pilot(pilot));
            Some(Evidence::of(pilot.unwrap_or(mean))?)
        }
    };
    let (verdict, reason) = match &evidence {
        Some(evidence) => evidence.judge(n, margins, rule.direction),
        None => too_few(n),
    };
    let flips = sign_flip(&differences, rule.seed)?;
    let many = n >= MIN_BOOTSTRAP_PAIRS;
    let bootstrap = many.then(|| studentised_bootstrap(&differences, 1.0 - ALPHA, rule.seed));
    let bootstrap = bootstrap.transpose()?;
    let moments: Moments = differences.iter().copied().collect();
    let shown = |value| rule.scale.shown(value);
    let evidence = evidence.as_ref();
    let mut comparison = PairedComparison {
        metric: rule.metric.clone(),
        scale: rule.scale,
        direction: rule.direction,
        delta,
        n,
        estimate: shown(evidence.map_or(differences[0], |e| e.estimate.value)),
        std: moments.std().ok(),
        low: evidence.map(|e| shown(e.at95.low)),
        high: evidence.map(|e| shown(e.at95.high)),
        low90: evidence.map(|e| shown(e.at90.low)),
        high90: evidence.map(|e| shown(e.at90.high)),
        p_t: evidence.map(|e| e.estimate.p_value()),
        p_equivalence: evidence.map(|e| e.estimate.p_outside(margins.low, margins.high)),
        bootstrap: bootstrap.map(|at95| Interval {
            low: shown(at95.low),
            high: shown(at95.high),
            ..at95
        }),
        p_sign_flip: flips.p,
        sign_flip_exact: flips.exact,
        p_t_holm: None,
        p_equivalence_holm: None,
        verdict,
        reason,
        blocks_needed: None,
    };
    if verdict == Verdict::Inconclusive {
        comparison.blocks_needed = comparison.more_blocks(ALPHA);
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around `base` whose log ratio to `base` is `shift` plus a fixed,
    /// zero-sum pattern scaled by `spread`.
    fn values(base: f64, shift: f64, spread: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| {
                let pattern = if i % 2 == 0 { 1.0 } else { -1.0 };
                base * (shift + spread * pattern).exp()
            })
            .collect()
    }

    fn of(shift: f64, spread: f64, n: usize) -> PairedComparison {
        let rule = Rule::time("reaction");
        compare(&rule, &vec![8.0; n], &values(8.0, shift, spread, n)).unwrap()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    /// By hand: log ratios 0.1 ± 0.01 (three each) have std 0.01·√(6/5), so a
    /// standard error of 0.01/√5, and t(0.975, 5) = 2.570581835636.
    #[test]
    fn log_ratio_is_shown_as_relative_change() {
        let c = of(0.1, 0.01, 6);
        near(c.estimate, 0.1_f64.exp() - 1.0);
        near(c.std.unwrap(), 0.01 * 1.2_f64.sqrt());
        let reach = 2.570_581_835_636_314_6 * 0.01 / 5.0_f64.sqrt();
        near(c.low.unwrap(), (0.1 - reach).exp() - 1.0);
        near(c.high.unwrap(), (0.1 + reach).exp() - 1.0);
        assert_eq!(c.p_sign_flip, 2.0 / 64.0);
        assert_eq!((c.verdict, c.reason), (Verdict::Worse, Reason::BeyondDelta));
        assert_eq!(c.blocks_needed, None);
        let json = serde_json::to_string(&c).unwrap();
        let back: PairedComparison = serde_json::from_str(&json).unwrap();
        near(back.estimate, c.estimate);
        assert_eq!((back.n, back.reason, back.p_t_holm), (6, c.reason, None));
    }

    /// Sixteen of each of two values are drawn about as often as a normal mean would scatter: both intervals are nearly one.
    #[test]
    fn many_blocks_have_the_bootstrap_beside_the_interval() {
        assert_eq!(of(0.1, 0.01, 28).bootstrap, None);
        let c = of(0.1, 0.01, 32);
        let boot = c.bootstrap.unwrap();
        let half = c.half_width().unwrap();
        for (found, t) in [(boot.low, c.low), (boot.high, c.high)] {
            assert!((found - t.unwrap()).abs() < 0.2 * half, "{boot:?} {c:?}");
        }
        assert_eq!(c.bootstrap, of(0.1, 0.01, 32).bootstrap);
    }

    #[test]
    fn direction_turns_the_verdict() {
        assert_eq!(of(-0.1, 0.01, 6).verdict, Verdict::Better);
        let rule = Rule {
            direction: Direction::HigherIsBetter,
            ..Rule::time("rate")
        };
        let c = compare(&rule, &[8.0; 6], &values(8.0, 0.1, 0.01, 6)).unwrap();
        assert_eq!(c.verdict, Verdict::Better);
    }

    #[test]
    fn small_differences_are_equivalent_and_wide_ones_inconclusive() {
        assert_eq!(of(0.0, 0.01, 10).verdict, Verdict::Equivalent);
        // Beyond chance, yet smaller than matters.
        assert_eq!(of(0.01, 0.001, 10).verdict, Verdict::Equivalent);
        let wide = of(0.0, 0.1, 10);
        assert_eq!(wide.reason, Reason::IntervalTooWide);
        // Equivalence needs about (1.645 + 1.282)² · (0.1 / 0.02)² ≈ 214 blocks,
        // a few more for s over σ and the log scale.
        let more = wide.blocks_needed.unwrap();
        assert!((210..260).contains(&(more + 10)), "{more}");
        assert!(
            wide.explain()
                .ends_with(&format!("about {more} more blocks"))
        );
    }

    #[test]
    fn an_estimate_on_the_margin_cannot_be_settled() {
        let c = of(1.0199_f64.ln(), 0.02, 10);
        assert_eq!(c.reason, Reason::NearDelta);
        assert_eq!(c.blocks_needed, None);
        assert!(c.explain().contains("no attainable number"));
    }

    #[test]
    fn no_verdict_below_six_blocks() {
        let c = of(0.5, 0.001, 5);
        assert_eq!(c.verdict, Verdict::Inconclusive);
        assert_eq!(c.blocks_needed, Some(1));
        assert_eq!(
            c.explain(),
            "5 blocks, a verdict needs 6; about 1 more block"
        );
        let one = of(0.5, 0.0, 1);
        assert_eq!((one.n, one.low, one.p_t, one.std), (1, None, None, None));
        near(one.estimate, 0.5_f64.exp() - 1.0);
        assert_eq!(one.blocks_needed, Some(5));
    }

    #[test]
    fn differences_keep_their_unit() {
        let rule = Rule {
            scale: Scale::Difference,
            delta: Delta::Absolute(1.0),
            ..Rule::time("memory")
        };
        let c = compare(
            &rule,
            &[10.0, 0.0, 5.0, 7.0, 9.0, 3.0],
            &[13.1, 2.9, 8.0, 10.1, 11.9, 6.0],
        )
        .unwrap();
        near(c.estimate, 3.0);
        assert_eq!((c.delta, c.verdict), (1.0, Verdict::Worse));
    }

    /// By hand: of 20 blocks after a pilot of 10 the variance lacks 20 / (7 · 20) of itself.
    #[test]
    fn a_pilot_widens_what_comes_after_it() {
        let sized = |n: usize, pilot| {
            let rule = Rule {
                pilot,
                scale: Scale::Difference,
                delta: Delta::Absolute(1.0),
                ..Rule::time("reaction")
            };
            let c = compare(&rule, &vec![8.0; n], &values(8.0, 0.1, 0.01, n)).unwrap();
            c.half_width().unwrap()
        };
        near(
            sized(20, Some(10)) / sized(20, None),
            (8.0_f64 / 7.0).sqrt(),
        );
        near(sized(10, Some(10)), sized(10, None));
    }

    #[test]
    fn equal_runs_are_equivalent() {
        let c = of(0.0, 0.0, 6);
        assert_eq!(c.verdict, Verdict::Equivalent);
        assert_eq!((c.p_t, c.p_sign_flip), (Some(1.0), 1.0));
        assert_eq!(c.half_width(), Some(0.0));
    }
}
