//! Services that do not start, do not get ready or end, and results that cannot be written.

use std::io::Write as _;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use stowplan_results::{Results, RunStatus};
use stowplan_testkit::is_root;

use crate::interrupted::{begin, wait};
use crate::measured::only_result;
use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::small_disk::SmallDisk;
use crate::support::{Bench, Ended, engines_missing, fixture, to_its_end};

/// `tiny` with a real program beside it, in one run on `place`.
pub fn with_program(bench: &Bench, place: &str, program: &str, window: &str) -> Ended {
    let tiny = std::fs::read_to_string(fixture("tiny.yaml")).unwrap();
    bench.write(
        "stack.yaml",
        &format!("{tiny}\nservices:\n  camera:\n{program}"),
    );
    run_one(bench, place, window, "")
}

/// One run of `stack.yaml`.
fn run_one(bench: &Bench, place: &str, window: &str, more: &str) -> Ended {
    bench.write(
        "one.yaml",
        &format!(
            "name: one\nstack: stack.yaml\nplaces: ['{place}']\npartitions: [single]\nblocks: 1\n\
             warm_up: 100ms\nwindow: {window}\n{more}"
        ),
    );
    let (pid, ended) = to_its_end(&mut bench.command(["run", "one.yaml", "--settle", "0s"]));
    assert_eq!(left_of(pid), Vec::<String>::new());
    ended
}

/// The run is kept as failed, with its reason.
fn assert_recorded(bench: &Bench, words: &str) {
    let results = Results::open(only_result(bench)).unwrap();
    let run = &results.runs[0];
    assert_eq!(run.status, RunStatus::Failed);
    let reason = run.reason.as_ref().unwrap();
    assert!(reason.contains(words), "{reason}");
}

#[test]
fn a_program_that_crashes_at_start_is_named_with_its_log() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let program = "    command: [/bin/sh, -c, 'echo no camera found >&2; exit 3']\n    ready: { log_line: streaming }\n";
    let told = with_program(&bench, "bare:flat", program, "500ms")
        .expect(5)
        .err;
    assert!(
        told.contains("service 'camera' ended with status 3"),
        "{told}"
    );
    assert!(told.contains("no camera found"), "{told}");
    assert_recorded(&bench, "no camera found");
}

#[test]
fn a_program_that_hangs_at_start_is_named_with_its_log() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let program = "    command: [/bin/sh, -c, 'echo opening; exec sleep 600']\n    ready: { log_line: streaming }\n    ready_timeout: 1s\n";
    let told = with_program(&bench, "bare:flat", program, "500ms")
        .expect(5)
        .err;
    assert!(
        told.contains("service 'camera' wrote no line with 'streaming'"),
        "{told}"
    );
    assert!(told.contains("opening"), "{told}");
}

#[test]
fn a_program_that_exits_midway_is_named_with_its_log() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let program = "    command: [/bin/sh, -c, 'echo streaming; sleep 2; echo lens lost; exit 4']\n    ready: { log_line: streaming }\n";
    let told = with_program(&bench, "bare:flat", program, "4s")
        .expect(5)
        .err;
    assert!(
        told.contains("service 'camera'") && told.contains("ended with status 4"),
        "{told}"
    );
    assert!(told.contains("lens lost"), "{told}");
}

#[test]
fn a_service_beyond_its_memory_limit_is_named() {
    if engines_missing(&["oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    std::fs::copy(fixture("tiny.yaml"), bench.path().join("stack.yaml")).unwrap();
    let limits = "limits: { all: { memory: 2MB } }\n";
    let told = run_one(&bench, "oci", "500ms", limits).expect(5).err;
    assert!(told.contains("service 'all'"), "{told}");
    assert!(told.contains("memory limit"), "{told}");
}

/// A process of the node program in a run of the process `pid`.
fn node_process(pid: u32) -> Option<Pid> {
    let left = left_of(pid);
    let line = left
        .iter()
        .find(|line| line.contains("stowplan-node exec"))?;
    let number = line.strip_prefix("process /proc/")?.split(':').next()?;
    Pid::from_raw(number.parse().ok()?)
}

#[test]
fn a_node_that_is_killed_is_named_and_the_next_runs_go_on() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let (mut child, dir) = begin(&bench, &bench.path().join("results"));
    let pid = child.id();
    let node = wait(&mut child, "a node process", || node_process(pid));
    kill_process(node, Signal::KILL).unwrap();
    let told = Ended::new(child.wait_with_output().unwrap()).expect(5).err;
    assert!(told.contains("1 of the runs failed"), "{told}");
    assert!(
        ["sensing", "control", "actuation"]
            .iter()
            .any(|s| told.contains(&format!("service '{s}'"))),
        "{told}"
    );
    assert!(told.contains("signal 9"), "{told}");
    assert_eq!(left_of(pid), Vec::<String>::new());
    let runs = Results::open(&dir).unwrap().runs;
    let of = |status| runs.iter().filter(|run| run.status == status).count();
    assert_eq!((of(RunStatus::Failed), of(RunStatus::Finished)), (1, 3));
}

/// Fills what is left of a disk.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let some = vec![1_u8; 4096];
    while file.write_all(&some).is_ok() {}
}

#[test]
fn on_a_full_disk_finished_runs_are_kept_and_it_goes_on_when_there_is_room() {
    if !is_root("mount the small disk") {
        return;
    }
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let disk = SmallDisk::new(bench.path().join("small"), 64 << 20);
    let (mut child, dir) = begin(&bench, &disk.0);
    let pid = child.id();
    let first = dir.join("parts/run-0001.runs.parquet");
    wait(&mut child, "a finished run", || {
        first.exists().then_some(())
    });
    let filler = disk.0.join("filler");
    fill(&filler);
    let told = Ended::new(child.wait_with_output().unwrap()).expect(5).err;
    assert!(told.contains("· modules: "), "it names the run: {told}");
    assert!(told.contains("No space left on device"), "{told}");
    assert!(told.contains("hint: free space on this disk"), "{told}");
    assert!(!told.contains("panicked"), "{told}");
    assert_eq!(left_of(pid), Vec::<String>::new());
    let kept = Results::open(&dir).unwrap();
    assert_eq!(kept.runs[0].status, RunStatus::Finished);
    assert!(!kept.latency().unwrap().is_empty());

    std::fs::remove_file(&filler).unwrap();
    let resume = ["run", "--settle", "0s", "--resume", dir.to_str().unwrap()];
    bench.run(resume).expect(0);
    let results = Results::open(&dir).unwrap();
    assert_eq!(results.runs.len(), 4);
    assert_eq!(results.runs[0], kept.runs[0]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let out = "/dev/null/results";
    let told = bench
        .run(["latency", "hello", "--settle", "0s", "--out", out])
        .expect(5)
        .err;
    assert!(
        told.contains(out) && told.contains("Not a directory"),
        "{told}"
    );
}
