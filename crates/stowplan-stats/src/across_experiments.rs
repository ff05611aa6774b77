//! Comparison of a deployment across two experiments.

use serde::{Deserialize, Serialize};

use crate::verdict::{Evidence, too_few};
use crate::{
    ALPHA, Direction, Estimate, MIN_BLOCKS, Reason, Rule, Scale, StatsError, Verdict, holm,
};

/// How a deployment's difference to the reference changed from an old experiment
/// to a new one (difference of differences).
///
/// On [`Scale::LogRatio`] the estimate and interval ends are relative changes of
/// the ratio to the reference; else they are in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcrossComparison {
    /// Name of the metric.
    pub metric: String,
    /// How values were compared.
    pub scale: Scale,
    /// Which way the metric improves.
    pub direction: Direction,
    /// δ on the scale of `estimate`.
    pub delta: f64,
    /// Blocks of the old experiment.
    pub n_old: usize,
    /// Blocks of the new experiment.
    pub n_new: usize,
    /// New less old.
    pub estimate: f64,
    /// Lower end of the 95 % interval (Welch).
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Lower end of the 90 % interval.
    pub low90: f64,
    /// Upper end of the 90 % interval.
    pub high90: f64,
    /// Two-sided p (Welch).
    pub p_t: f64,
    /// p of equivalence: two one-sided tests against ±δ.
    pub p_equivalence: f64,
    /// The verdict on the new experiment against the old.
    pub verdict: Verdict,
    /// Why it came out so.
    pub reason: Reason,
}

/// Compares a deployment in two experiments by its paired differences to the
/// reference inside each; `old` and `new` are (reference, candidate) by block, at
/// least two blocks each, and `pilots` has the blocks of the pilots that fixed how many there are. The reference takes out what changed for both, so it
/// has to be the same deployment on the same machine. A relative δ on
/// [`Scale::Difference`] is a share of the old reference's mean.
pub fn compare_across(
    rule: &Rule,
    old: (&[f64], &[f64]),
    new: (&[f64], &[f64]),
    pilots: (Option<usize>, Option<usize>),
) -> Result<AcrossComparison, StatsError> {
    let before = rule.scale.differences(old.0, old.1)?;
    let after = rule.scale.differences(new.0, new.1)?;
    let reference_mean = old.0.iter().sum::<f64>() / old.0.len() as f64;
    let (delta, margins) = rule.scale.resolve(rule.delta, reference_mean)?;
    let estimate = Estimate::mean_of_blocks(&after, pilots.1)?
        .less(Estimate::mean_of_blocks(&before, pilots.0)?);
    let evidence = Evidence::of(estimate)?;
    let fewer = before.len().min(after.len());
    let (verdict, reason) = if fewer < MIN_BLOCKS {
        too_few(fewer)
    } else {
        evidence.judge(fewer, margins, rule.direction)
    };
    let shown = |value| rule.scale.shown(value);
    Ok(AcrossComparison {
        metric: rule.metric.clone(),
        scale: rule.scale,
        direction: rule.direction,
        delta,
        n_old: before.len(),
        n_new: after.len(),
        estimate: shown(evidence.estimate.value),
        low: shown(evidence.at95.low),
        high: shown(evidence.at95.high),
        low90: shown(evidence.at90.low),
        high90: shown(evidence.at90.high),
        p_t: evidence.estimate.p_value(),
        p_equivalence: evidence.estimate.p_outside(margins.low, margins.high),
        verdict,
        reason,
    })
}

