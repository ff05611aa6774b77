//! A difference between two deployments, attributed to the steps that lead from one to the other.

use serde::{Deserialize, Serialize};

use crate::{PairedComparison, Rule, StatsError, compare};

/// What each step of a ladder adds to the difference between its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Every deployment but the first against the one before it, each for itself: not corrected.
    pub steps: Vec<PairedComparison>,
    /// The last deployment against the first.
    pub whole: PairedComparison,
}

impl Attribution {
    /// What each step adds, on the scale on which differences add up: natural logarithms of ratios on
    /// [`crate::Scale::LogRatio`], else in the unit of the metric. The sum is that of the whole.
    #[must_use]
    pub fn addends(&self) -> Vec<f64> {
        self.steps.iter().map(PairedComparison::addend).collect()
    }
}

impl PairedComparison {
    /// The estimate on the scale on which differences add up.
    #[must_use]
    pub fn addend(&self) -> f64 {
        self.scale.taken(self.estimate)
    }
}

/// Attributes the difference between the first and the last of `ladder` to its steps.
///
/// `ladder[k][i]` is the value of deployment k in block i; only blocks in which all deployments have one, so
/// that the steps add up to the whole. Each step is a comparison of its own, paired by block; they share
/// deployments, so their errors hang together: one step's too much is its neighbour's too little.
pub fn attribute(rule: &Rule, ladder: &[&[f64]]) -> Result<Attribution, StatsError> {
    let (Some(first), Some(last), true) = (ladder.first(), ladder.last(), ladder.len() > 1) else {
        return Err(StatsError::TooFew {
            what: "an attribution",
            need: 2,
            have: ladder.len(),
        });
    };
    let steps = ladder
        .windows(2)
        .map(|pair| compare(rule, pair[0], pair[1]));
    Ok(Attribution {
        steps: steps.collect::<Result<_, _>>()?,
        whole: compare(rule, first, last)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Scale, Verdict, apply_holm};
    use proptest::prelude::*;

    /// Blocks drift by up to 30 %; every deployment wobbles on its own by 0.1 %.
    fn ladder(ratios: &[f64]) -> Vec<Vec<f64>> {
        let mut level = 40.0;
        let mut ladder = Vec::new();
        for (k, ratio) in [1.0].iter().chain(ratios).enumerate() {
            level *= ratio;
            let block = |i: usize| {
                let wobble = 0.001 * ((i * 7 + k * 5) % 11) as f64 / 11.0;
                level * (1.0 + 0.05 * i as f64) * (1.0 + wobble)
            };
            ladder.push((0..8).map(block).collect());
        }
        ladder
    }

    fn of(rule: &Rule, ladder: &[Vec<f64>]) -> Attribution {
        let levels: Vec<&[f64]> = ladder.iter().map(Vec::as_slice).collect();
        let mut found = attribute(rule, &levels).unwrap();
        apply_holm(&mut found.steps);
        found
    }

    #[test]
    fn known_steps_are_found_and_the_others_are_equivalent() {
        let rule = Rule::time("e2e");
        let found = of(&rule, &ladder(&[0.8, 1.0, 1.1, 1.0]));
        let verdicts: Vec<Verdict> = found.steps.iter().map(|s| s.verdict).collect();
        let (better, worse, same) = (Verdict::Better, Verdict::Worse, Verdict::Equivalent);
        assert_eq!(verdicts, [better, same, worse, same]);
        assert!((found.steps[0].estimate + 0.2).abs() < 2e-3);
        assert!((found.steps[2].estimate - 0.1).abs() < 2e-3);
        assert!((found.whole.estimate - (0.8 * 1.1 - 1.0)).abs() < 2e-3);
        assert!(found.steps.iter().all(|s| s.p_t_holm.is_some()));
        assert_eq!(found.whole.p_t_holm, None, "one comparison is no family");
    }

    #[test]
    fn a_step_that_holds_alone_can_fall_among_many() {
        let mut levels = vec![vec![10.0; 6]; 2];
        levels[1] = vec![10.9, 10.1, 10.9, 10.1, 10.9, 10.1];
        let alone = of(&Rule::time("e2e"), &levels);
        assert_eq!(alone.steps[0].verdict, Verdict::Worse);
        levels.extend((0..8).map(|_| levels[1].clone()).collect::<Vec<_>>());
        let among = of(&Rule::time("e2e"), &levels);
        assert_eq!(among.steps[0].verdict, Verdict::Inconclusive);
    }

    #[test]
    fn one_deployment_has_no_steps() {
        let error = attribute(&Rule::time("e2e"), &[&[1.0]]).unwrap_err();
        assert!(error.to_string().contains("attribution"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn steps_add_up_to_the_whole(
            levels in prop::collection::vec(prop::collection::vec(0.5_f64..200.0, 7), 2..12),
        ) {
            let difference = Rule {
                scale: Scale::Difference,
                delta: Delta::Absolute(1.0),
                ..Rule::time("memory")
            };
            for rule in [Rule::time("e2e"), difference] {
                let found = of(&rule, &levels);
                let sum: f64 = found.addends().iter().sum();
                prop_assert!((sum - found.whole.addend()).abs() < 1e-9, "{sum}");
                if rule.scale == Scale::LogRatio {
                    let product: f64 = found.steps.iter().map(|s| 1.0 + s.estimate).product();
                    prop_assert!((product / (1.0 + found.whole.estimate) - 1.0).abs() < 1e-9);
                }
            }
        }
    }
}
