//! Benchmarks of plain processes and containers, really measured: short, and not for their figures.

use std::fs;
use std::path::Path;

use stowplan_results::{Results, RunStatus};
use stowplan_testkit::is_root;

use crate::measured::{metrics_of, only_result};
use crate::nothing_left::left_of;
use crate::small_disk::SmallDisk;
use crate::support::{Bench, Ended, engines_missing, to_its_end};
use crate::toolbox::{add_tool, lay_toolbox, with_libraries};

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
        let expected = [
            "cpu_primes",
            "file_create",
            "file_delete",
            "file_seq_read",
            "file_seq_write",
            "memory_read",
            "memory_write",
        ];
        assert_eq!(metrics_of(&rows, place), expected.into(), "{place}");
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

/// What `sysbench fileio` prints of a random write, with a rate.
const WRITTEN: &str = "echo '    written, MiB/s:              123.45'";

#[test]
fn a_tool_that_fails_says_so_in_its_cell_and_the_others_stay() {
    if engines_missing(&["bare", "oci"]) || !is_root("mount the small disk") {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let programs = ["sh", "timeout", "dd"].map(|name| Path::new("/usr/bin").join(name));
    let toolbox = lay_toolbox(cache.path(), &with_libraries(programs));
    add_tool(
        &toolbox,
        "sysbench",
        &format!("case \"$1\" in fileio) {WRITTEN} ;; *) echo hello ;; esac"),
    );
    let _disk = SmallDisk::new(toolbox.join("volumes"), 1 << 20);
    add_tool(
        &toolbox,
        "dbench",
        "dd if=/dev/zero of=full bs=64k 2>/dev/null || { echo 'Child failed with status 1'; exit 1; }",
    );
    let bench = Bench::new();
    let names = "cpu,sysbench-cpu,bonnie,dbench,sysbench-fileio";
    let places = "bare:grouped,oci";
    let mut command = bench.command([
        "bench",
        "--quick",
        "--full",
        "--blocks",
        "1",
        "--place",
        places,
        "--benchmark",
        names,
    ]);
    command.env("XDG_CACHE_HOME", cache.path());
    let (pid, ended) = to_its_end(&mut command);
    let ended = ended.expect(0);
    assert_eq!(left_of(pid), Vec::<String>::new());
    let results = Results::open(only_result(&bench)).unwrap();
    let rows = results.measurements().unwrap();
    for place in ["bare-grouped", "oci"] {
        let of = |metric: &str| {
            let mut rows = rows.iter();
            let row = rows.find(|row| (&*row.deployment, &*row.metric) == (place, metric));
            row.unwrap_or_else(|| panic!("no {metric} at {place}: {rows:#?}"))
        };
        for (metric, why) in [
            ("sysbench_cpu", "sysbench-cpu printed something else"),
            ("bonnie_write", "bonnie is not in the toolbox"),
            ("dbench", "is full)"),
        ] {
            let row = of(metric);
            let told = row.reason.as_deref().unwrap_or_default();
            assert!(row.value.is_none() && told.contains(why), "{row:#?}");
        }
        assert!(of("cpu_primes").value.is_some());
        let written = of("sysbench_file_write");
        assert_eq!(written.value, Some(123.45));
        assert_eq!(written.subject.as_deref(), Some("volume, buffered, memory"));
    }
    assert!(ended.out.contains("sysbench fileio"), "{}", ended.out);
}
