//! An ablation of which the truth is known: nothing in it was measured.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use stowplan_judge::Judgement;
use stowplan_results::{
    Ablation, Experiment, Label, LatencyRow, Results, ResultsWriter, RunData, RunRow, RunStatus,
    ScheduledRun, StartKind,
};
use stowplan_stats::Verdict;

use crate::chromium::{self, Session, Window};

const CHAIN: &str = "scan_to_brake";
const BLOCKS: u32 = 8;

/// Deployment, what it adds as a key and for people, and its true ratio to the one before.
type Rung = (&'static str, Option<(&'static str, &'static str)>, f64);

const LADDER: [Rung; 10] = [
    ("bare-flat.modules", None, 1.0),
    (
        "bare-grouped.modules",
        Some(("group_scheduling", "group scheduling")),
        0.8,
    ),
    (
        "oci.modules.no-isolation",
        Some(("runtime", "container runtime alone")),
        1.0,
    ),
    ("oci.modules.up-to-uts", Some(("uts", "UTS namespace")), 1.0),
    ("oci.modules.up-to-ipc", Some(("ipc", "IPC namespace")), 1.0),
    (
        "oci.modules.up-to-mount",
        Some(("mount", "mount namespace, own root")),
        1.05,
    ),
    ("oci.modules.up-to-pid", Some(("pid", "PID namespace")), 1.0),
    (
        "oci.modules.up-to-overlay",
        Some(("overlay", "overlay root")),
        1.0,
    ),
    (
        "oci.modules.up-to-capabilities",
        Some(("capabilities", "fewer capabilities")),
        1.0,
    ),
    ("oci.modules", Some(("seccomp", "seccomp profile")), 1.1),
];

/// The features that deployment number `at` has.
fn features(at: usize) -> Vec<&'static str> {
    let added = LADDER[..=at]
        .iter()
        .filter_map(|(_, adds, _)| Some(adds.as_ref()?.0));
    let mut features: Vec<&str> = added
        .filter(|key| !["group_scheduling", "runtime"].contains(key))
        .collect();
    if at > 0 {
        features.push("cgroup");
    }
    features
}

