//! What a selftest tells on the terminal.

use comfy_table::Table;
use stowplan_model::units::show_ns;
use stowplan_results::{Criterion, Selftest, SelftestComparison, SelftestKind};

use crate::table;

/// One row for each kind of pairs.
pub fn table(selftest: &Selftest) -> Table {
    let mut table = table::new([
        "pairs",
        "flagged",
        "asked for",
        "median half-width",
        "truth in the interval",
    ]);
    for counts in &selftest.counts {
        let flagged = match counts.kind {
            SelftestKind::Equal => counts.flagged,
            SelftestKind::Work | SelftestKind::Idle => counts.flagged_longer,
        };
        let asked = selftest
            .criteria
            .iter()
            .find(|c| c.name == of_kind(counts.kind).1);
        table.add_row([
            pairs(selftest, counts.kind),
            format!("{flagged} of {}", counts.compared),
            asked.map(limit).unwrap_or_default(),
            half_width(selftest, counts.kind),
            format!("{} of {}", counts.covered, counts.compared),
        ]);
    }
    table
}

/// Name of a kind of pairs, and of the criterion on how many of them are flagged.
fn of_kind(kind: SelftestKind) -> (&'static str, &'static str) {
    match kind {
        SelftestKind::Equal => ("A/A, equal", "equal-flagged"),
        SelftestKind::Work => ("A/B, work", "work-flagged"),
        SelftestKind::Idle => ("A/B, idle", "idle-flagged"),
    }
}

fn pairs(selftest: &Selftest, kind: SelftestKind) -> String {
    let name = of_kind(kind).0;
    match kind {
        SelftestKind::Equal => name.to_owned(),
        SelftestKind::Work | SelftestKind::Idle => {
            format!("{name} (+{})", show_ns(selftest.injected.ns as f64))
        }
    }
}

fn limit(criterion: &Criterion) -> String {
    let side = match criterion.bound {
        stowplan_results::Bound::AtMost => "at most",
        stowplan_results::Bound::AtLeast => "at least",
    };
    format!("{side} {:.0}", criterion.limit)
}

fn half_width(selftest: &Selftest, kind: SelftestKind) -> String {
    let of_kind = selftest.comparisons.iter().filter(|c| c.kind == kind);
    let widths = of_kind.map(SelftestComparison::half_width).collect();
    stowplan_stats::Sorted::new(widths).map_or_else(
        |_| "–".to_owned(),
        |widths| format!("± {:.1} %", widths.quantile(0.5) * 100.0),
    )
}

/// The outcome in one sentence.
pub fn sentence(selftest: &Selftest) -> String {
    let missed: Vec<String> = selftest
        .criteria
        .iter()
        .filter(|c| !c.passed)
        .map(|c| format!("asked for {}, found {}", c.asks, found(c)))
        .collect();
    if !missed.is_empty() {
        return format!("The instrument does not pass: {}.", missed.join("; "));
    }
    let counts = |kind| selftest.of_kind(kind);
    let equal = counts(SelftestKind::Equal);
    let (alarms, pairs) = equal.map_or((0, 0), |c| (c.flagged, c.compared));
    let injected = [SelftestKind::Work, SelftestKind::Idle];
    let injected = || injected.into_iter().filter_map(counts);
    let seen: u64 = injected().map(|c| c.flagged_longer).sum();
    let of: u64 = injected().map(|c| c.compared).sum();
    format!(
        "The instrument passes: it flagged {alarms} of {pairs} equal pairs, with a median half-width of {:.1} %, and \
         {seen} of {of} pairs with a difference of {}.",
        selftest.median_half_width * 100.0,
        show_ns(selftest.injected.ns as f64)
    )
}

fn found(criterion: &Criterion) -> String {
    match criterion.of {
        Some(_) => format!("{:.0}", criterion.found),
        None => format!("{:.1} %", criterion.found * 100.0),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use stowplan_results::{
        InjectedDifference, KindCounts, Machine, SELFTEST_SCHEMA, SelftestSubject,
    };

    /// A selftest with so many equal pairs, and so many of each kind with a difference, of which everything was found.
    pub fn example(equal: u64, injected: u64) -> Selftest {
        let of_kind = |kind, compared, flagged| KindCounts {
            kind,
            compared,
            flagged,
            flagged_longer: flagged,
            covered: compared,
        };
        let counts = vec![
            of_kind(SelftestKind::Equal, equal, 1),
            of_kind(SelftestKind::Work, injected, injected),
            of_kind(SelftestKind::Idle, injected, injected),
        ];
        let criteria = stowplan_selftest::criteria(&counts, 0.012).unwrap();
        Selftest {
            schema: SELFTEST_SCHEMA.to_owned(),
            stowplan_version: "0.1.0".to_owned(),
            build_id: "b".to_owned(),
            measured_unix_s: 0,
            machine: Machine::default(),
            passed: criteria.iter().all(|c| c.passed),
            criteria,
            median_half_width: 0.012,
            counts,
            injected: InjectedDifference {
                share: 0.1,
                ns: 4_000_000,
                work_callback: "planner/timer".to_owned(),
                work_factor: 2.0,
                work_iterations: 3e6,
                ns_per_iteration: 1.3,
                timer: "planner/timer".to_owned(),
                arrival_ns: 0,
            },
            subject: SelftestSubject {
                stack: "hello".to_owned(),
                stack_sha256: String::new(),
                place: "bare:flat".to_owned(),
                partition: "single".to_owned(),
                chain: "c".to_owned(),
                metric: "e2e_paper_mean".to_owned(),
                blocks: 10,
                window_s: 2.0,
                seed: 1,
            },
            dependence: String::new(),
            comparisons: Vec::new(),
        }
    }

    #[test]
    fn a_table_and_one_sentence() {
        let selftest = example(40, 20);
        let mut table = table(&selftest);
        table.set_width(100);
        let lines: Vec<String> = table
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        pairs                  flagged    asked for     median half-width   truth in the interval
       ───────────────────────────────────────────────────────────────────────────────────────────
        A/A, equal             1 of 40    at most 6     –                   40 of 40
        A/B, work (+4.00 ms)   20 of 20   at least 18   –                   20 of 20
        A/B, idle (+4.00 ms)   20 of 20   at least 18   –                   20 of 20
        ");
        assert_eq!(
            sentence(&selftest),
            "The instrument passes: it flagged 1 of 40 equal pairs, with a median half-width of 1.2 %, and 40 of 40 \
             pairs with a difference of 4.00 ms."
        );
    }

    #[test]
    fn what_is_missed_is_said_with_what_was_found() {
        let mut selftest = example(40, 20);
        selftest.counts[0].flagged = 9;
        selftest.counts[1].flagged_longer = 3;
        selftest.criteria = stowplan_selftest::criteria(&selftest.counts, 0.0712).unwrap();
        assert_eq!(
            sentence(&selftest),
            "The instrument does not pass: asked for at most 6 of 40 equal pairs flagged, found 9; asked for a median \
             half-width of equal pairs of at most 5 %, found 7.1 %; asked for at least 18 of 20 pairs with more work \
             flagged as longer, found 3."
        );
    }
}