/// Corrects the comparisons of one question, all at once, as [`crate::apply_holm`] does within an experiment: sets
/// corrected p values and takes back verdicts that do not hold in the family.
pub fn apply_holm_across<'a>(family: impl IntoIterator<Item = &'a mut AcrossComparison>) {
    let mut family: Vec<&mut AcrossComparison> = family.into_iter().collect();
    let comparisons = family.len();
    let p =
        |of: fn(&AcrossComparison) -> f64| holm(&family.iter().map(|c| of(c)).collect::<Vec<_>>());
    let (p_t, p_equivalence) = (p(|c| c.p_t), p(|c| c.p_equivalence));
    for (c, (p_t, p_equivalence)) in family.iter_mut().zip(p_t.into_iter().zip(p_equivalence)) {
        (c.p_t, c.p_equivalence) = (p_t, p_equivalence);
        let holds = match c.verdict {
            Verdict::Better | Verdict::Worse => p_t <= ALPHA,
            Verdict::Equivalent => p_equivalence <= ALPHA,
            Verdict::Inconclusive | Verdict::NoControl | Verdict::LostInputsDiffer => true,
        };
        if !holds {
            c.verdict = Verdict::Inconclusive;
            c.reason = Reason::NotAfterHolm { comparisons };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WOBBLE: [f64; 6] = [1.0, 1.001, 0.999, 1.002, 0.998, 1.0];

    const NO_PILOTS: (Option<usize>, Option<usize>) = (None, None);

    fn scaled(factor: f64) -> Vec<f64> {
        WOBBLE.iter().map(|w| w * factor).collect()
    }

    #[test]
    fn a_faster_machine_cancels_out() {
        let rule = Rule::time("reaction");
        // Everything takes half the time in the new experiment, overhead stays 5 %.
        let same = compare_across(
            &rule,
            (&[10.0; 6], &scaled(10.5)),
            (&[5.0; 6], &scaled(5.25)),
            NO_PILOTS,
        )
        .unwrap();
        assert!(same.estimate.abs() < 1e-12);
        assert_eq!(same.verdict, Verdict::Equivalent);
        // Overhead grows from 5 % to 20 %.
        let worse = compare_across(
            &rule,
            (&[10.0; 6], &scaled(10.5)),
            (&[5.0; 6], &scaled(6.0)),
            NO_PILOTS,
        )
        .unwrap();
        assert!((worse.estimate - (1.2 / 1.05 - 1.0)).abs() < 1e-12);
        assert_eq!(worse.verdict, Verdict::Worse);
    }

    #[test]
    fn a_weak_verdict_falls_in_a_family() {
        let rule = Rule::time("reaction");
        let candidate = [10.9, 10.1, 10.9, 10.1, 10.9, 10.1];
        let (before, after) = (
            (&[10.0; 6][..], &[10.0; 6][..]),
            (&[10.0; 6][..], &candidate[..]),
        );
        let change = compare_across(&rule, before, after, NO_PILOTS).unwrap();
        assert_eq!(change.verdict, Verdict::Worse);
        let mut family = vec![change.clone(); 5];
        apply_holm_across(&mut family);
        assert_eq!(family[0].verdict, Verdict::Inconclusive);
        assert_eq!(family[0].reason, Reason::NotAfterHolm { comparisons: 5 });
        assert!((family[0].p_t - 5.0 * change.p_t).abs() < 1e-12);
    }

    #[test]
    fn what_follows_a_pilot_has_a_wider_interval() {
        let more = [&WOBBLE[..], &WOBBLE[..]].concat();
        let width = |pilots| {
            let ones = [1.0; 12];
            let (old, new) = ((&ones[..], &more[..]), (&ones[..], &more[..]));
            let c = compare_across(&Rule::time("reaction"), old, new, pilots).unwrap();
            c.high - c.low
        };
        let without = width(NO_PILOTS);
        assert!(without < width((Some(6), None)));
        assert!(without < width((None, Some(6))));
        assert!(width((Some(6), None)) < width((Some(6), Some(6))));
    }

    #[test]
    fn the_smaller_experiment_counts() {
        let c = compare_across(
            &Rule::time("reaction"),
            (&[1.0; 6], &WOBBLE),
            (&[1.0; 3], &WOBBLE[..3]),
            NO_PILOTS,
        )
        .unwrap();
        assert_eq!(
            c.reason,
            Reason::TooFewBlocks {
                blocks: 3,
                needed: 6
            }
        );
    }
}
