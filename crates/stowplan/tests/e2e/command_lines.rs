//! Engines that are command lines: measured beside plain processes, with the same program and figures.

use stowplan_results::{DeploymentRecord, Results, RunStatus, UsageRow};

use crate::measured::{AT_ONCE, only_result};
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, engines_missing, fixture, to_its_end};

/// Measured beside plain processes in `control`, whose groups lie as the engine's do.
pub fn measures(engine: &str, control: &str) {
    if engines_missing(&["bare", engine]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let stack = fixture("tiny.yaml");
    let places = format!("{control},{engine}");
    let mut command = bench.command(["latency", stack.to_str().unwrap(), "--place", &places]);
    command
        .args(["--partition", "modules", "--blocks", "1", "--window", "1s"])
        .args(AT_ONCE);
    let (pid, ended) = to_its_end(&mut command);
    let ended = ended.expect(0);
    assert!(ended.out.contains("scan_to_brake"), "{}", ended.out);
    assert_eq!(left_of(pid), Vec::<String>::new());
    let results = Results::open(only_result(&bench)).unwrap();
    assert_eq!(results.runs.len(), 2);
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
        assert_eq!(run.discarded, Some(0));
        assert!(run.events.unwrap() > 100);
        assert_eq!(run.program_sha256, results.runs[0].program_sha256);
    }
    let deployments = &results.experiment.deployments;
    same_groups(deployments);
    for deployment in deployments {
        // An instance of LXD has files of its own; others have those of the one image.
        let shared = if deployment.place == "lxd" {
            "no"
        } else {
            "yes"
        };
        assert_eq!(
            deployment.fingerprint["files.shared"], shared,
            "{deployment:?}"
        );
    }
    let usage = results.usage().unwrap();
    for run in &results.runs {
        let of = |subject: &str| -> Vec<&UsageRow> {
            let rows = usage.iter().filter(|row| row.run == run.run);
            rows.filter(|row| &*row.subject == subject).collect()
        };
        let sensing = of("sensing");
        // The last sample may find its cgroup gone.
        let used = |row: &&UsageRow| row.cpu_ns > Some(0);
        assert!(sensing.iter().any(used), "{sensing:?}");
        let has_some = |row: &&UsageRow| row.memory_bytes > Some(1 << 20);
        assert!(sensing.iter().any(has_some), "{sensing:?}");
        // What holds the containers is the engine's, not the services'.
        let engine_has_some = of("engine").iter().any(|row| row.memory_bytes > Some(0));
        assert_eq!(
            engine_has_some,
            run.deployment.starts_with(engine),
            "{run:?}"
        );
    }
}

/// Services compete for CPUs in the same way: with the same weights on as many levels.
pub fn same_groups(deployments: &[DeploymentRecord]) {
    let levels = |of: &DeploymentRecord| of.fingerprint["cpu.levels"].clone();
    for deployment in deployments {
        assert_eq!(
            levels(deployment),
            levels(&deployments[0]),
            "{deployment:?}"
        );
    }
}

#[test]
fn nspawn_is_measured_as_plain_processes_are() {
    measures("nspawn", "bare:grouped");
}

#[test]
fn lxc_is_measured_as_plain_processes_are() {
    measures("lxc", "bare:grouped-lxc");
}
