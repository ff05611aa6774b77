//! Ended midway, by the user and by force: finished runs are kept, nothing is left, and it can go on.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stowplan_results::{Results, RunRow, RunStatus};

use crate::nothing_left::left_of;
use crate::one_at_a_time::shared_turn;
use crate::support::{Bench, Ended, engines_missing, fixture};

/// How long something that has to happen is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// The stack `tiny` on two places, in two blocks, with a short warm-up.
pub const EXPERIMENT: &str = "name: short
stack: STACK
places: [bare:flat, oci]
partitions: [modules]
blocks: 2
warm_up: 200ms
window: 500ms
";

/// Writes [`EXPERIMENT`] and starts it; gives the child and its result folder as soon as there is one.
pub fn begin(bench: &Bench, out: &Path) -> (Child, PathBuf) {
    let stack = fixture("tiny.yaml");
    let text = EXPERIMENT.replace("STACK", stack.to_str().unwrap());
    bench.write("short.yaml", &text);
    let mut command = bench.command(["run", "short.yaml", "--settle", "0s", "--out"]);
    let mut child = command
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let dir = wait(&mut child, "a result folder", || {
        std::fs::read_dir(out)
            .ok()?
            .flatten()
            .next()
            .map(|e| e.path())
    });
    (child, dir)
}

/// Looks until `what` is there. Fails if the child ends before or nothing comes of it.
pub fn wait<T>(child: &mut Child, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        if let Some(status) = child.try_wait().unwrap() {
            let mut text = String::new();
            let stderr = child.stderr.as_mut().unwrap();
            std::io::Read::read_to_string(stderr, &mut text).unwrap();
            panic!("ended with {status} before there was {what}:\n{text}");
        }
        assert!(begin.elapsed() < PATIENCE, "there is no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until run 1 is kept and run 2 has services.
fn wait_for_the_second_run(child: &mut Child, dir: &Path) {
    let first = dir.join("parts/run-0001.runs.parquet");
    wait(child, "a finished run", || first.exists().then_some(()));
    let pid = child.id();
    wait(child, "a second run", || {
        left_of(pid)
            .iter()
            .any(|object| object.contains("stowplan-node exec"))
            .then_some(())
    });
}

pub fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Resumes, and checks that every run is finished once and that those of before were not repeated.
fn assert_goes_on(bench: &Bench, dir: &Path, before: &[RunRow]) {
    let resume = ["run", "--settle", "0s", "--resume", dir.to_str().unwrap()];
    let resumed = bench.run(resume).expect(0);
    let steps = resumed.err.lines().filter(|line| line.contains(" · run "));
    assert_eq!(steps.count(), 4 - before.len(), "{}", resumed.err);
    let after = Results::open(dir).unwrap();
    let numbers: Vec<u32> = after.runs.iter().map(|run| run.run).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    for run in &after.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
    }
    for run in before {
        assert!(after.runs.contains(run), "run {} was repeated", run.run);
    }
    assert!(after.latency().unwrap().iter().any(|row| row.run == 4));
    assert!(dir.join("report.html").exists());
}

fn finished(dir: &Path) -> Vec<RunRow> {
    let mut runs = Results::open(dir).unwrap().runs;
    runs.retain(|run| run.status == RunStatus::Finished);
    runs
}

#[test]
fn killed_midway_it_can_be_cleaned_and_goes_on() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let (mut child, dir) = begin(&bench, &bench.path().join("results"));
    let pid = child.id();
    wait_for_the_second_run(&mut child, &dir);
    signal(&child, Signal::KILL);
    child.wait().unwrap();

    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["left"].as_array().unwrap().len(), 0, "{clean:#}");
    // The agent works too as soon as its pipe closes: who removed what is open, that nothing is left is not.
    let left = until_nothing_is_left(pid);
    assert!(left.is_empty(), "{left:#?}\n{clean:#}");
    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["removed"].as_array().unwrap().len(), 0, "{clean:#}");

    let before = finished(&dir);
    assert!(!before.is_empty());
    assert_goes_on(&bench, &dir, &before);
}

/// The agent ends by itself when its pipe closes; this waits for it.
pub fn until_nothing_is_left(pid: u32) -> Vec<String> {
    until_empty(|| left_of(pid))
}

/// What `look` still finds, when what ends by itself has had the time for it. It is of other processes' making: nothing
/// tells of its end.
pub fn until_empty(look: impl Fn() -> Vec<String>) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let left = look();
        if left.is_empty() || begin.elapsed() > Duration::from_secs(20) {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn interrupted_midway_it_leaves_nothing_and_goes_on() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let (mut child, dir) = begin(&bench, &bench.path().join("results"));
    let pid = child.id();
    wait_for_the_second_run(&mut child, &dir);
    signal(&child, Signal::INT);
    let ended = Ended::new(child.wait_with_output().unwrap()).expect(130);
    assert!(ended.err.contains("error: interrupted"), "{}", ended.err);
    assert!(
        ended.err.contains(&format!("--resume {}", dir.display())),
        "{}",
        ended.err
    );
    let left = left_of(pid);
    assert!(left.is_empty(), "{left:#?}");
    let clean = bench.run(["clean", "--json"]).expect(0).document("clean");
    assert_eq!(clean["removed"].as_array().unwrap().len(), 0, "{clean:#}");

    let before = finished(&dir);
    assert_eq!(before.len(), 1, "{before:?}");
    assert_goes_on(&bench, &dir, &before);
}

#[test]
fn interrupted_before_the_first_run_it_ends_with_130() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let _turn = shared_turn();
    let (child, dir) = begin(&bench, &bench.path().join("results"));
    signal(&child, Signal::TERM);
    let pid = child.id();
    Ended::new(child.wait_with_output().unwrap()).expect(130);
    assert_eq!(left_of(pid), Vec::<String>::new());
    assert!(finished(&dir).is_empty());
}
