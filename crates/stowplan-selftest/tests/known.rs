//! A selftest whose results are made by hand, so that it is known what has to come out.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests unwrap as the tests do"
)]

use std::path::Path;

use serde_json::json;
use stowplan_measure::lower::callback_number;
use stowplan_measure::phases::phase_share;
use stowplan_results::{
    CallbackRow, Experiment, LatencyRow, ResultsWriter, RunData, RunRow, RunStatus, ScheduledRun,
    Selftest, SelftestKind, StartKind,
};
use stowplan_selftest::{
    Ask, Design, Part, Progress, SelftestError, Target, injected, progress, selftest,
};
use stowplan_testkit::known_engines;

const BLOCKS: u32 = 8;

/// When data arrives at the planner after its release.
const ARRIVAL_NS: f64 = 12e6;

/// What the calibrations say.
const CALIBRATION: f64 = 1.25;

/// How fast work really goes, ns per iteration.
const NS_PER_ITERATION: f64 = 1.3;

fn design() -> Design {
    Design::new(Ask {
        stack_file: "hello.yaml".to_owned(),
        stack_text: stowplan_spec::shipped("hello").unwrap().to_owned(),
        calibration: None,
        place: "bare:flat".to_owned(),
        comparisons: 2,
        blocks: BLOCKS,
        seed: 5,
        warm_up_ns: 1_000_000_000,
        window_ns: 2_000_000_000,
        host_network: false,
        command: vec![],
    })
}

/// Latency of the reference in a block, ns.
fn reference_ns(block: u32) -> f64 {
    36e6 + 1e6 * f64::from(block - 1)
}

/// A zero-sum pattern over the blocks.
fn sign(block: u32) -> f64 {
    if block.is_multiple_of(2) { 1.0 } else { -1.0 }
}

fn experiment(design: &Design, part: Part, host: &str) -> Experiment {
    let stack = design.stack().unwrap();
    let deployments: Vec<_> = design
        .request(part, None)
        .unwrap()
        .deployments(&stack, &known_engines())
        .unwrap()
        .iter()
        .map(|d| {
            let variant = d.variant.as_ref().unwrap().name.to_string();
            json!({
                "id": format!("bare-flat.single.{variant}"), "label": d.label(), "place": "bare:flat",
                "partition": "single", "variant": variant, "services": 1, "processes": 9, "participants": 9,
            })
        })
        .collect();
    let runs = BLOCKS * part.deployments();
    serde_json::from_value(json!({
        "schema": "stowplan.experiment/1", "name": part.name(), "stowplan_version": "0.1.0", "build_id": "b",
        "created_unix_s": 1_795_169_700_u64, "deployments": deployments,
        "reference": "bare-flat.single.reference", "blocks_planned": BLOCKS, "seed": design.seed(part),
        "stack": {"name": "hello", "sha256": "00", "nodes": 12, "topics": 9, "chains": ["lidar_to_brake"]},
        "metrics": [{"metric": "e2e_paper_mean", "delta": 0.02, "primary": true}],
        "window_s": 2.0, "digests": {"stowplan-node": "ab"},
        "machine": {"host": host, "cpus": 2, "cpu_model": "m", "memory_bytes": 1, "kernel": "6.18"},
        "calibration": (1..=BLOCKS).map(|b| json!({"block": b, "ns_per_iteration": CALIBRATION})).collect::<Vec<_>>(),
        "schedule": (1..=runs).map(|run| json!({
            "run": run, "block": 1, "order": 1, "deployment": "d", "start": "warm",
        })).collect::<Vec<_>>(),
    }))
    .unwrap()
}

fn run(number: u32, block: u32, deployment: &str, e2e_ns: f64, idle_ns: f64) -> RunData {
    let scheduled = ScheduledRun {
        run: number,
        block,
        order: 1,
        deployment: deployment.to_owned(),
        start: StartKind::Warm,
        seed: 1,
    };
    let mut data = RunData::of(RunRow {
        start_unix_ns: 0,
        window_ns: Some(2_000_000_000),
        quiet: Some(true),
        events: Some(1),
        discarded: Some(0),
        ..RunRow::of_scheduled(&scheduled, RunStatus::Finished)
    });
    // Two instances a millisecond to either side of the mean.
    data.latency = [-1e6, 1e6]
        .into_iter()
        .zip(0..)
        .map(|(off, instance)| {
            let key = (number, block, deployment.into());
            let origin = 100_000_000 * i64::try_from(instance).unwrap();
            let mut row = LatencyRow::new(key, "lidar_to_brake".into(), instance, origin);
            row.valid = true;
            row.e2e_paper_ns = Some((e2e_ns + off) as i64);
            row.idle_ns = Some((idle_ns + off) as i64);
            row
        })
        .collect();
    data
}

