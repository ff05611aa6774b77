//! Timer phases: equal in all deployments of a block, or shown where they are natural (docs/measuring.md §3).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use stowplan_measure::phases::phase_share;
use stowplan_results::{CallbackRow, Results};
use stowplan_stats::{Sorted, Verdict};

use crate::measured::{BLOCKS, PLACES, latency_of_tiny, only_result, shared};
use crate::support::{Bench, engines_missing};
use crate::undisturbed::undisturbed;

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

/// From the release of the scanner to that of the planner's timer in the one block of an experiment, ns.
fn between_ns(seed: u64) -> f64 {
    let [scanner, planner] = TIMERS.map(|(_, callback)| phase_share(seed, callback, 0, 1));
    PERIOD_NS as f64 * (planner - scanner)
}

/// The first seed with which data waits so long: what precedes the waiting takes a few milliseconds, which fit before the
/// timer's release and are equal for all such seeds.
fn seed_with(between_ms: RangeInclusive<f64>) -> u64 {
    let fits = |seed: &u64| between_ms.contains(&(between_ns(*seed) / 1e6));
    (1..).find(fits).unwrap()
}

fn median_idle_ns(results: &Results) -> f64 {
    let rows = results.latency().unwrap().into_iter();
    let idle = rows.filter(|row| row.valid).filter_map(|row| row.idle_ns);
    let idle = Sorted::new(idle.map(|ns| ns as f64).collect()).unwrap();
    idle.quantile(0.5)
}

#[test]
fn runs_that_differ_in_the_seed_differ_in_idle_by_their_phases() {
    if engines_missing(&["bare"]) {
        return;
    }
    let seeds = [seed_with(15.0..=20.0), seed_with(35.0..=45.0)];
    let Some((bench, ())) = undisturbed(|bench| {
        for seed in seeds {
            let more = ["--seed", &seed.to_string()];
            let latency = latency_of_tiny("bare:flat", 1, "1s", &more);
            bench.run(latency).expect(0);
        }
    }) else {
        return;
    };
    let folders = std::fs::read_dir(bench.path().join("results")).unwrap();
    let idle: BTreeMap<u64, f64> = folders
        .map(|folder| {
            let results = Results::open(folder.unwrap().path()).unwrap();
            (results.experiment.seed, median_idle_ns(&results))
        })
        .collect();
    let found = idle[&seeds[1]] - idle[&seeds[0]];
    let known = between_ns(seeds[1]) - between_ns(seeds[0]);
    assert!(
        (found - known).abs() < PERIOD_NS as f64 / 20.0,
        "{found} ns between the medians of idle of seeds {seeds:?}, {known} ns by their phases"
    );
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
    let report = stowplan_judge::Judgement::read(&results).unwrap();
    for comparison in &report.comparisons {
        if comparison.metric == "idle_mean" || comparison.metric == "e2e_paper_mean" {
            assert_eq!(comparison.verdict, Verdict::Inconclusive, "{comparison:?}");
        }
    }
}