fn fingerprint(at: usize) -> BTreeMap<String, String> {
    let has = features(at);
    let of = |feature: &str, without: &str, with: &str| {
        let value = if has.contains(&feature) {
            with
        } else {
            without
        };
        value.to_owned()
    };
    let pairs = [
        ("ns.uts", of("uts", "uts:[1]", "4 different values")),
        ("ns.ipc", of("ipc", "ipc:[2]", "4 different values")),
        ("ns.mnt", of("mount", "mnt:[3]", "4 different values")),
        ("ns.pid", of("pid", "pid:[4]", "4 different values")),
        ("ns.net", "net:[5]".to_owned()),
        ("program.mount", of("overlay", "ext4", "overlay")),
        ("root.mount", of("overlay", "ext4 rw", "overlay rw")),
        ("cgroup.cpu", of("cgroup", "/run", "4 different values")),
        ("seccomp.mode", of("seccomp", "0", "2")),
        ("no_new_privs", of("capabilities", "0", "1")),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

fn experiment() -> Experiment {
    let deployments: Vec<_> = LADDER
        .iter()
        .enumerate()
        .map(|(at, (id, ..))| {
            let place = ["bare:flat", "bare:grouped", "oci"][at.min(2)];
            let variant = id.strip_prefix("oci.modules.");
            let label = format!("{place} · modules");
            let isolation: BTreeMap<&str, bool> = features(LADDER.len() - 1)
                .into_iter()
                .filter(|_| at > 1)
                .map(|feature| (feature, features(at).contains(&feature)))
                .collect();
            json!({
                "id": id, "place": place, "partition": "modules", "variant": variant,
                "label": variant.map_or(label.clone(), |v| format!("{label} · {v}")),
                "services": 4, "processes": 7, "participants": 11,
                "isolation": isolation, "fingerprint": fingerprint(at),
            })
        })
        .collect();
    let ablation: Vec<_> = LADDER
        .iter()
        .map(|(id, adds, _)| {
            json!({"deployment": id, "adds": adds.map(|a| a.0), "label": adds.map(|a| a.1)})
        })
        .collect();
    serde_json::from_value(json!({
        "schema": "stowplan.experiment/1", "name": "made-up ablation", "stowplan_version": "0.1.0",
        "created_unix_s": 1_795_169_700_u64,
        "stack": {"name": "hello", "sha256": "00", "nodes": 12, "topics": 9, "chains": [CHAIN]},
        "deployments": deployments, "ablation": ablation, "reference": "bare-flat.modules",
        "blocks_planned": BLOCKS, "seed": 1, "phase": "re-based",
        "metrics": [{"metric": "e2e_paper_mean", "delta": 0.02, "primary": true}],
        "window_s": 10.0,
        "machine": {"host": "bench", "cpus": 2, "cpu_model": "made-up CPU", "memory_bytes": 1_u64 << 34, "kernel": "6.18.0"},
    }))
    .unwrap()
}

/// What differs between runs beside the truth: up to 0.3 %, and none of it by chance.
fn wobble(block: u32, at: usize) -> f64 {
    let step = (block as usize * 7 + at * 5) % 11;
    1.0 + 0.003 * (step as f64 / 10.0 - 0.5)
}

fn write(parent: &Path, breaks: Option<usize>) -> Results {
    let writer = ResultsWriter::create(parent, &experiment()).unwrap();
    let mut number = 0;
    for block in 1..=BLOCKS {
        let mut level = 40e6 * (1.0 + 0.05 * f64::from(block));
        for (at, (id, _, ratio)) in LADDER.iter().enumerate() {
            number += 1;
            level *= ratio;
            let mut data = RunData::of(run(number, block, at, id));
            if breaks == Some(at) {
                data.run.status = RunStatus::Failed;
            } else {
                data.latency = latency(&data.run, level * wobble(block, at));
            }
            writer.write_run(&data).unwrap();
        }
    }
    let dir = writer.dir().to_owned();
    writer.finish().unwrap();
    Results::open(dir).unwrap()
}

fn run(run: u32, block: u32, order: usize, deployment: &str) -> RunRow {
    let scheduled = ScheduledRun {
        run,
        block,
        order: u32::try_from(order).unwrap() + 1,
        deployment: deployment.to_owned(),
        start: StartKind::Warm,
        seed: 1,
    };
    RunRow {
        start_unix_ns: 0,
        window_ns: Some(10_000_000_000),
        calibration_ns: Some(1.0),
        steal: Some(0.0),
        quiet: Some(true),
        events: Some(1),
        discarded: Some(0),
        published: Some(1),
        taken: Some(1),
        lost: Some(0),
        tags: None,
        own_switches: Some(1),
        own_cpu_ns: Some(1),
        ..RunRow::of_scheduled(&scheduled, RunStatus::Finished)
    }
}

fn latency(run: &RunRow, e2e_ns: f64) -> Vec<LatencyRow> {
    let key = (run.run, run.block, Label::clone(&run.deployment));
    let instance = |i: u64| {
        let mut row = LatencyRow::new(key.clone(), CHAIN.into(), i, i.cast_signed() * 50_000_000);
        let e2e = e2e_ns.round() as i64;
        row.e2e_paper_ns = Some(e2e);
        row.e2e_full_ns = Some(e2e);
        row.computation_ns = Some(e2e / 2);
        row.communication_ns = Some(0);
        row.idle_ns = Some(e2e - e2e / 2);
        row.output_ns = Some(row.origin_ns + e2e);
        row.valid = true;
        row
    };
    (0..20).map(instance).collect()
}

fn report(breaks: Option<usize>) -> Judgement {
    let folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    Judgement::read(&write(folder.path(), breaks)).unwrap()
}

fn of<'a>(report: &'a Judgement, metric: &str) -> &'a Ablation {
    let mut all = report.ablations.iter();
    all.find(|a| a.whole.metric == metric).unwrap()
}

