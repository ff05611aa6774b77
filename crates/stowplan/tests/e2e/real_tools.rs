//! The papers' own tools in a toolbox of Debian's packages: made once, found again, and run where it matters.

use std::fs;
use std::path::{Path, PathBuf};

use stowplan_results::{Results, RunStatus};
use stowplan_testkit::is_root;

use crate::measured::{metrics_of, only_result};
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing, to_its_end};

/// All of them but the kernel, which takes minutes. Of those that run ours beside a tool, one of each kind of script.
const TOOLS: &str = "sysbench-cpu,sysbench-memory,sysbench-threads,sysbench-mutex,iperf3,ddsperf,dbench,bonnie,sysbench-fileio,\
                     memory-vs-sysbench,mutex-vs-sysbench,tcp-vs-iperf3,dds-vs-ddsperf";

/// The first figure of each, and both of TCP.
const METRICS: [&str; 14] = [
    "bonnie_write",
    "dbench",
    "dds_ratio",
    "ddsperf_round_trip",
    "iperf3_send",
    "memory_ratio",
    "mutex_ratio",
    "sysbench_cpu",
    "sysbench_file_write",
    "sysbench_memory",
    "sysbench_mutex",
    "sysbench_threads",
    "tcp_receive_ratio",
    "tcp_send_ratio",
];

/// A folder that outlives the test: half a gigabyte of packages is loaded once.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("with-toolbox")
}

fn toolbox(bench: &Bench, arguments: &[&str], path: Option<&str>) -> Ended {
    let all = ["bench", "toolbox"].iter().chain(arguments);
    let mut command = bench.command(all);
    command.env("XDG_CACHE_HOME", kept());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let _turn = shared_turn();
    to_its_end(&mut command).1
}

#[test]
#[ignore = "long: half a gigabyte of packages, and seconds of each tool at each place"]
fn every_tool_runs_in_a_toolbox_that_is_made_once() {
    if engines_missing(&["bare", "oci"]) || !is_root("make a toolbox") {
        return;
    }
    let bench = Bench::new();
    let made = toolbox(&bench, &["build"], None).expect(0);
    for tool in ["sysbench 1.0.20", "dbench 4.0", "bonnie++ 2", "iperf3 3."] {
        assert!(made.out.contains(tool), "{tool}:\n{}", made.out);
    }
    let again = toolbox(&bench, &["build"], Some("/nowhere")).expect(0);
    assert_eq!(again.out, made.out, "nothing is started for it");
    toolbox(&bench, &["build", "--update"], Some("/nowhere")).expect(4);

    let mut command = bench.command([
        "bench",
        "--quick",
        "--blocks",
        "1",
        "--place",
        "bare:flat,oci",
        "--benchmark",
        TOOLS,
    ]);
    command.env("XDG_CACHE_HOME", kept());
    let turn = shared_turn();
    let (pid, ended) = to_its_end(&mut command);
    drop(turn);
    ended.expect(0);
    assert_eq!(left_of(pid), Vec::<String>::new());
    let results = Results::open(only_result(&bench)).unwrap();
    let mut finished = results.runs.iter();
    assert!(finished.all(|run| run.status == RunStatus::Finished));
    let rows = results.measurements().unwrap();
    for place in ["bare-flat", "bare-flat.again", "oci"] {
        let metrics = metrics_of(&rows, place);
        let missing: Vec<&str> = METRICS
            .into_iter()
            .filter(|metric| !metrics.contains(metric))
            .collect();
        assert!(missing.is_empty(), "{missing:?} at {place}: {rows:#?}");
    }
    let folder = kept().join("stowplan/images/toolbox/current/volumes");
    let left = fs::read_dir(folder).unwrap().count();
    assert_eq!(left, 0, "what tools wrote is gone");
}
