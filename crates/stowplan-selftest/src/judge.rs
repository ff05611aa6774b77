//! What is asked of the instrument, for any number of comparisons.

use stowplan_results::{Bound, Criterion, KindCounts, SelftestComparison, SelftestKind};
use stowplan_stats::binomial_quantile;

use crate::error::SelftestError;

/// Probability with which an instrument that is as good as it has to be meets a criterion on counts.
const SURE: f64 = 0.98;

/// Share of equal pairs that the statistics may flag at most (docs/measuring.md §5: between 2 and 6.5 %).
const FALSE_ALARMS: f64 = 0.065;

/// Share of differences of three half-widths that may be missed.
const MISSED: f64 = 0.02;

/// Share of 95 % intervals that do not hold the truth.
const NOT_COVERED: f64 = 0.05;

/// Largest median half-width of the intervals of equal pairs, as a relative change.
const HALF_WIDTH: f64 = 0.05;

/// Counts by kind, for the kinds that there are comparisons of.
pub(crate) fn counts(comparisons: &[SelftestComparison]) -> Vec<KindCounts> {
    let counts = SelftestKind::ALL.map(|kind| {
        let of = |what: &dyn Fn(&SelftestComparison) -> bool| {
            let of_kind = comparisons.iter().filter(|c| c.kind == kind);
            of_kind.filter(|c| what(c)).count() as u64
        };
        KindCounts {
            kind,
            compared: of(&|_| true),
            flagged: of(&|c| c.flagged),
            flagged_longer: of(&|c| c.flagged && c.low > 0.0),
            covered: of(&|c| c.covered),
        }
    });
    counts.into_iter().filter(|c| c.compared > 0).collect()
}

/// What is asked of so many comparisons, and whether it is met. On counts, the limit is the quantile of the binomial
/// distribution: 6 false alarms of 40 equal pairs, 18 of 20 differences found, 35 of 40 covered.
///
/// # Errors
/// None for counts that can be.
pub fn criteria(
    counts: &[KindCounts],
    median_half_width: f64,
) -> Result<Vec<Criterion>, SelftestError> {
    let of = |kind| counts.iter().find(|c| c.kind == kind);
    let mut criteria = Vec::new();
    if let Some(equal) = of(SelftestKind::Equal) {
        let (most, all) = (at_worst(equal.compared, FALSE_ALARMS)?, equal.compared);
        criteria.push(counted(
            "equal-flagged",
            format!("at most {most} of {all} equal pairs flagged"),
            (equal.flagged, all),
            (Bound::AtMost, most),
        ));
    }
    criteria.push(Criterion {
        name: "equal-half-width".to_owned(),
        asks: format!(
            "a median half-width of equal pairs of at most {:.0} %",
            HALF_WIDTH * 100.0
        ),
        found: median_half_width,
        of: None,
        bound: Bound::AtMost,
        limit: HALF_WIDTH,
        passed: median_half_width <= HALF_WIDTH,
    });
    let kinds = [
        (SelftestKind::Work, "work-flagged", "work"),
        (SelftestKind::Idle, "idle-flagged", "idle time"),
    ];
    for (kind, name, what) in kinds {
        if let Some(counts) = of(kind) {
            let all = counts.compared;
            let least = all - at_worst(all, MISSED)?;
            criteria.push(counted(
                name,
                format!("at least {least} of {all} pairs with more {what} flagged as longer"),
                (counts.flagged_longer, all),
                (Bound::AtLeast, least),
            ));
        }
    }
    let injected = || counts.iter().filter(|c| c.kind != SelftestKind::Equal);
    let all = injected().map(|c| c.compared).sum();
    if all > 0 {
        let least = all - at_worst(all, NOT_COVERED)?;
        criteria.push(counted(
            "covered",
            format!("the injected difference in at least {least} of {all} intervals"),
            (injected().map(|c| c.covered).sum(), all),
            (Bound::AtLeast, least),
        ));
    }
    Ok(criteria)
}

fn at_worst(all: u64, share: f64) -> Result<u64, SelftestError> {
    Ok(binomial_quantile(all, share, SURE)?)
}

