//! What got slower, by figures that were made by hand: one deployment beside its reference, in two results.

use std::path::Path;

use serde_json::{Value, json};
use stowplan_judge::{JudgeError, Judgement, across, again, can_compare, pair};
use stowplan_report::{regression_lines, slower_lines, write_html};
use stowplan_results::{
    CallbackRow, Comparisons, EarlierResult, Experiment, Label, LatencyRow, Results, ResultsWriter,
    RunData, RunRow, RunStatus, ScheduledRun, Slower, StartKind,
};
use stowplan_stats::Verdict;

use crate::chromium;

const CHAIN: &str = "camera to brake";
const BLOCKS: u32 = 6;
const INPUTS: u64 = 20;

/// What a run of a deployment takes, in ns.
#[derive(Clone, Copy)]
struct Times {
    computation: i64,
    wait: i64,
    /// Wall and CPU time of a call of the detector.
    call: [f64; 2],
    /// Of 20 inputs, how many a newer one replaces.
    lost: u64,
}

const QUICK: Times = Times {
    computation: 30_000_000,
    wait: 1_000_000,
    call: [28e6, 27e6],
    lost: 0,
};

/// Held back by a quota: the same CPU time takes longer.
const SLOW: Times = Times {
    computation: 70_000_000,
    wait: 4_000_000,
    call: [66e6, 27e6],
    lost: 0,
};

fn experiment(ids: &[&str]) -> Experiment {
    let deployments = ids.iter().map(|id| {
        let (place, partition) = id.split_once('/').unwrap();
        json!({
            "id": id, "label": format!("{place} · {partition}"), "place": place, "partition": partition,
            "services": 1, "processes": 2, "participants": 2,
        })
    });
    serde_json::from_value(json!({
        "schema": "stowplan.experiment/1", "name": "made by hand", "stowplan_version": "0.1.0",
        "created_unix_s": 1_795_169_700_u64,
        "stack": {
            "name": "camera", "sha256": "9b74c989", "nodes": 3, "topics": 2, "chains": [CHAIN],
            "chain_callbacks": {CHAIN: ["camera/timer", "detector/on_image"]},
        },
        "partitions": [
            {"name": "single", "services": ["all"], "nodes": {"camera": "all", "detector": "all"}},
            {"name": "modules", "services": ["sensing", "perception"],
             "nodes": {"camera": "sensing", "detector": "perception"}},
        ],
        "deployments": deployments.collect::<Vec<Value>>(), "reference": ids[0],
        "blocks_planned": BLOCKS, "seed": 1, "phase": "re-based", "window_s": 2.0,
        "metrics": [{"metric": "e2e_paper_mean", "delta": 0.02, "primary": true}],
        "machine": {"host": "bench", "cpus": 2, "cpu_model": "made up", "memory_bytes": 1, "kernel": "6.18.0"},
    }))
    .unwrap()
}

fn latency(key: &(u32, u32, Label), times: Times, late: i64) -> Vec<LatencyRow> {
    let row = |i: u64| {
        let mut row = LatencyRow::new(
            key.clone(),
            CHAIN.into(),
            i,
            100_000_000 * i64::try_from(i).unwrap(),
        );
        if i < times.lost {
            row.overwritten = true;
            return row;
        }
        let parts = [times.computation + late, 200_000, 300_000, times.wait, 0];
        let e2e: i64 = parts.iter().sum();
        let known = parts.map(Some);
        [
            row.computation_ns,
            row.send_ns,
            row.transport_ns,
            row.wait_ns,
            row.idle_ns,
        ] = known;
        row.communication_ns = Some(e2e - parts[0]);
        row.e2e_paper_ns = Some(e2e);
        row.output_ns = Some(row.origin_ns + e2e);
        row
    };
    (0..INPUTS).map(row).collect()
}

fn calls(key: &(u32, u32, Label), [wall, cpu]: [f64; 2], late: f64) -> Vec<CallbackRow> {
    let row = |node: &str, callback: &str, wall: f64, cpu: f64| CallbackRow {
        node: Some(node.into()),
        calls: INPUTS,
        wall_mean_ns: wall,
        wall_median_ns: wall,
        cpu_mean_ns: Some(cpu),
        cpu_median_ns: Some(cpu),
        ..CallbackRow::new(key.clone(), callback.into())
    };
    vec![
        row("camera", "timer", 1e6, 1e6),
        row("detector", "on_image", wall + late, cpu),
        // Grows more than all, and is not of the chain.
        row("logger", "timer", 10.0 * wall, cpu),
    ]
}

/// A result below `parent` in which these deployments took these times.
fn write(parent: &Path, deployments: &[(&str, Option<Times>)]) -> Results {
    let experiment = experiment_of(deployments);
    fill(
        ResultsWriter::create(parent, &experiment).unwrap(),
        deployments,
    )
}

