//! `ros2 launch` and a plain supervisor beside each other.

use stowplan_results::{Results, RunStatus};

use crate::measured::{AT_ONCE, only_result};
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing, fixture};

#[test]
fn a_plain_supervisor_starts_the_same_processes_without_a_participant() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    let stack = fixture("tiny.yaml");
    let place = ["latency", stack.to_str().unwrap(), "--place", "bare:flat"];
    let how = ["--partition", "modules", "--blocks", "1", "--window", "1s"];
    let how = [&how[..], &AT_ONCE].concat();
    let launch = ["--launch", "ros2,native"];
    let ended = bench.run(place.iter().chain(&how).chain(&launch)).expect(0);
    // Neither has a setting that the other lacks, but for the one that was asked for.
    assert!(!ended.out.contains("nobody asked for it"), "{}", ended.out);
    let results = Results::open(only_result(&bench)).unwrap();
    let [ros2, native] = &results.experiment.deployments[..] else {
        panic!("{:?}", results.experiment.deployments)
    };
    let ids = (&*ros2.id, &*native.id);
    assert_eq!(ids, ("bare-flat.modules.ros2", "bare-flat.modules.native"));
    assert_eq!(ros2.processes, native.processes);
    // One for the launcher of each of three services.
    assert_eq!((ros2.participants, native.participants), (6, 3));
    assert!(results.runs.iter().all(|r| r.status == RunStatus::Finished));
    let twice = ["--launch", "native,native", "--settle", "0s"];
    let ended = bench.run(place.iter().chain(&twice)).expect(2);
    assert!(ended.err.contains("'native' twice"), "{}", ended.err);
}
