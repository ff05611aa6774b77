//! How far what is measured lies from what is known, on a machine that does nothing else: the CPU time of counted work,
//! and the time that data waits for a timer.

use std::collections::BTreeMap;

use stowplan_judge::Figures;
use stowplan_measure::phases::phase_share;
use stowplan_results::{LatencyRow, Results};
use stowplan_stats::Sorted;

use crate::measured::only_result;
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing};

const BLOCKS: u32 = 3;

/// A stack in one service of plain processes, with the CPU time of every call.
fn measured(bench: &Bench, stack: &str) -> Results {
    let how = ["--place", "bare:flat", "--partition", "single"];
    let blocks = BLOCKS.to_string();
    let long = [
        "--blocks",
        &blocks,
        "--window",
        "10s",
        "--callback-cpu",
        "--preemption",
    ];
    let arguments = ["latency", stack].into_iter().chain(how).chain(long);
    bench.run(arguments).expect(0);
    Results::open(only_result(bench)).unwrap()
}

/// `hello` keeps two cores busy for a seventh of the time, with working sets that fit the first-level cache and others.
#[test]
#[ignore = "a minute, on a machine that does nothing else"]
fn counted_work_takes_the_cpu_time_of_its_calibration() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    let results = measured(&bench, "hello");
    for block in &results.experiment.calibration {
        let sizes: Vec<u64> = block.larger.iter().map(|of| of.working_set_bytes).collect();
        assert_eq!(sizes, [256 << 10], "{block:?}");
    }
    let work = Figures::read(&results).unwrap().work.unwrap();
    // The three callbacks with a cloud and the planner's timer, in each run.
    assert_eq!(work.callbacks, 4 * BLOCKS as usize, "{work:?}");
    assert!((0.95..=1.05).contains(&work.median), "{work}");
}

/// Period of both timers of the stack below.
const PERIOD_NS: f64 = 50e6;

/// Callbacks in its order: scanner, planner/on_scan, planner/timer.
const SCANNER: u32 = 0;
const PLANNER_TIMER: u32 = 2;

/// The planner does nothing but hand on, so that what the timer adds is the time that data waits for it.
const KNOWN_IDLE: &str = "
name: known-idle
qos: { reliability: reliable, depth: 1 }
topics: { /scan: 4096B, /command: 64B }
modules:
  sensing:
    nodes:
      scanner: { timer: 20Hz, publishes: /scan, work: { iterations: 1M, working_set: 16KiB } }
  control:
    nodes:
      planner: { timer: 20Hz, subscribes: /scan, publishes: /command }
      brake: { subscribes: /command }
chains:
  scan_to_command: { callbacks: [scanner, planner/on_scan, planner/timer] }
";

/// How far the idle time of every instance lies from the timer's next release, of those that never lost their CPU to others.
fn idle_errors(results: &Results) -> Vec<f64> {
    let seed = results.experiment.seed;
    let phase = |callback, block| PERIOD_NS * phase_share(seed, callback, block, BLOCKS);
    let mut by_run: BTreeMap<u32, Vec<LatencyRow>> = BTreeMap::new();
    for row in results.latency().unwrap() {
        if row.valid && row.idle_ns.is_some() {
            by_run.entry(row.run).or_default().push(row);
        }
    }
    let mut errors = Vec::new();
    for rows in by_run.values() {
        let computation = |row: &LatencyRow| row.computation_ns.unwrap() as f64;
        for row in rows.iter().filter(|row| row.preempted_ns.unwrap() == 0) {
            let block = row.block - 1;
            let between = phase(PLANNER_TIMER, block) - phase(SCANNER, block);
            // From the sensor's release until the planner has the data.
            let late = row.e2e_full_ns.unwrap() - row.e2e_paper_ns.unwrap();
            let reached = late as f64 + computation(row) + row.communication_ns.unwrap() as f64;
            let known = (between - reached).rem_euclid(PERIOD_NS);
            let off = (row.idle_ns.unwrap() as f64 - known).rem_euclid(PERIOD_NS);
            errors.push(off.min(PERIOD_NS - off));
        }
    }
    errors
}

#[test]
#[ignore = "a minute, on a machine that does nothing else"]
fn idle_lasts_until_the_timer_is_released() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    let stack = bench.write("known-idle.yaml", KNOWN_IDLE);
    let results = measured(&bench, stack.to_str().unwrap());
    let errors = Sorted::new(idle_errors(&results)).unwrap();
    let (median, p95) = (errors.quantile(0.5), errors.quantile(0.95));
    let found = format!(
        "{} instances: median {median} ns, P95 {p95} ns",
        errors.values().len()
    );
    // Twenty a second, of which most lose nothing on a machine that does nothing else.
    let all = 20 * 10 * BLOCKS as usize;
    assert!(errors.values().len() > all / 2, "{found}");
    assert!(median <= 0.2e6 && p95 <= 1e6, "{found}");
}
