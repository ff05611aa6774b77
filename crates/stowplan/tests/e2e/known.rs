//! Known answers: a stack whose work and idle are known gives these values back.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

use stowplan_measure::phases::phase_share;
use stowplan_results::{LatencyRow, Results};
use stowplan_wire::host::Calibrations;

use crate::measured::{BLOCKS, shared_undisturbed};
use crate::one_at_a_time::turn;

/// Both timers of `tiny`.
const PERIOD_NS: f64 = 50e6;

/// Callbacks in the order of the stack: scanner, planner/on_scan, planner/timer, brake.
const SCANNER: u32 = 0;
const PLANNER_TIMER: u32 = 2;

/// Iterations of the scanner and of the planner's timer together.
const ITERATIONS: f64 = 4e6;

/// Iterations of serialising a scan of 4 KiB; commands cost nothing.
const SERIALISATION: f64 = 100e3 + 4.0 * 100e3;

/// How late the timer may be in the best instance of a run; a twentieth of the period.
const NOISE_NS: f64 = 2.5e6;

fn by_run(results: &Results) -> BTreeMap<u32, Vec<LatencyRow>> {
    let mut runs: BTreeMap<u32, Vec<LatencyRow>> = BTreeMap::new();
    for row in results.latency().unwrap() {
        if row.valid && row.e2e_paper_ns.is_some() {
            runs.entry(row.run).or_default().push(row);
        }
    }
    runs
}

/// From the sensor's release to the release of the planner's timer, which is the difference of their phases.
#[test]
fn idle_is_the_difference_of_the_phases_that_the_seed_gives() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let rows = by_run(&results);
    let seed = results.experiment.seed;
    for run in &results.runs {
        let blocks = u32::try_from(BLOCKS).unwrap();
        let phase = |callback| PERIOD_NS * phase_share(seed, callback, run.block - 1, blocks);
        let between = phase(PLANNER_TIMER) - phase(SCANNER);
        let rows = &rows[&run.run];
        // Whole periods depend on how long the data was on its way, and a busy machine makes timers late, never early.
        let late = rows.iter().map(|r| {
            let to_timer = (r.e2e_full_ns.unwrap() - r.computation_ns.unwrap() / 2) as f64;
            (to_timer - between + NOISE_NS).rem_euclid(PERIOD_NS) - NOISE_NS
        });
        let least = late.fold(f64::INFINITY, f64::min);
        assert!(
            least < NOISE_NS,
            "run {} ({}): the timer is {least} ns later than by the phases",
            run.run,
            run.deployment
        );
        for row in rows {
            let release = (row.origin_ns as f64 - phase(SCANNER)).rem_euclid(PERIOD_NS);
            let off = release.min(PERIOD_NS - release);
            assert!(
                off < 1_000.0,
                "run {}: released {off} ns off its phase",
                run.run
            );
        }
    }
}

/// Nanoseconds per iteration of the work kernel where nobody disturbs it: the least of some hundred milliseconds.
fn least_ns_per_iteration() -> f64 {
    static LEAST: OnceLock<f64> = OnceLock::new();
    *LEAST.get_or_init(measure_least)
}

fn measure_least() -> f64 {
    let _turn = turn();
    let calibrate = || {
        let output = Command::new(stowplan_testkit::node_program())
            .args(["calibrate", "--cpu", "0", "--working-set", "16384"])
            .output()
            .unwrap();
        let said: Calibrations = serde_json::from_slice(&output.stdout).unwrap();
        said.working_sets[0].least_ns_per_iteration
    };
    (0..3).map(|_| calibrate()).fold(f64::INFINITY, f64::min)
}

/// The least of a run, which is the one that nobody disturbed, is the counted work; no instance has less.
#[test]
fn computation_is_the_counted_work() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let ns = least_ns_per_iteration();
    for (run, rows) in by_run(&results) {
        let least = rows.iter().map(|r| r.computation_ns.unwrap()).min();
        let ratio = least.unwrap() as f64 / (ITERATIONS * ns);
        assert!(
            (0.8..1.8).contains(&ratio),
            "run {run}: {ratio} of the counted work"
        );
    }
    for block in &results.experiment.calibration {
        assert!(block.ns_per_iteration > 0.9 * ns, "{block:?}, {ns} here");
    }
}

/// Every call has the work of the stack, and its thread's CPU time is that of the work.
#[test]
fn cpu_time_of_a_callback_is_its_counted_work() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let ns = least_ns_per_iteration();
    let rows = results.callbacks().unwrap();
    for run in &results.runs {
        let of = |node: &str, callback: &str| {
            let mut rows = rows.iter().filter(|row| row.run == run.run);
            let row = rows.find(|r| r.node.as_deref() == Some(node) && *r.callback == *callback);
            row.unwrap_or_else(|| panic!("run {}: no {node}/{callback}", run.run))
        };
        let (scanner, planner) = (of("scanner", "timer"), of("planner", "timer"));
        let iterations = [scanner, planner].map(|row| row.iterations_mean.unwrap());
        assert_eq!(iterations.iter().sum::<f64>(), ITERATIONS);
        for (row, iterations) in [scanner, planner].into_iter().zip(iterations) {
            let ratio = row.cpu_median_ns.unwrap() / (iterations * ns);
            assert!((0.9..1.8).contains(&ratio), "{ratio} of the work: {row:?}");
            // Every call has as many iterations, and the calibration is that of its block.
            let per_iteration = row.cpu_iteration_median_ns.unwrap() * iterations;
            let off = per_iteration / row.cpu_median_ns.unwrap() - 1.0;
            assert!(off.abs() < 1e-3, "{off}: {row:?}");
            assert_eq!(row.calibrated_iteration_ns, run.calibration_ns);
            assert!(row.calls >= 2 && row.wall_mean_ns <= row.wall_max_ns as f64);
        }
    }
}

/// Serialising is what lies between the publication and its hand-over to DDS.
#[test]
fn send_is_the_counted_serialisation() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    let ns = least_ns_per_iteration();
    for (run, rows) in by_run(&results) {
        let least = rows.iter().map(|r| r.send_ns.unwrap()).min();
        let ratio = least.unwrap() as f64 / (SERIALISATION * ns);
        assert!(
            (0.8..1.8).contains(&ratio),
            "run {run}: {ratio} of the counted serialisation"
        );
    }
}

#[test]
fn messages_have_the_size_and_the_rate_of_the_stack() {
    let Some(shared) = shared_undisturbed() else {
        return;
    };
    let results = Results::open(&shared.dir).unwrap();
    for deployment in &results.experiment.deployments {
        let edges = &deployment.edges_by_class["loopback"];
        assert_eq!(
            (edges.edges, edges.bytes_per_s),
            (2, 20.0 * (4096.0 + 64.0))
        );
    }
    // One second at 20 Hz; a release at either edge of the window may be in or out. A machine that is busy
    // with other things lets releases pass, so that the least disturbed run tells the rate.
    for topic in ["/scan", "/command"] {
        let losses = results.losses().unwrap();
        let published = losses.iter().filter(|l| &*l.topic == topic);
        let most = published.filter_map(|l| l.published).max().unwrap();
        assert!((19..=21).contains(&most), "{most} messages on {topic}");
    }
}