#[test]
fn each_addition_gets_its_share_and_nothing_else() {
    let report = report(None);
    let e2e = of(&report, "e2e_paper_mean");
    assert_eq!(report.ablations[0], *e2e, "the primary metric comes first");
    for (step, (id, adds, ratio)) in e2e.steps.iter().zip(&LADDER[1..]) {
        let c = &step.comparison;
        assert_eq!((&*step.adds, &*c.candidate), (adds.unwrap().0, *id));
        assert!(
            (c.difference.unwrap() - (ratio - 1.0)).abs() < 4e-3,
            "{c:?}"
        );
        let expected = match *ratio {
            0.8 => Verdict::Better,
            1.0 => Verdict::Equivalent,
            _ => Verdict::Worse,
        };
        assert_eq!(c.verdict, expected, "{c:?}");
        assert!(c.primary && c.blocks == BLOCKS as usize);
    }
    let whole: f64 = LADDER.iter().map(|(.., ratio)| ratio).product();
    assert!((e2e.whole.difference.unwrap() - (whole - 1.0)).abs() < 4e-3);
}

#[test]
fn the_steps_add_up_to_the_whole() {
    let report = report(None);
    for ablation in &report.ablations {
        let sum: f64 = ablation.steps.iter().map(|s| s.addend).sum();
        let whole = match ablation.whole.relative {
            true => ablation.whole.difference.unwrap().ln_1p(),
            false => ablation.whole.difference.unwrap(),
        };
        assert!((sum - whole).abs() < 1e-12, "{sum} {whole}");
        // What one step ends with the next begins with.
        for pair in ablation.steps.windows(2) {
            let (a, b) = (&pair[0].comparison, &pair[1].comparison);
            assert_eq!(a.candidate_value, b.reference_value);
            assert_eq!(a.candidate, b.reference);
            if b.relative {
                let ratio = b.candidate_value.unwrap() / b.reference_value.unwrap();
                assert!((ratio - 1.0 - b.difference.unwrap()).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn steps_stay_out_of_the_comparisons_with_the_reference() {
    let report = report(None);
    let mut candidates: Vec<&str> = report.comparisons.iter().map(|c| &*c.candidate).collect();
    candidates.sort_unstable();
    candidates.dedup();
    assert_eq!(candidates, ["bare-grouped.modules", "oci.modules"]);
    let asked = report
        .figures
        .comparisons_with(Some("oci.modules.up-to-pid"));
    let asked = asked.unwrap();
    assert!(asked.iter().any(|c| c.candidate == "oci.modules.up-to-uts"));
}

#[test]
fn isolation_is_read_back_and_a_feature_that_is_not_there_is_a_warning() {
    let mut report = report(None);
    for (at, step) in (1..).zip(&of(&report, "e2e_paper_mean").steps) {
        let found = step.isolation_found.iter();
        let on: Vec<&str> = found
            .filter(|(_, on)| **on)
            .map(|(name, _)| &**name)
            .collect();
        let mut expected = features(at);
        expected.sort_unstable();
        assert_eq!(on, expected, "{}", step.adds);
    }
    assert_eq!(report.figures.warnings(), Vec::<String>::new());
    let last = report.figures.experiment.deployments.last_mut().unwrap();
    last.fingerprint.insert("seccomp.mode".into(), "0".into());
    assert_eq!(
        report.figures.warnings(),
        ["oci · modules: isolation feature 'seccomp' was to be on and was off, by its processes"]
    );
}

#[test]
fn without_one_of_its_deployments_there_is_no_attribution() {
    let report = report(Some(4));
    assert!(report.ablations.is_empty());
    assert!(
        report
            .comparisons
            .iter()
            .any(|c| c.candidate == "oci.modules")
    );
}

#[test]
fn the_tables_of_an_ablation() {
    insta::assert_snapshot!(stowplan_report::terminal(&report(None), 120));
}

#[test]
fn the_conclusion_of_an_ablation_names_the_additions_that_change_something() {
    let screen = stowplan_report::Screen {
        width: 100,
        colour: false,
    };
    insta::assert_snapshot!(stowplan_report::conclusion(
        &report(None),
        "report: x",
        screen
    ));
}

#[test]
fn the_page_draws_the_ablation() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ablation.html");
    stowplan_report::write_html(&report(None), &page).unwrap();
    let Some(mut session) = Session::open(&page, Window::WIDE) else {
        return;
    };
    session.unfold();
    let document = session.document();
    chromium::assert_figures(
        &document,
        &["ablation-steps", "differences", "latency-ecdf"],
    );
    assert!(document.contains("+ PID namespace"));
}
