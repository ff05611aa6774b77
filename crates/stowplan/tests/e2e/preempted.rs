//! How long callbacks are off the CPU without having given it up, by the scheduler's switches, held against their own CPU clocks.

use stowplan_results::{CallbackRow, Results};
use stowplan_testkit::skip;

use crate::measured::only_result;
use crate::support::{Bench, Ended, engines_missing, through};
use crate::undisturbed::undisturbed;

/// Two processes whose work does not fit one CPU, so that each loses it to the other.
const STACK: &str = "
name: crowded
qos: { reliability: reliable, depth: 1 }
topics: { /a: 64B, /b: 64B }
modules:
  one:
    nodes:
      a: { timer: 20Hz, publishes: /a, work: { iterations: 40M, working_set: 16KiB } }
  two:
    nodes:
      b: { timer: 20Hz, publishes: /b, work: { iterations: 40M, working_set: 16KiB } }
  three:
    nodes:
      end: { subscribes: [/a, /b] }
chains:
  alone: { callbacks: [a, end/on_a] }
";

/// Both on one CPU.
const ONE_CPU: &str = "
  one: { cpuset: [0] }
  two: { cpuset: [0] }
  three: { cpuset: [0] }
";

/// Half a CPU for what would use a whole one.
const HALF_A_CPU: &str = "
  one: { cpu_quota: 0.5 }
";

/// What is measured while others leave the CPUs alone: a thread that waits for one which has lost its CPU to them is neither
/// preempted nor working.
fn measured(limits: &str) -> Option<(Bench, Results)> {
    undisturbed(|bench| measured_in(bench, limits))
}

fn measured_in(bench: &Bench, limits: &str) -> Results {
    bench.write("stack.yaml", STACK);
    let experiment = format!(
        "name: crowded\nstack: stack.yaml\nplaces: ['bare:grouped', oci]\npartitions: [modules]\nblocks: 1\n\
         warm_up: 200ms\nwindow: 3s\ncallback_cpu: true\npreemption: true\nlimits:{limits}"
    );
    let file = bench.write("crowded.yaml", &experiment);
    let file = file.to_str().unwrap();
    bench.run(["run", file, "--settle", "0s"]).expect(0);
    Results::open(only_result(bench)).unwrap()
}

/// The callbacks with so much work that others come in between.
fn busy(results: &Results) -> Vec<CallbackRow> {
    let callbacks = results.callbacks().unwrap();
    let busy = callbacks
        .iter()
        .filter(|row| row.cpu_mean_ns.unwrap() > 10e6);
    let busy: Vec<CallbackRow> = busy.cloned().collect();
    assert_eq!(busy.len(), 4, "two in each deployment: {callbacks:?}");
    busy
}

/// Of each call that began in the window all three are known, also where it ended after it.
fn is_cpu_time_and_preemption(row: &CallbackRow) {
    let (cpu, lost) = (row.cpu_mean_ns.unwrap(), row.preempted_mean_ns.unwrap());
    let apart = (row.wall_mean_ns - cpu - lost).abs();
    assert!(apart <= 0.02 * row.wall_mean_ns, "{row:?}");
}

#[test]
fn what_a_callback_takes_is_its_cpu_time_and_what_it_was_preempted_for() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let Some((_bench, results)) = measured(ONE_CPU) else {
        return;
    };
    for row in busy(&results) {
        is_cpu_time_and_preemption(&row);
        // Each has half of the CPU while both work.
        assert!(
            row.preempted_mean_ns.unwrap() > 0.2 * row.wall_mean_ns,
            "{row:?}"
        );
    }
    for row in results.latency().unwrap() {
        if let (Some(computation), Some(lost)) = (row.computation_ns, row.preempted_ns) {
            assert!((0..=computation).contains(&lost), "{row:?}");
        }
        assert_eq!(row.computation_ns.is_some(), row.preempted_ns.is_some());
    }
}

#[test]
fn what_a_quota_takes_from_a_callback_is_preemption_too() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let Some((_bench, results)) = measured(HALF_A_CPU) else {
        return;
    };
    for row in busy(&results) {
        is_cpu_time_and_preemption(&row);
        let lost = row.preempted_mean_ns.unwrap();
        if row.node.as_deref() == Some("a") {
            assert!(lost > 0.2 * row.wall_mean_ns, "{row:?}");
        }
    }
}

/// A machine that lets everybody watch its CPUs refuses nothing.
fn everybody_may_watch() -> bool {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    paranoid.trim().parse::<i32>().unwrap() < 1
}

#[test]
fn who_may_not_watch_the_cpus_is_told_before_anything_is_run() {
    if everybody_may_watch() {
        return skip!("kernel.perf_event_paranoid lets everybody watch all CPUs");
    }
    let bench = Bench::new();
    let asks = bench.command(["latency", "hello", "--preemption", "--blocks", "1"]);
    let ended = through(&["setpriv", "--bounding-set=-all"], &asks).output();
    let ended = Ended::new(ended.unwrap()).expect(4);
    assert!(
        ended
            .err
            .contains("error: cannot record the context switches of CPU 0"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("hint: perf_event_open(2) needs"));
    assert!(!bench.path().join("results").exists());
}
