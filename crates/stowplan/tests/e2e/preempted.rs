//! How long callbacks lose their CPU to others, by the scheduler's switches, held against their own CPU clocks.

use stowplan_results::Results;

use crate::measured::only_result;
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing};

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

const EXPERIMENT: &str = "
name: crowded
stack: stack.yaml
places: ['bare:grouped', oci]
partitions: [modules]
blocks: 1
warm_up: 200ms
window: 3s
callback_cpu: true
preemption: true
limits:
  one: { cpuset: [0] }
  two: { cpuset: [0] }
  three: { cpuset: [0] }
";

#[test]
fn what_a_callback_takes_is_its_cpu_time_and_what_it_was_preempted_for() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    bench.write("stack.yaml", STACK);
    let file = bench.write("crowded.yaml", EXPERIMENT);
    let file = file.to_str().unwrap();
    bench.run(["run", file, "--settle", "0s"]).expect(0);
    let results = Results::open(only_result(&bench)).unwrap();
    let callbacks = results.callbacks().unwrap();
    let busy = callbacks
        .iter()
        .filter(|row| row.cpu_mean_ns.unwrap() > 10e6);
    let busy: Vec<_> = busy.collect();
    assert_eq!(busy.len(), 4, "two in each deployment: {callbacks:?}");
    for row in busy {
        let (cpu, lost) = (row.cpu_mean_ns.unwrap(), row.preempted_mean_ns.unwrap());
        // Each has half of the CPU while both work.
        assert!(lost > 0.2 * row.wall_mean_ns, "{row:?}");
        let apart = (row.wall_mean_ns - cpu - lost).abs();
        assert!(apart <= 0.02 * row.wall_mean_ns, "{row:?}");
    }
    for row in results.latency().unwrap() {
        if let (Some(computation), Some(lost)) = (row.computation_ns, row.preempted_ns) {
            assert!((0..=computation).contains(&lost), "{row:?}");
        }
        assert_eq!(row.computation_ns.is_some(), row.preempted_ns.is_some());
    }
}
