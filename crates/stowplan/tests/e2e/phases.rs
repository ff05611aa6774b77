//! Timer phases: equal in all deployments of a block, or shown where they are natural (MEASURING §3).

use std::collections::BTreeMap;

use stowplan_measure::phases::phase_share;
use stowplan_results::{CallbackRow, Results};
use stowplan_stats::Verdict;

use crate::measured::{BLOCKS, PLACES, latency_of_tiny, only_result, shared};
use crate::support::{Bench, engines_missing};

/// Both timers of `tiny`, by node, with the numbers of their callbacks.
const TIMERS: [(&str, u32); 2] = [("scanner", 0), ("planner", 2)];

const PERIOD_NS: i64 = 50_000_000;

/// Phases of one block may lie this far apart.
const APART_NS: f64 = 100_000.0;

fn of_timers(results: &Results) -> Vec<CallbackRow> {
    let rows = results.callbacks().unwrap().into_iter();
    let timers: Vec<CallbackRow> = rows.filter(|row| row.period_ns.is_some()).collect();
    assert!(timers.iter().all(|row| row.period_ns == Some(PERIOD_NS)));
    timers
}

#[test]
fn every_timer_has_the_phase_that_the_seed_gives_its_block() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    let rows = of_timers(&results);
    assert_eq!(rows.len(), TIMERS.len() * PLACES.len() * BLOCKS);
    for (node, callback) in TIMERS {
        for row in rows.iter().filter(|row| row.node.as_deref() == Some(node)) {
            let blocks = u32::try_from(BLOCKS).unwrap();
            let share = phase_share(results.experiment.seed, callback, row.block - 1, blocks);
            // Of a machine that is busy with other things a first release may be missed.
            let Some(phase) = row.phase_ns else { continue };
            let off = phase as f64 - share * PERIOD_NS as f64;
            assert!(off.abs() < APART_NS, "{off} ns off its phase: {row:?}");
        }
    }
}

/// Due and promptest beginning, ns; of a machine that is busy with other things the first release may be missed.
fn due_and_began(row: &CallbackRow) -> Option<(i64, i64)> {
    let due = row.phase_ns?;
    Some((due, due + row.late_min_ns?))
}

#[test]
fn the_deployments_of_a_block_have_the_phases_of_each_other() {
    let Some(shared) = shared() else { return };
    let results = Results::open(&shared.dir).unwrap();
    let rows = of_timers(&results);
    for (node, _) in TIMERS {
        let of_node = || rows.iter().filter(|row| row.node.as_deref() == Some(node));
        for row in of_node() {
            let early = row.late_min_ns.is_none_or(|late| late < 0);
            assert!(!early, "no call begins before it is due: {row:?}");
        }
        let mut began_together = false;
        for block in 1..=u32::try_from(BLOCKS).unwrap() {
            let of_block = of_node().filter(|row| row.block == block);
            let (due, began): (Vec<i64>, Vec<i64>) = of_block.filter_map(due_and_began).unzip();
            assert!(range(&due) <= APART_NS, "{node} in block {block}: {due:?}");
            began_together |= began.len() == PLACES.len() && range(&began) <= APART_NS;
        }
        // One block is enough: in another, something else may have had the CPUs all the time.
        assert!(began_together, "{node} was never seen at one phase");
    }
}

fn range(values: &[i64]) -> f64 {
    let ends = values.iter().max().zip(values.iter().min());
    ends.map_or(0.0, |(most, least)| (most - least) as f64)
}

#[test]
fn natural_phases_are_shown_and_give_no_verdict_on_what_they_decide() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let places = "bare:flat,bare:grouped";
    let latency = latency_of_tiny(places, 6, "500ms", &["--natural-phase"]);
    bench.run(latency).expect(0);
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    assert_eq!(results.experiment.phase.as_deref(), Some("natural"));

    let mut phases: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for row in of_timers(&results)
        .iter()
        .filter(|row| row.node.as_deref() == Some("scanner"))
    {
        phases.entry(row.block).or_default().extend(row.phase_ns);
    }
    let apart = |of: &Vec<i64>| of.len() == 2 && (of[0] - of[1]).abs() as f64 > APART_NS;
    assert!(
        phases.values().any(apart),
        "as if they had been set: {phases:?}"
    );

    let report = bench
        .run(["report", dir.to_str().unwrap(), "--form", "markdown"])
        .expect(0);
    assert!(report.out.contains("Timer phases"), "{}", report.out);
    assert!(report.out.contains("planner/timer"), "{}", report.out);
    let report = stowplan_report::Report::read(&results).unwrap();
    for comparison in &report.comparisons {
        if comparison.metric == "idle_mean" || comparison.metric == "e2e_paper_mean" {
            assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:?}");
        }
    }
}
