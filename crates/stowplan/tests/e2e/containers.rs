//! A stack in containers of engines with a daemon: measured beside plain processes, killed in the middle, and with a daemon
//! that dies.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_results::{Results, RunStatus, UsageRow};
use stowplan_testkit::{OwnDaemon, User, links, user_of};

use crate::command_lines::{measures, same_groups};
use crate::interrupted::{until_empty, until_nothing_is_left};
use crate::measured::{AT_ONCE, only_result};
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing, to_its_end};

/// Measured in one experiment.
const PLACES: [&str; 5] = ["bare:grouped", "oci", "docker", "podman", "cri"];
/// Engines among them with a daemon.
const DAEMONS: [&str; 3] = ["docker", "podman", "cri"];
/// All engines with a daemon that were tried, and what errors call it.
const ALL_DAEMONS: [(&str, &str); 4] = [
    ("docker", "docker"),
    ("podman", "podman"),
    ("cri", "containerd"),
    ("lxd", "lxd"),
];
/// Engines whose services are in the network of the machine alone.
const CLUSTERS: [&str; 2] = ["swarm", "kube"];
/// Services of `hello` with the partition `modules`.
const SERVICES: usize = 4;

/// Begins to measure with an engine, the one on this machine or that of a daemon of the test's own.
fn begin(bench: &Bench, engine: &str, window: &str, own: Option<&OwnDaemon>) -> Child {
    let mut command = bench.command(["latency", "hello", "--place", engine]);
    command
        .args(["--partition", "modules", "--blocks", "1"])
        .args(AT_ONCE)
        .args(["--window", window])
        .envs(own.map(OwnDaemon::variable))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the daemon has containers of all services that this process began; fails when it ends before.
fn wait_for_services(child: &mut Child, user: &dyn User) {
    while user.services_of(child.id()) < SERVICES {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn what_a_killed_run_left_in_a_daemon_is_removed_and_a_living_run_stays() {
    let daemons = ALL_DAEMONS.map(|(engine, _)| engine);
    for engine in daemons.into_iter().chain(CLUSTERS) {
        if engines_missing(&[engine]) {
            continue;
        }
        let bench = Bench::new();
        let _turn = shared_turn();
        let user = user_of(engine);
        let links_before = links();
        let started = || {
            let mut child = begin(&bench, engine, "600s", None);
            wait_for_services(&mut child, user.as_ref());
            child
        };
        let (mut dead, mut living) = (started(), started());
        dead.kill().unwrap();
        dead.wait().unwrap();
        bench.run(["clean"]).expect(0);
        let left = |child: &Child| user.left_by(child.id());
        assert_eq!(left(&dead), Vec::<String>::new(), "{engine}");
        // The agent ends by itself.
        let on_machine = until_nothing_is_left(dead.id());
        assert_eq!(on_machine, Vec::<String>::new(), "{engine}");
        // Its services, and their image at least.
        let of_living = left(&living);
        if living.try_wait().unwrap().is_some() {
            let ended = Ended::new(living.wait_with_output().unwrap());
            panic!("{engine}: the living run ended: {}", ended.err);
        }
        assert!(of_living.len() > SERVICES, "{engine}: {of_living:?}");
        // The last of them may still be starting.
        while left_of(living.id()).len() <= SERVICES {
            assert_eq!(living.try_wait().unwrap(), None, "{engine}: it ended");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&living), Signal::TERM).unwrap();
        living.wait().unwrap();
        assert_eq!(left(&living), Vec::<String>::new(), "{engine}");
        assert_eq!(left_of(living.id()), Vec::<String>::new(), "{engine}");
        // Others of this machine may have some for a while.
        let more_links = || links().difference(&links_before).cloned().collect();
        assert_eq!(until_empty(more_links), Vec::<String>::new(), "{engine}");
    }
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn a_run_whose_daemon_dies_fails_and_is_cleaned_when_it_is_back() {
    for (engine, name) in ALL_DAEMONS {
        let Some(mut own) = OwnDaemon::start(engine) else {
            continue;
        };
        let bench = Bench::new();
        let _turn = shared_turn();
        let mut child = begin(&bench, engine, "1s", Some(&own));
        let pid = child.id();
        wait_for_services(&mut child, own.user().as_ref());
        own.kill();
        let ended = Ended::new(child.wait_with_output().unwrap()).expect(5);
        assert!(ended.err.contains(name), "{engine}: {}", ended.err);
        // Where that daemon is stands in the ledger alone.
        let clean = || bench.run(["clean"]);
        let told = clean().expect(5).err;
        assert!(told.contains("could not remove"), "{engine}: {told}");
        assert!(told.contains(name), "{engine}: {told}");
        own.start_again();
        assert!(!own.user().left_by(pid).is_empty(), "{engine}");
        clean().expect(0);
        let left = own.user().left_by(pid);
        assert_eq!(left, Vec::<String>::new(), "{engine}");
        let on_machine = until_nothing_is_left(pid);
        assert_eq!(on_machine, Vec::<String>::new(), "{engine}");
    }
}

#[test]
fn lxd_is_measured_as_plain_processes_are() {
    measures("lxd", "bare:grouped-lxd");
}

#[test]
fn a_stack_is_measured_in_containers_of_every_engine() {
    if engines_missing(&["bare", "oci"]) || engines_missing(&DAEMONS) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
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
    ]);
    command.args(AT_ONCE);
    let (pid, ended) = to_its_end(&mut command);
    let ended = ended.expect(0);
    for engine in DAEMONS {
        assert_eq!(user_of(engine).left_by(pid), Vec::<String>::new());
    }
    let results = Results::open(only_result(&bench)).unwrap();
    assert_eq!(results.runs.len(), PLACES.len(), "{}", ended.err);
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        assert_eq!(run.discarded, Some(0), "{run:?}");
        assert_eq!(run.program_sha256, results.runs[0].program_sha256);
    }
    same_groups(&results.experiment.deployments);
    for deployment in &results.experiment.deployments {
        assert_eq!(
            deployment.fingerprint["files.shared"], "yes",
            "{deployment:?}"
        );
        if DAEMONS.contains(&&*deployment.place) {
            // As it was seen: one that the daemon only names comes with more words.
            let runtime = &*deployment.fingerprint["engine.runtime"];
            assert!(["runc", "crun"].contains(&runtime), "{deployment:?}");
            let version = &deployment.fingerprint["engine.runtime_version"];
            assert!(version.starts_with(|c: char| c.is_ascii_digit()));
        }
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
        // The last sample may find its cgroup gone.
        let greatest = rows.iter().filter_map(|row| row.cpu_ns).max();
        assert!(
            greatest > rows.first().unwrap().cpu_ns,
            "{}: {rows:?}",
            run.deployment
        );
        // What the engine itself uses has a row of its own, and one of what it used before there were services.
        let engine = run.deployment.split('.').next().unwrap();
        if DAEMONS.contains(&engine) {
            let of_run = usage.iter().filter(|row| row.run == run.run);
            the_engine_itself_is_told(&of_run.collect::<Vec<_>>());
        }
    }
}

