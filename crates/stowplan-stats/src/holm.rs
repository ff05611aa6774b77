//! Holm's correction for several comparisons.

use crate::{ALPHA, PairedComparison, Reason, Verdict};

/// Corrects p values after Holm (1979), in the order given: the i-th smallest of
/// m times m−i+1, never falling and at most 1. To reject where the result is
/// at most 0.05 keeps the chance of any false alarm in the family at 5 %.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![0.0; p.len()];
    let mut floor = 0.0_f64;
    for (i, index) in order.into_iter().enumerate() {
        floor = floor.max((p[index] * (p.len() - i) as f64).min(1.0));
        corrected[index] = floor;
    }
    corrected
}

/// Corrects the primary comparisons of one question, all at once: sets their
/// corrected p values and takes back verdicts that do not hold in the family.
///
/// Differences and equivalences are corrected apart. A verdict is only ever
/// taken back, never given.
pub fn apply_holm<'a>(family: impl IntoIterator<Item = &'a mut PairedComparison>) {
    let mut family: Vec<&mut PairedComparison> = family.into_iter().collect();
    let comparisons = family.len();
    // What one block cannot test counts as a member without evidence.
    let p_t: Vec<f64> = family.iter().map(|c| c.p_t.unwrap_or(1.0)).collect();
    let p_equivalence: Vec<f64> = family
        .iter()
        .map(|c| c.p_equivalence.unwrap_or(1.0))
        .collect();
    let corrected = holm(&p_t).into_iter().zip(holm(&p_equivalence));
    for (comparison, (p_t, p_equivalence)) in family.iter_mut().zip(corrected) {
        comparison.p_t_holm = comparison.p_t.map(|_| p_t);
        comparison.p_equivalence_holm = comparison.p_equivalence.map(|_| p_equivalence);
        let holds = match comparison.verdict {
            Verdict::Better | Verdict::Worse => p_t <= ALPHA,
            Verdict::Equivalent => p_equivalence <= ALPHA,
            Verdict::Inconclusive | Verdict::NoControl | Verdict::LostInputsDiffer => true,
        };
        if !holds {
            comparison.verdict = Verdict::Inconclusive;
            comparison.reason = Reason::NotAfterHolm { comparisons };
            comparison.blocks_needed = comparison.more_blocks(ALPHA / comparisons as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rule, compare};
    use proptest::prelude::*;

    /// By hand, and R's p.adjust(c(.01, .04, .03, .005), "holm"):
    /// 0.03 0.06 0.06 0.02.
    #[test]
    fn agrees_with_p_adjust() {
        let got = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (a, b) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((a - b).abs() < 1e-12, "{got:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_weak_verdict_falls_in_a_family() {
        let rule = Rule::time("reaction");
        let one = |spread: f64| {
            let candidate: Vec<f64> = (0..6)
                .map(|i| 1.1 + if i % 2 == 0 { spread } else { -spread })
                .collect();
            compare(&rule, &[1.0; 6], &candidate).unwrap()
        };
        // p_t of about 0.03 alone, and of about 1e-6.
        let (weak, strong) = (one(0.08), one(0.005));
        assert_eq!(weak.verdict, Verdict::Worse);
        let mut alone = [weak.clone()];
        apply_holm(&mut alone);
        assert_eq!(alone[0].verdict, Verdict::Worse);
        assert_eq!(alone[0].p_t_holm, weak.p_t);

        let mut family = [weak.clone(), weak, strong];
        apply_holm(&mut family);
        assert_eq!(family[0].reason, Reason::NotAfterHolm { comparisons: 3 });
        assert_eq!(family[0].verdict, Verdict::Inconclusive);
        assert!(family[0].blocks_needed.is_some());
        assert_eq!(family[2].verdict, Verdict::Worse);
    }

    proptest! {
        #[test]
        fn never_below_the_plain_value_and_in_its_order(
            p in prop::collection::vec(0.0..=1.0f64, 1..12),
        ) {
            let corrected = holm(&p);
            for i in 0..p.len() {
                prop_assert!(corrected[i] >= p[i] && corrected[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || corrected[i] <= corrected[j]);
                }
            }
        }
    }
}
