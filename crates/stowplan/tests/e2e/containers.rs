//! A stack on plain processes, the embedded runtime and the daemons of container engines, measured in one experiment.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_results::{Results, RunStatus};
use stowplan_testkit::ContainerDaemon;

use crate::measured::only_result;
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing};

const PLACES: [&str; 4] = ["bare:flat", "oci", "docker", "podman"];

/// Waits until the daemon has as many containers of services that this process began; fails when it ends before.
fn wait_for_services(child: &mut Child, daemon: ContainerDaemon, count: usize) {
    let run = format!("stowplan-{}-", child.id());
    loop {
        let names = daemon.containers("stowplan.service");
        if names.iter().filter(|name| name.starts_with(&run)).count() == count {
            return;
        }
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        std::thread::yield_now();
    }
}

#[test]
fn what_a_killed_run_left_in_a_daemon_is_removed_and_a_living_run_stays() {
    if engines_missing(&["docker", "podman"]) {
        return;
    }
    for engine in ["docker", "podman"] {
        let bench = Bench::new();
        let _turn = turn();
        let daemon = ContainerDaemon::of(engine);
        let begin = || {
            let mut command = bench.command([
                "latency",
                "hello",
                "--place",
                engine,
                "--partition",
                "modules",
                "--blocks",
                "1",
                "--window",
                "600s",
                "--settle",
                "0s",
            ]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            wait_for_services(&mut child, daemon, 4);
            child
        };
        let (mut dead, mut living) = (begin(), begin());
        dead.kill().unwrap();
        dead.wait().unwrap();
        bench.run(["clean"]).expect(0);
        let left = |pid: u32| {
            let names = daemon.containers("stowplan.run").into_iter();
            let of_run: Vec<String> = names.filter(|n| n.contains(&format!("{pid}-"))).collect();
            let images = daemon.images(&format!("stowplan:{pid}-"));
            (of_run, images.len())
        };
        assert_eq!(left(dead.id()), (vec![], 0), "{engine}");
        // Its four services, and the one that stands for the network.
        assert!(left(living.id()).0.len() >= 4, "{engine}");
        let living_pid = Pid::from_child(&living);
        kill_process(living_pid, Signal::TERM).unwrap();
        living.wait().unwrap();
        assert_eq!(left(living.id()), (vec![], 0), "{engine}");
    }
}

#[test]
fn a_stack_is_measured_in_containers_of_every_engine() {
    if engines_missing(&["bare", "oci", "docker", "podman"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = turn();
    let mut command = bench.command([
        "latency",
        "hello",
        "--place",
        &PLACES.join(","),
        "--partition",
        "modules",
        "--blocks",
        "1",
        "--window",
        "1s",
        "--settle",
        "0s",
    ]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let ended = crate::support::Ended::new(child.wait_with_output().unwrap()).expect(0);
    for engine in ["docker", "podman"] {
        let daemon = ContainerDaemon::of(engine);
        let of_run = |name: &String| name.contains(&pid.to_string());
        let left: Vec<String> = daemon.containers("stowplan.run");
        assert!(!left.iter().any(of_run), "{left:?}");
        let images = daemon.images(&format!("stowplan:{pid}-"));
        assert!(images.is_empty(), "{images:?}");
    }
    let results = Results::open(only_result(&bench)).unwrap();
    assert_eq!(results.runs.len(), PLACES.len(), "{}", ended.err);
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        assert_eq!(run.discarded, Some(0), "{run:?}");
        assert_eq!(run.program_sha256, results.runs[0].program_sha256);
    }
    let versions = &results.experiment.versions;
    assert!(versions["docker"].contains("cgroup driver"), "{versions:?}");
    // One service per module, and each has a row of CPU time that grows.
    let usage = results.usage().unwrap();
    for run in &results.runs {
        let rows: Vec<_> = usage
            .iter()
            .filter(|row| row.run == run.run && &*row.subject == "sensing")
            .collect();
        let grown = rows.last().unwrap().cpu_ns > rows.first().unwrap().cpu_ns;
        assert!(grown, "{}: {rows:?}", run.deployment);
        // What the engine itself uses has a row of its own.
        if ["docker.modules", "podman.modules"].contains(&&*run.deployment) {
            let mut rows = usage.iter().filter(|row| row.run == run.run);
            let row = rows.find(|row| &*row.subject == "engine");
            let memory = row.and_then(|row| row.memory_bytes);
            assert!(memory.is_some_and(|bytes| bytes > 1 << 20), "{row:?}");
        }
    }
}