#[test]
fn benchmarks_of_clusters_are_in_the_network_of_the_machine() {
    for engine in CLUSTERS {
        if engines_missing(&["bare", engine]) {
            continue;
        }
        let bench = Bench::new();
        let _turn = shared_turn();
        let places = format!("bare:flat,{engine}");
        let mut command = bench.command(["bench", "--quick", "--place", &places]);
        command.args(["--benchmark", "cpu,tcp", "--blocks", "1"]);
        let (pid, ended) = to_its_end(&mut command);
        let ended = ended.expect(0);
        let warning = "all deployments run in the machine's network";
        assert!(ended.err.contains(warning), "{}", ended.err);
        assert_eq!(
            user_of(engine).left_by(pid),
            Vec::<String>::new(),
            "{engine}"
        );
        assert_eq!(left_of(pid), Vec::<String>::new(), "{engine}");
        let results = Results::open(only_result(&bench)).unwrap();
        // Two benchmarks at two places, and at the reference again.
        assert_eq!(results.runs.len(), 6, "{}", ended.err);
        for run in &results.runs {
            assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        }
        let rows = results.measurements().unwrap();
        for metric in ["cpu_primes", "tcp_send", "tcp_receive"] {
            let row = rows
                .iter()
                .find(|row| &*row.metric == metric && &*row.deployment == engine);
            assert!(row.is_some_and(|row| row.value.is_some()), "{row:?}");
        }
    }
}

fn the_engine_itself_is_told(usage: &[&UsageRow]) {
    for subject in ["engine", "engine idle"] {
        let row = usage.iter().find(|row| &*row.subject == subject);
        let memory = row.and_then(|row| row.memory_bytes);
        assert!(memory.is_some_and(|bytes| bytes > 1 << 20), "{row:?}");
    }
    let idle = usage
        .iter()
        .filter(|row| row.subject.starts_with("engine idle"));
    let idle: Vec<_> = idle.collect();
    assert!(idle.iter().all(|row| row.t_ns < 0), "{idle:?}");
    let of_program = idle.iter().any(|row| row.subject.contains(": "));
    assert!(of_program, "{idle:?}");
}