fn experiment_of(deployments: &[(&str, Option<Times>)]) -> Experiment {
    let ids: Vec<&str> = deployments.iter().map(|(id, _)| *id).collect();
    experiment(&ids)
}

fn fill(writer: ResultsWriter, deployments: &[(&str, Option<Times>)]) -> Results {
    let mut run = 0;
    for block in 1..=BLOCKS {
        for (order, (id, times)) in (1..).zip(deployments) {
            run += 1;
            let key = (run, block, Label::from(*id));
            let mut data = RunData::of(run_row(&key, order));
            if let Some(times) = times {
                // Differs from block to block, and cancels in each.
                let late = 20_000 * i64::from(block);
                data.latency = latency(&key, *times, late);
                data.callbacks = calls(&key, times.call, late as f64);
            }
            writer.write_run(&data).unwrap();
        }
    }
    writer.finish().unwrap()
}

fn run_row(key: &(u32, u32, Label), order: u32) -> RunRow {
    let scheduled = ScheduledRun {
        run: key.0,
        block: key.1,
        order,
        deployment: key.2.to_string(),
        start: StartKind::Warm,
        seed: 1,
    };
    RunRow {
        start_unix_ns: 0,
        window_ns: Some(2_000_000_000),
        quiet: Some(true),
        ..RunRow::of_scheduled(&scheduled, RunStatus::Finished)
    }
}

const REFERENCE: (&str, Option<Times>) = ("bare:flat/single", Some(QUICK));
const CANDIDATE: &str = "oci/modules";

/// The candidate in an earlier and a later result.
fn held(before: Times, after: Option<Times>) -> Comparisons {
    let folder = tempfile::tempdir().unwrap();
    let of = |times| write(folder.path(), &[REFERENCE, (CANDIDATE, times)]);
    across(&of(Some(before)), &of(after)).unwrap()
}

/// The same beside an earlier experiment that was measured again in the same blocks.
fn beside(
    parent: &Path,
    before: &[(&str, Option<Times>)],
    after: &[(&str, Option<Times>)],
) -> Results {
    let mut experiment = experiment_of(after);
    experiment.against = Some(EarlierResult {
        result: "camera-then".to_owned(),
        created_unix_s: 1,
        build_id: "then".to_owned(),
        measured_again: true,
    });
    let writer = ResultsWriter::create(parent, &experiment).unwrap();
    let earlier = ResultsWriter::create_before(&writer, &experiment_of(before)).unwrap();
    fill(earlier, before);
    fill(writer, after)
}

/// The part and the callback that grew most, each with its growth in ns.
fn grown(slower: &Slower) -> [(&str, f64); 2] {
    let (part, callback) = (&slower.parts[0], &slower.callbacks[0]);
    [
        (&part.part, part.growth.difference_ns),
        (&callback.callback, callback.wall.difference_ns),
    ]
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1.0, "{a} {b}");
}

#[test]
fn the_part_and_the_callback_that_grew_most_are_named() {
    let verdicts = held(QUICK, Some(SLOW));
    let [slower] = &verdicts.slower[..] else {
        panic!("{:?}", verdicts.slower)
    };
    assert_eq!(slower.chain, CHAIN);
    assert_eq!(slower.metrics, ["e2e_paper_mean"]);
    assert_eq!(slower.candidate, "oci/modules (after)");
    let [(part, by), (callback, call_by)] = grown(slower);
    assert_eq!((part, callback), ("computation", "detector/on_image"));
    near(by, 40e6);
    near(call_by, 38e6);
    let names: Vec<&str> = slower.parts.iter().map(|p| &*p.part).collect();
    assert_eq!(names, ["computation", "wait", "idle", "send", "transport"]);
    near(slower.parts[1].growth.difference_ns, 3e6);
    let callback = &slower.callbacks[0];
    assert_eq!(callback.service.as_deref(), Some("perception"));
    near(callback.cpu.unwrap().difference_ns, 0.0);
    // The callback that is not of the chain is not among them.
    assert_eq!(slower.callbacks.len(), 2);
    // Equal drift in reference and candidate cancels, so that the interval is a point.
    near(callback.wall.low_ns.unwrap(), 38e6);
    near(callback.wall.high_ns.unwrap(), 38e6);
    near(callback.wall.before_ns, 28e6 + 70_000.0);
    let lines = slower_lines(&verdicts.slower);
    assert_eq!(
        lines,
        [
            "camera to brake on oci/modules: computation grew most, +40.00 ms (+40.00 ms … +40.00 ms); callback \
          detector/on_image of service 'perception', +38.00 ms (+38.00 ms … +38.00 ms), its CPU time +0.00 µs \
          (+0.00 µs … +0.00 µs)"
        ]
    );
}

