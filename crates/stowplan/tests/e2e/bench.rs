//! Benchmarks of plain processes and containers, really measured: short, and not for their figures.

use std::collections::BTreeSet;
use std::fs;

use stowplan_results::{Results, RunStatus};

use crate::measured::only_result;
use crate::support::{Bench, Ended, engines_missing};

/// Everything but round trips, which have tests of their own, in fewer blocks than a verdict needs.
const SOME: [&str; 8] = [
    "bench",
    "--quick",
    "--place",
    "bare:flat,oci",
    "--benchmark",
    "cpu,memory,file-sequential,files",
    "--blocks",
    "2",
];

/// Rounds of a block: two benchmarks, and two on three disks.
const ROUNDS: usize = 2 + 2 * 3;

/// Two places, and the reference again.
const RUNS: usize = 2 * ROUNDS * 3;

fn measured(bench: &Bench, more: &[&str]) -> Ended {
    let arguments: Vec<&str> = SOME.iter().chain(more).copied().collect();
    bench.run(&arguments)
}

#[test]
fn benchmarks_are_measured_at_each_place_and_leave_nothing() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let ended = measured(&bench, &["--published", "--full"]).expect(0);
    for told in ["CPU, primes", "Image, create files", "oci", "wen2023 V"] {
        assert!(ended.out.contains(told), "{told}:\n{}", ended.out);
    }
    let dir = only_result(&bench);
    let results = Results::open(&dir).unwrap();
    assert_eq!(results.experiment.suite, "bench");
    assert_eq!(results.experiment.blocks_planned, 2);
    assert_eq!(results.runs.len(), RUNS);
    let mut finished = results.runs.iter();
    assert!(finished.all(|run| run.status == RunStatus::Finished));
    let rows = results.measurements().unwrap();
    for place in ["bare-flat", "bare-flat.again", "oci"] {
        let of_place = rows.iter().filter(|row| &*row.deployment == place);
        let metrics: BTreeSet<&str> = of_place
            .filter(|row| row.value.is_some())
            .map(|row| &*row.metric)
            .collect();
        let expected = [
            "cpu_primes",
            "file_create",
            "file_delete",
            "file_seq_read",
            "file_seq_write",
            "memory_read",
            "memory_write",
        ];
        assert_eq!(metrics, expected.into(), "{place}");
    }
    let printed = fs::read_to_string(dir.join("bench.jsonl")).unwrap();
    assert_eq!(printed.lines().count(), RUNS);
    assert!(dir.join("report.html").is_file());
    let left = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap());
    let volumes = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("volume"));
    assert_eq!(volumes.count(), 0);
    let resumed = bench
        .run(["bench", "--resume", dir.to_str().unwrap()])
        .expect(0);
    assert!(!resumed.err.contains(" · run "), "{}", resumed.err);
    assert!(resumed.out.lines().count() <= 40, "{}", resumed.out);
}

#[test]
fn what_is_not_known_is_refused_before_anything_starts() {
    let bench = Bench::new();
    for (arguments, code, told) in [
        (&["--benchmark", "linpack"][..], 2, "linpack"),
        (&["--place", "dokcer"], 2, "docker"),
        (&["--resume", "nowhere"], 3, "nowhere"),
        (&["--resume", "x", "--quick"], 2, "--quick"),
    ] {
        let all = ["bench"].iter().chain(arguments);
        let ended = bench.run(all).expect(code);
        assert!(ended.err.contains(told), "{}", ended.err);
    }
    assert!(!bench.path().join("results").exists());
}