/// What the thread of the callback with the work used.
fn worker(number: u32, block: u32, deployment: &str, cpu_ns: f64) -> CallbackRow {
    CallbackRow {
        node: Some("planner".into()),
        calls: 40,
        wall_mean_ns: cpu_ns + 1e5,
        wall_median_ns: cpu_ns,
        wall_max_ns: 9_000_000,
        cpu_mean_ns: Some(cpu_ns),
        cpu_median_ns: Some(cpu_ns),
        iterations_mean: Some(3e6),
        cpu_iteration_median_ns: Some(cpu_ns / 3e6),
        ..CallbackRow::new((number, block, deployment.into()), "timer".into())
    }
}

/// Writes an experiment; `latency` gives that of each deployment's variant and block.
fn write(
    folder: &Path,
    design: &Design,
    part: Part,
    host: &str,
    latency: &dyn Fn(&str, u32) -> f64,
) {
    let stack = design.stack().unwrap();
    let target = Target::find(&stack).unwrap();
    let experiment = experiment(design, part, host);
    let writer = ResultsWriter::create(folder, &experiment).unwrap();
    let request = design.request(part, None).unwrap();
    request.save(writer.dir()).unwrap();
    let mut number = 0;
    for block in 1..=BLOCKS {
        let phase = |callback, period: f64| {
            let number = callback_number(&stack, callback).unwrap();
            phase_share(experiment.seed, number, block - 1, BLOCKS) * period
        };
        let between = phase(&target.timer, 50e6) - phase(&target.source, 100e6);
        let idle = (between - ARRIVAL_NS).rem_euclid(50e6);
        for deployment in &experiment.deployments {
            number += 1;
            let e2e = latency(deployment.variant.as_deref().unwrap(), block);
            let mut data = run(number, block, &deployment.id, e2e, idle);
            let more = deployment.variant.as_deref() == Some("more-work");
            let injected = design.injected.as_ref().filter(|_| more);
            let injected_ns =
                injected.map_or(0.0, |known| known.work_iterations * NS_PER_ITERATION);
            // A block's machine is faster or slower for all of its runs.
            let cpu_ns = 4e6 + 1e5 * sign(block) + injected_ns;
            data.callbacks = vec![worker(number, block, &deployment.id, cpu_ns)];
            writer.write_run(&data).unwrap();
        }
    }
    writer.finish().unwrap();
}

/// Equal pairs: one with no difference but noise of a thousandth, one that is 2 % longer with the same noise.
fn write_equal(folder: &Path, design: &Design, host: &str) {
    for (number, shift) in [(1, 1.0), (2, 1.02)] {
        write(
            folder,
            design,
            Part::Equal(number),
            host,
            &|variant, block| {
                let factor = if variant == "same" {
                    shift * (1.0 + 0.001 * sign(block))
                } else {
                    1.0
                };
                reference_ns(block) * factor
            },
        );
    }
}

/// A difference of which `seen` is found, with noise of 50 µs.
fn write_injected(folder: &Path, design: &Design, seen: f64) {
    let known = design.injected.clone().unwrap();
    let work_ns = known.work_iterations * NS_PER_ITERATION;
    write(
        folder,
        design,
        Part::Injected(1),
        "bench",
        &|variant, block| {
            let added = match variant {
                "more-work" => work_ns,
                "more-idle" => known.ns as f64,
                _ => 0.0,
            };
            let noise = if variant == "reference" { 0.0 } else { 50e3 };
            reference_ns(block) + added * seen + noise * sign(block)
        },
    );
}