#[test]
fn what_grew_is_told_of_two_deployments_of_one_result_too() {
    let folder = tempfile::tempdir().unwrap();
    // A statement about containers needs its controls beside it.
    let controls = ["bare:flat/modules", "bare:grouped/modules"].map(|id| (id, Some(QUICK)));
    let [flat, grouped] = controls;
    let all = [REFERENCE, flat, grouped, (CANDIDATE, Some(SLOW))];
    let results = write(folder.path(), &all);
    let verdicts = pair(&results, REFERENCE.0, CANDIDATE).unwrap();
    let [(part, by), (callback, _)] = grown(&verdicts.slower[0]);
    assert_eq!((part, callback), ("computation", "detector/on_image"));
    near(by, 40e6);
    let slower = Judgement::read(&results).unwrap().slower;
    let [told] = &verdicts.slower[..] else {
        panic!("{:?}", verdicts.slower);
    };
    assert!(slower.contains(told), "{slower:?}");
    // The other way round nothing is slower.
    let verdicts = pair(&results, CANDIDATE, REFERENCE.0).unwrap();
    assert!(verdicts.slower.is_empty(), "{:?}", verdicts.slower);
}

#[test]
fn one_that_is_as_it_was_is_no_regression() {
    for times in [QUICK, SLOW] {
        let verdicts = held(times, Some(times));
        assert!(regression_lines(&verdicts).is_empty());
        assert!(verdicts.slower.is_empty());
    }
    assert!(regression_lines(&held(SLOW, Some(QUICK))).is_empty());
}

#[test]
fn a_regression_is_named_with_its_interval() {
    let told = regression_lines(&held(QUICK, Some(SLOW)));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("E2E mean, camera to brake on oci/modules: +136."),
        "{told:?}"
    );
}

#[test]
fn more_lost_inputs_are_a_regression_although_the_latency_is_not_compared() {
    let verdicts = held(QUICK, Some(Times { lost: 8, ..SLOW }));
    let mut all = verdicts.comparisons.iter();
    let e2e = all.find(|c| c.metric == "e2e_paper_mean").unwrap();
    assert_eq!(e2e.verdict, Verdict::LostInputsDiffer);
    assert!(
        e2e.verdict_reason.contains("of different inputs"),
        "{e2e:?}"
    );
    let told = regression_lines(&verdicts);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("inputs without an output, camera to brake on oci/modules: +40.0 %")
    );
    assert_eq!(verdicts.slower[0].metrics, ["inputs_without_output"]);
    assert_eq!(grown(&verdicts.slower[0])[1].0, "detector/on_image");
}

#[test]
fn a_chain_of_which_nothing_is_left_is_a_regression() {
    let told = regression_lines(&held(QUICK, None));
    assert_eq!(
        told,
        ["E2E mean, camera to brake on oci/modules: the later result has no value of it"]
    );
}

#[test]
fn what_was_measured_again_is_compared_with_itself_block_by_block() {
    let folder = tempfile::tempdir().unwrap();
    let before = [
        REFERENCE,
        (CANDIDATE, Some(QUICK)),
        ("lxc/modules", Some(QUICK)),
    ];
    let after = [REFERENCE, (CANDIDATE, Some(SLOW))];
    let later = beside(folder.path(), &before, &after);
    let verdicts = again(&later).unwrap().unwrap();
    assert!(verdicts.against.as_ref().unwrap().measured_again);
    let primary = verdicts.comparisons.iter().filter(|c| c.primary);
    let primary: Vec<_> = primary
        .map(|c| (&*c.reference, &*c.candidate, c.verdict))
        .collect();
    let named = |id: &str| [format!("{id} (before)"), format!("{id} (after)")];
    let [reference, candidate] = [named(REFERENCE.0), named(CANDIDATE)];
    // The reference too: it needs none to stay as it is. What only one of both deployed is not among them.
    assert_eq!(
        primary,
        [
            (&*reference[0], &*reference[1], Verdict::Equivalent),
            (&*candidate[0], &*candidate[1], Verdict::Worse),
        ]
    );
    let [slower] = &verdicts.slower[..] else {
        panic!("{:?}", verdicts.slower)
    };
    let [(part, by), (callback, call_by)] = grown(slower);
    assert_eq!((part, callback), ("computation", "detector/on_image"));
    near(by, 40e6);
    near(call_by, 38e6);
    near(slower.parts[0].growth.low_ns.unwrap(), 40e6);
    near(slower.parts[0].growth.high_ns.unwrap(), 40e6);

    later.keep(&verdicts).unwrap();
    let text = stowplan_report::markdown(&Judgement::read(&later).unwrap());
    assert!(text.contains("## Against camera-then"), "{text}");
    assert!(text.contains("itself as it was, measured again in the same blocks"));
    // A result alone has nothing beside it.
    let alone = write(folder.path(), &[REFERENCE]);
    assert!(again(&alone).unwrap().is_none());
}