fn counted(
    name: &str,
    asks: String,
    (found, of): (u64, u64),
    (bound, limit): (Bound, u64),
) -> Criterion {
    Criterion {
        name: name.to_owned(),
        asks,
        found: found as f64,
        of: Some(of),
        bound,
        limit: limit as f64,
        passed: match bound {
            Bound::AtMost => found <= limit,
            Bound::AtLeast => found >= limit,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_stats::Verdict;

    /// A comparison whose interval is 0.04 wide, of a true difference of 4 ms.
    fn comparison(kind: SelftestKind, difference: f64, covered: bool) -> SelftestComparison {
        let (low, high) = (difference - 0.02, difference + 0.02);
        SelftestComparison {
            kind,
            result: String::new(),
            reference: String::new(),
            candidate: String::new(),
            blocks: 10,
            difference,
            low,
            high,
            flagged: low > 0.0 || high < 0.0,
            verdict: Verdict::Inconclusive,
            injected_ns: 4e6,
            difference_ns: 4e6,
            low_ns: 3e6,
            high_ns: 5e6,
            covered,
        }
    }

    /// So many comparisons of each kind, of which so many come out against the truth.
    fn judged(all: [usize; 3], against: [usize; 3], not_covered: usize) -> Vec<Criterion> {
        let mut comparisons = Vec::new();
        for (kind, (all, against)) in SelftestKind::ALL
            .into_iter()
            .zip(all.into_iter().zip(against))
        {
            let truth = if kind == SelftestKind::Equal {
                0.0
            } else {
                0.1
            };
            // An equal pair that is flagged, and a difference that is found with the wrong sign.
            let wrong = if kind == SelftestKind::Equal {
                0.03
            } else {
                -0.1
            };
            for number in 0..all {
                let difference = if number < against { wrong } else { truth };
                let covered = kind != SelftestKind::Work || number >= not_covered;
                comparisons.push(comparison(kind, difference, covered));
            }
        }
        criteria(&counts(&comparisons), 0.02).unwrap()
    }

    fn failed(criteria: &[Criterion]) -> Vec<&str> {
        let failed = criteria.iter().filter(|c| !c.passed);
        failed.map(|c| &*c.name).collect()
    }

    #[test]
    fn the_full_form_asks_what_measuring_states() {
        let full = [40, 20, 20];
        let criteria = judged(full, [6, 2, 2], 5);
        let limits: Vec<f64> = criteria.iter().map(|c| c.limit).collect();
        assert_eq!(limits, [6.0, 0.05, 18.0, 18.0, 35.0]);
        let found: Vec<f64> = criteria.iter().map(|c| c.found).collect();
        assert_eq!(found, [6.0, 0.02, 18.0, 18.0, 35.0]);
        assert_eq!(failed(&criteria), [""; 0]);
        assert_eq!(failed(&judged(full, [7, 2, 2], 5)), ["equal-flagged"]);
        assert_eq!(failed(&judged(full, [6, 3, 2], 5)), ["work-flagged"]);
        assert_eq!(failed(&judged(full, [6, 2, 3], 5)), ["idle-flagged"]);
        assert_eq!(failed(&judged(full, [6, 2, 2], 6)), ["covered"]);
    }

    #[test]
    fn fewer_comparisons_are_judged_by_the_same_rule() {
        let criteria = judged([4, 2, 2], [2, 1, 1], 1);
        assert_eq!(failed(&criteria), [""; 0]);
        assert_eq!(criteria[0].asks, "at most 2 of 4 equal pairs flagged",);
        assert_eq!(
            failed(&judged([4, 2, 2], [3, 2, 2], 2)),
            ["equal-flagged", "work-flagged", "idle-flagged", "covered"]
        );
    }

    #[test]
    fn wide_intervals_do_not_pass() {
        let counts = counts(&[comparison(SelftestKind::Equal, 0.0, true)]);
        assert_eq!(
            failed(&criteria(&counts, 0.050_1).unwrap()),
            ["equal-half-width"]
        );
        assert_eq!(failed(&criteria(&counts, 0.05).unwrap()), [""; 0]);
    }
}