/// A whole selftest in a folder of its own.
fn measured(seen: f64) -> (tempfile::TempDir, Design) {
    let folder = tempfile::tempdir().unwrap();
    let mut design = design();
    write_equal(folder.path(), &design, "bench");
    design.injected = Some(injected(folder.path(), &design).unwrap());
    write_injected(folder.path(), &design, seen);
    (folder, design)
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn the_difference_is_a_tenth_of_the_latency_where_intervals_are_narrow() {
    let (_folder, design) = measured(1.0);
    let known = design.injected.unwrap();
    // By hand: the references have a mean of 39.5 ms, the candidates of 1.00 and 1.02 times that; the noise adds
    // 4 blocks × 1 ms × 0.001 more than it takes.
    let mean = (39.5e6 * 2.0 + (39.5e6 + 500.0) * 2.02) / 4.0;
    assert_eq!(known.share, 0.1);
    assert!((known.ns as f64 - 0.1 * mean).abs() <= 1.0, "{known:?}");
    assert_eq!(known.ns_per_iteration, 1.25);
    near(known.work_iterations, known.ns as f64 / 1.25);
    near(known.work_factor, 1.0 + known.ns as f64 / 1.25 / 3e6);
    let off = known.arrival_ns as f64 - ARRIVAL_NS;
    assert!(off.abs() <= 2.0, "{off} ns off the arrival");
}

/// The chain shows 4 % more than the thread's CPU time, some 160 µs: an interval of ± 45 µs does not hold that.
#[test]
fn a_chain_that_shows_more_than_was_injected_is_not_covered() {
    let (folder, design) = measured(1.04);
    let selftest = selftest(folder.path(), &design).unwrap();
    let work = selftest.of_kind(SelftestKind::Work).unwrap();
    assert_eq!((work.flagged_longer, work.covered), (1, 0));
}

#[test]
fn what_is_known_is_found() {
    let (folder, design) = measured(1.0);
    let selftest = selftest(folder.path(), &design).unwrap();
    let of = |kind| *selftest.of_kind(kind).unwrap();
    let equal = of(SelftestKind::Equal);
    assert_eq!((equal.compared, equal.flagged), (2, 1));
    assert_eq!((equal.flagged_longer, equal.covered), (1, 1));
    for kind in [SelftestKind::Work, SelftestKind::Idle] {
        let counts = of(kind);
        assert_eq!(
            (counts.compared, counts.flagged_longer, counts.covered),
            (1, 1, 1)
        );
    }
    assert!(selftest.passed, "{:#?}", selftest.criteria);
    let known = design.injected.as_ref().unwrap();
    let [first, second, work, idle] = &selftest.comparisons[..] else {
        panic!("{:#?}", selftest.comparisons);
    };
    assert_eq!((first.flagged, second.flagged), (false, true));
    assert_eq!(first.result, "equal-01-20261120T101500Z");
    near(second.difference, 0.02);
    // By the CPU time of the callback, not by a calibration.
    near(work.injected_ns, known.work_iterations * NS_PER_ITERATION);
    near(idle.injected_ns, known.ns as f64);
    for comparison in [work, idle] {
        assert!((comparison.difference_ns - comparison.injected_ns).abs() < 1.0);
        assert_eq!(comparison.blocks, u64::from(BLOCKS));
    }
    // By hand: noise of ±50 µs in 8 blocks has a standard error of 50 µs / √7; t(0.975, 7) = 2.364624.
    let reach = 2.364_624 * 50e3 / 7.0_f64.sqrt();
    assert!(((idle.high_ns - idle.low_ns) / 2.0 - reach).abs() < 1.0);
    let path = folder.path().join("selftest.json");
    selftest.save(&path).unwrap();
    assert_eq!(Selftest::load(&path).unwrap(), Some(selftest));
}

#[test]
fn a_difference_that_is_not_seen_does_not_pass() {
    let (folder, design) = measured(0.0);
    let selftest = selftest(folder.path(), &design).unwrap();
    let failed = selftest.criteria.iter().filter(|c| !c.passed);
    let failed: Vec<&str> = failed.map(|c| &*c.name).collect();
    assert_eq!(failed, ["work-flagged", "idle-flagged", "covered"]);
    assert!(!selftest.passed);
}

#[test]
fn experiments_of_two_machines_are_not_judged_together() {
    let folder = tempfile::tempdir().unwrap();
    let mut design = design();
    write_equal(folder.path(), &design, "another");
    design.injected = Some(injected(folder.path(), &design).unwrap());
    write_injected(folder.path(), &design, 1.0);
    let error = selftest(folder.path(), &design).unwrap_err();
    assert!(
        matches!(error, SelftestError::OtherStation { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("injected-01"), "{error}");
}

#[test]
fn what_is_not_measured_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let design = design();
    let at = |part| progress(folder.path(), part).unwrap();
    assert_eq!(at(Part::Equal(1)), Progress::NotBegun);
    let error = injected(folder.path(), &design).unwrap_err();
    assert!(error.to_string().contains("it was not begun"), "{error}");
    write_equal(folder.path(), &design, "bench");
    assert_eq!(at(Part::Equal(1)), Progress::Done);
    assert_eq!(at(Part::Injected(1)), Progress::NotBegun);
}