#[test]
fn what_is_gone_or_lost_beside_what_was_measured_again_is_a_regression() {
    let folder = tempfile::tempdir().unwrap();
    let told = |after: Option<Times>| {
        let before = [REFERENCE, (CANDIDATE, Some(QUICK))];
        let later = beside(folder.path(), &before, &[REFERENCE, (CANDIDATE, after)]);
        regression_lines(&again(&later).unwrap().unwrap())
    };
    assert_eq!(told(Some(QUICK)), [""; 0]);
    assert_eq!(
        told(None),
        ["E2E mean, camera to brake on oci/modules: the later result has no value of it"]
    );
    let lost = told(Some(Times { lost: 8, ..SLOW }));
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].starts_with("inputs without an output"), "{lost:?}");
}

#[test]
fn results_without_a_deployment_to_compare_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let both = write(folder.path(), &[REFERENCE, (CANDIDATE, Some(QUICK))]);
    let alone = write(folder.path(), &[REFERENCE]);
    for (old, new) in [(&both, &alone), (&alone, &both)] {
        let planned = can_compare(old, &new.experiment).unwrap_err();
        assert!(matches!(&planned, JudgeError::NothingInCommon { .. }));
        assert!(planned.hint().unwrap().contains("reference"));
        let measured = across(old, new).unwrap_err();
        assert_eq!(planned.to_string(), measured.to_string());
    }
    can_compare(&both, &both.experiment).unwrap();
    let other = write(folder.path(), &[(CANDIDATE, Some(QUICK))]);
    let error = can_compare(&both, &other.experiment).unwrap_err();
    assert!(matches!(&error, JudgeError::ReferenceGone { .. }));
    assert!(error.to_string().contains("bare:flat/single"), "{error}");
    let mut refused = both.experiment.clone();
    refused.deployments[1].refused = Some("no daemon".to_owned());
    assert!(can_compare(&both, &refused).is_err());
    // What is skipped on purpose is compared no more, where there is something else.
    let more = write(
        folder.path(),
        &[
            REFERENCE,
            (CANDIDATE, Some(QUICK)),
            ("lxc/modules", Some(QUICK)),
        ],
    );
    let mut refused = more.experiment.clone();
    refused.deployments[2].refused = Some("no lxc-execute".to_owned());
    can_compare(&more, &refused).unwrap();
}

/// The later of two results, with the verdicts kept beside it.
fn kept(folder: &Path) -> Results {
    let of = |times| write(folder, &[REFERENCE, (CANDIDATE, Some(times))]);
    let (old, new) = (of(QUICK), of(SLOW));
    new.keep(&across(&old, &new).unwrap()).unwrap();
    new
}

#[test]
fn verdicts_that_are_kept_are_in_the_printed_report() {
    let folder = tempfile::tempdir().unwrap();
    let text = stowplan_report::markdown(&Judgement::read(&kept(folder.path())).unwrap());
    let against = text.split("## Against made-by-hand-").nth(1).unwrap();
    let rows: Vec<&str> = against.lines().filter(|l| l.starts_with("| ")).collect();
    let of_call = "| camera to brake, oci · modules | detector/on_image (perception) | 28.07 ms | 66.07 ms | +38.00 ms | \
                   +38.00 ms … +38.00 ms |";
    assert!(rows.contains(&of_call), "{rows:#?}");
    let verdict = rows
        .iter()
        .find(|r| r.starts_with("| E2E mean, camera to brake * ! |"));
    assert!(verdict.unwrap().ends_with("| 6 | worse |"), "{rows:#?}");
}

#[test]
fn the_page_has_what_got_slower() {
    let folder = tempfile::tempdir().unwrap();
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-against.html");
    write_html(&Judgement::read(&kept(folder.path())).unwrap(), &page).unwrap();
    let Some(document) = chromium::opened(&page) else {
        return;
    };
    assert!(document.contains("data-ready=\"true\""));
    chromium::assert_figures(&document, &["differences"]);
    for text in [
        "Against an earlier result",
        "1 regression:",
        "<li>E2E mean, camera to brake on oci/modules: +136.",
        "What got slower",
        "detector/on_image, CPU time",
        "<td>perception</td>",
        "+38.00 ms",
    ] {
        assert!(document.contains(text), "{text}");
    }
}
