//! The calibration of the instrument in its shortest form, interrupted and gone on with. What its comparisons say is
//! open in so few blocks; what was injected is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stowplan_measure::phases::{phase_share, timer_phase_ns};
use stowplan_results::{LatencyRow, Results, RunRow, RunStatus};
use stowplan_run::Request;

use crate::interrupted::wait;
use crate::support::{Bench, Ended, assert_valid, engines_missing, fixture, root};
use crate::undisturbed::undisturbed;

/// Period of both timers of `tiny`.
const PERIOD_NS: u64 = 50_000_000;

/// Callbacks of `tiny` in the order of the stack.
const SCANNER: u32 = 0;
const PLANNER_TIMER: u32 = 2;

/// How late the timer may be in the best instance of a run; less than what is injected.
const NOISE_NS: f64 = 2.5e6;

const BLOCKS: u32 = 2;

fn ended(mut command: Command) -> Ended {
    Ended::new(command.output().unwrap())
}

/// Starts a selftest, interrupts it after its first run, and gives its folder with the runs that are kept.
fn interrupted(bench: &Bench) -> (PathBuf, RunRow) {
    let tiny = fixture("tiny.yaml");
    let short = "--comparisons 2 --blocks 2 --window 1s --settle 0s --seed 2";
    let mut arguments = vec!["selftest", tiny.to_str().unwrap()];
    arguments.extend(short.split(' '));
    let mut child = bench
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let results = bench.path().join("results");
    let first = wait(&mut child, "a finished run", || {
        let result = only(&only(&results, "selftest-tiny-")?, "equal-01-")?;
        let row = result.join("parts/run-0001.runs.parquet");
        row.exists().then_some(result)
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = Ended::new(child.wait_with_output().unwrap()).expect(130);
    let folder = first.parent().unwrap().to_owned();
    let hint = "stowplan selftest --resume results/selftest-tiny-";
    assert!(ended.err.contains(hint), "{}", ended.err);
    assert!(
        ended.err.contains("A/A 1 of 2 · block 1/2"),
        "{}",
        ended.err
    );
    let kept = Results::open(&first).unwrap().runs;
    (folder, kept.into_iter().find(|r| r.run == 1).unwrap())
}

/// The one folder that begins so.
fn only(folder: &Path, begins: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut found = entries.filter(|e| e.file_name().to_string_lossy().starts_with(begins));
    let first = found.next()?.path();
    assert!(found.next().is_none(), "several folders '{begins}'");
    Some(first)
}

#[test]
#[ignore = "long: script/test --full, and .ci/run where its code was touched"]
fn a_selftest_goes_on_where_it_was_interrupted_and_judges_what_it_injected() {
    if engines_missing(&["bare"]) {
        return;
    }
    let measured = undisturbed(|bench| {
        let (folder, kept) = interrupted(bench);
        let resume = ["selftest", "--settle", "0s", "--json", "--resume"];
        let folder_name = folder.to_str().unwrap();
        let resumed = bench.run(resume.into_iter().chain([folder_name]));
        (folder, kept, resumed)
    });
    let Some((bench, (folder, kept, resumed))) = measured else {
        return;
    };
    // Whether so few comparisons pass is open.
    assert!(
        [Some(0), Some(6)].contains(&resumed.code),
        "{}",
        resumed.err
    );
    let document = resumed.document("selftest");
    assert_eq!(document["passed"], resumed.code == Some(0));

    let first = only(&folder, "equal-01-").unwrap();
    let runs = Results::open(&first).unwrap().runs;
    assert!(runs.contains(&kept), "run 1 was repeated");
    counts_are_those_of_the_comparisons(&document);
    the_saved_file_is_the_document(&folder, &document);
    let injected = only(&folder, "injected-01-").unwrap();
    injected_work_was_done(&injected, &document);
    timers_were_released_by_their_phases(&injected, &document);
    later_reports_tell_it(&bench, &injected, &document);
}

fn counts_are_those_of_the_comparisons(document: &Value) {
    let comparisons = document["comparisons"].as_array().unwrap();
    let kinds: Vec<&str> = comparisons
        .iter()
        .map(|c| c["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["equal", "equal", "work", "idle"]);
    for comparison in comparisons {
        assert_eq!(comparison["blocks"], BLOCKS, "{comparison:#}");
        assert_eq!(comparison["verdict"], "inconclusive", "below six blocks");
    }
    for counts in document["counts"].as_array().unwrap() {
        let of_kind = || comparisons.iter().filter(|c| c["kind"] == counts["kind"]);
        assert_eq!(counts["compared"], of_kind().count());
        let flagged = of_kind().filter(|c| c["flagged"] == true).count();
        assert_eq!(counts["flagged"], flagged);
    }
    let names: Vec<&str> = document["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    let expected = [
        "equal-flagged",
        "equal-half-width",
        "work-flagged",
        "idle-flagged",
        "covered",
    ];
    assert_eq!(names, expected);
}

fn the_saved_file_is_the_document(folder: &Path, document: &Value) {
    let text = std::fs::read_to_string(folder.join("selftest.json")).unwrap();
    let saved: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(saved, *document);
    let experiment = only(folder, "injected-01-")
        .unwrap()
        .join("experiment.json");
    let experiment = std::fs::read_to_string(experiment).unwrap();
    assert_valid(
        &root().join("crates/stowplan-results/schema/experiment.json"),
        &serde_json::from_str(&experiment).unwrap(),
    );
}

/// Rows of whole instances of one deployment, by block.
fn rows(results: &Results, variant: &str, block: u32) -> Vec<LatencyRow> {
    let id = format!("bare-flat.single.{variant}");
    let mut rows = results.latency().unwrap();
    rows.retain(|r| r.valid && r.e2e_paper_ns.is_some() && *r.deployment == id && r.block == block);
    assert!(!rows.is_empty(), "{id} in block {block}");
    rows
}

/// The least of a deployment is what nobody disturbed: more counted work takes longer, and later timers do not.
fn injected_work_was_done(dir: &Path, document: &Value) {
    let results = Results::open(dir).unwrap();
    for run in &results.runs {
        assert_eq!(run.status, RunStatus::Finished, "{run:?}");
    }
    let least = |variant: &str| {
        let rows = (1..=BLOCKS).flat_map(|block| rows(&results, variant, block));
        rows.map(|r| r.computation_ns.unwrap()).min().unwrap() as f64
    };
    let (reference, work) = (least("reference"), least("more-work"));
    let injected_ns = document["injected"]["ns"].as_f64().unwrap();
    assert!(
        work > reference + injected_ns / 4.0,
        "{work} ns of computation beside {reference} ns with {injected_ns} ns injected"
    );
    let record = |variant: &str| {
        let mut deployments = results.experiment.deployments.iter();
        deployments
            .find(|d| d.variant.as_deref() == Some(variant))
            .unwrap()
            .injected
            .clone()
    };
    assert_eq!(record("reference"), None);
    let (work, idle) = (record("more-work").unwrap(), record("more-idle").unwrap());
    assert_eq!(
        work.work_factor,
        document["injected"]["work_factor"].as_f64()
    );
    assert_eq!(idle.later_ns, document["injected"]["ns"].as_u64());
    assert_eq!((work.later_ns, idle.work_factor), (None, None));
}

/// From the sensor's release to that of the planner's timer is the difference of their phases, and what is injected.
fn timers_were_released_by_their_phases(dir: &Path, document: &Value) {
    let results = Results::open(dir).unwrap();
    let request = Request::load(dir).unwrap();
    let spec = request.spec().unwrap();
    let spans = request.phase_spans(spec.stack()).unwrap();
    assert_eq!(spans.len(), 2);
    let seed = results.experiment.seed;
    for block in 1..=BLOCKS {
        let phase = |callback, span| {
            let share = phase_share(seed, callback, block - 1, BLOCKS);
            timer_phase_ns(share, PERIOD_NS, Some(span), 0) as f64
        };
        let between = phase(PLANNER_TIMER, &spans[1]) - phase(SCANNER, &spans[0]);
        let later = document["injected"]["ns"].as_f64().unwrap();
        // A tenth of the latency at least, of which most is the wait that the seed gives.
        assert!(later > NOISE_NS, "{later} ns do not stand out");
        for (variant, between) in [("reference", between), ("more-idle", between + later)] {
            let period = PERIOD_NS as f64;
            // A busy machine makes timers late, never early.
            let late = rows(&results, variant, block).into_iter().map(|r| {
                let to_timer = (r.e2e_full_ns.unwrap() - r.computation_ns.unwrap() / 2) as f64;
                (to_timer - between + NOISE_NS).rem_euclid(period) - NOISE_NS
            });
            let least = late.fold(f64::INFINITY, f64::min);
            assert!(
                least < NOISE_NS,
                "{variant}, block {block}: the timer is {least} ns later than by its phase"
            );
        }
    }
}

fn later_reports_tell_it(bench: &Bench, dir: &Path, document: &Value) {
    let kept = bench.state().join("selftest.json");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    assert_eq!(kept, *document);
    assert!(!dir.join("selftest.json").exists());
    let report = ["report", dir.to_str().unwrap(), "--form", "text"];
    let text = ended(bench.command(report)).expect(0).out;
    let flagged = document["counts"][0]["flagged"].as_u64().unwrap();
    assert!(text.contains(&format!("{flagged} of 2 flagged")), "{text}");
    assert!(text.contains("not a measurement of the stack"), "{text}");
    assert!(dir.join("selftest.json").exists(), "kept beside the result");
}

#[test]
fn a_budget_that_is_used_up_judges_nothing() {
    let bench = Bench::new();
    let command = bench.command(["selftest", "--quick", "--budget", "0s"]);
    let ended = ended(command).expect(7);
    assert!(ended.err.contains("after 0 of 42 runs"), "{}", ended.err);
    assert!(
        ended.err.contains("hint: finished runs are kept"),
        "{}",
        ended.err
    );
}

#[test]
fn a_stack_without_a_chain_to_calibrate_with_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let text = std::fs::read_to_string(fixture("tiny.yaml")).unwrap();
    let text = text.replace("planner: { timer: 20Hz", "planner: { timer: 30Hz");
    let stack = bench.write("drifting.yaml", &text);
    let command = bench.command(["selftest", stack.to_str().unwrap()]);
    let ended = ended(command).expect(3);
    assert!(
        ended.err.contains("no chain of stack 'tiny'"),
        "{}",
        ended.err
    );
    assert!(!bench.path().join("results").exists());
}
