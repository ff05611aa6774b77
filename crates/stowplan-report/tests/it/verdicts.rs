//! Verdicts that are taken back, and comparisons across results.

use std::collections::BTreeSet;
use std::fs;

use stowplan_judge::{JudgeError, Judgement, across};
use stowplan_model::METRICS;
use stowplan_results::{
    CALLBACK_CPU, ColdState, Comparison, Effect, LimitsRecord, MetricPlan, NEIGHBOURS, PREEMPTION,
    PlaceRecord, Results, RunStatus,
};
use stowplan_stats::Verdict;

use crate::common;

const SIZE: common::Size = common::Size {
    blocks: 8,
    instances: 400,
    samples: 8,
};

fn results() -> (tempfile::TempDir, Results) {
    let folder = common::folder();
    let dir = common::write(folder.path(), SIZE);
    (folder, Results::open(dir).unwrap())
}

fn find<'a>(
    all: &'a [Comparison],
    metric: &str,
    reference: &str,
    candidate: &str,
) -> &'a Comparison {
    let fits = |c: &&Comparison| {
        c.metric == metric && c.reference == reference && c.candidate == candidate
    };
    all.iter().find(fits).unwrap()
}

#[test]
fn effects_are_told_apart() {
    let report = Judgement::read(&results().1).unwrap();
    let effect = |a, b| find(&report.comparisons, "e2e_paper_mean", a, b).effect;
    assert_eq!(
        effect("bare:flat/single", "bare:flat/betz-8"),
        Effect::Splitting
    );
    assert_eq!(
        effect("bare:flat/betz-8", "bare:grouped/betz-8"),
        Effect::GroupScheduling
    );
    assert_eq!(
        effect("bare:grouped/betz-8", "oci/betz-8"),
        Effect::Isolation
    );
    assert_eq!(effect("bare:flat/single", "oci/betz-8"), Effect::Total);
}

/// What an engine says of its places decides, not how it is called: `bare` and `oci` under other names.
#[test]
fn no_name_of_an_engine_decides_a_verdict() {
    let rename = |text: &str| text.replace("bare", "plain").replace("oci", "boxes");
    let before = Judgement::read(&results().1).unwrap();
    let (_folder, mut results) = results();
    for d in &mut results.experiment.deployments {
        d.place = rename(&d.place);
        d.label = rename(&d.label);
        let facts = d.facts.as_mut().unwrap();
        facts.flat = facts.flat.as_deref().map(rename);
        facts.controls = facts.controls.iter().map(|place| rename(place)).collect();
    }
    let after = Judgement::read(&results).unwrap();
    let told = |report: &Judgement| {
        let all = report.comparisons.iter();
        let all = all.map(|c| {
            let text = serde_json::to_string(&(c.effect, c.verdict, &c.verdict_reason)).unwrap();
            rename(&format!(
                "{} {} {} {text}",
                c.metric, c.reference, c.candidate
            ))
        });
        all.collect::<Vec<_>>()
    };
    assert!(told(&before).iter().any(|c| c.contains("isolation")));
    assert_eq!(told(&before), told(&after));
    let warnings = |report: &Judgement| {
        report
            .figures
            .warnings()
            .iter()
            .map(|w| rename(w))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&before), warnings(&after));
}

#[test]
fn each_place_is_held_against_plain_processes_at_its_own_partition() {
    let mut report = Judgement::read(&results().1).unwrap();
    let c = find(
        &report.comparisons,
        "e2e_paper_mean",
        "bare:flat/betz-8",
        "oci/betz-8",
    );
    assert_eq!((c.effect, c.primary), (Effect::Total, false));
    let answers = |c: &&Comparison| c.primary;
    let primary: Vec<_> = report.comparisons.iter().filter(answers).collect();
    assert!(primary.iter().all(|c| c.reference == "bare:flat/single"));

    // A deployment of another variant is not the same with other isolation.
    let all = report.figures.experiment.deployments.iter_mut();
    all.filter(|d| d.id == "oci/betz-8")
        .for_each(|d| d.variant = Some("native".to_owned()));
    let all = report.figures.comparisons_with(None).unwrap();
    let is_held = |c: &Comparison| c.reference == "bare:flat/betz-8" && c.candidate == "oci/betz-8";
    assert!(!all.iter().any(is_held));
}

#[test]
fn without_bare_flat_places_stand_beside_their_control_alone() {
    let mut report = Judgement::read(&results().1).unwrap();
    skip(&mut report, "bare:flat/betz-8");
    report.comparisons = report.figures.comparisons_with(None).unwrap();
    let text = stowplan_report::markdown(&report);
    let from = text.find("## Places, partition betz-8").unwrap();
    let table = text[from..].split("\n\n").nth(2).unwrap();
    assert!(table.contains("| oci of bare:grouped | "), "{table}");
    assert!(!table.contains("bare:flat"), "{table}");
    assert!(!table.contains("| oci | "), "{table}");
}

/// Every verdict of the containers at `betz-8` against plain processes, by what is done to the report before.
fn verdicts(change: impl FnOnce(&mut Judgement)) -> Vec<Comparison> {
    let mut report = Judgement::read(&results().1).unwrap();
    change(&mut report);
    let mut all = report.figures.comparisons_with(None).unwrap();
    all.retain(|c| c.reference.starts_with("bare:flat") && c.candidate == "oci/betz-8");
    all
}

#[test]
fn of_a_deployment_that_was_never_cold_every_view_says_so() {
    let (_folder, mut results) = results();
    let runs = results.runs.iter_mut();
    for run in runs.filter(|run| &*run.deployment == "oci/betz-8") {
        run.cold = Some(ColdState::Failed);
        run.cold_reason = Some("the files are hidden".into());
    }
    let report = Judgement::read(&results).unwrap();
    let told = "no start of oci · betz-8 was cold: the files are hidden";
    let of = |subject: &str| {
        let all = report.comparisons.iter().filter(|c| {
            (&*c.metric, &*c.candidate) == ("startup_first_output", "oci/betz-8")
                && c.subject.as_deref() == Some(subject)
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(of("cold").len(), of("rerun").len());
    for c in of("cold") {
        assert_eq!((c.difference, c.blocks), (None, 0));
        assert_eq!(c.verdict, Verdict::Inconclusive);
        assert_eq!(c.verdict_reason, told);
    }
    assert!(of("rerun").iter().all(|c| c.difference.is_some()));
    let warning = "oci · betz-8 was not cold, left out of cold start-up: the files are hidden";
    for text in [
        stowplan_report::terminal(&report, 400),
        stowplan_report::markdown(&report),
    ] {
        assert!(text.contains(warning), "{text}");
        let from = text.find("Start-up, cold").unwrap();
        let mut row = text[from..].lines();
        let row = row.find(|line| line.contains("oci · betz-8")).unwrap();
        assert!(row.contains("0 of 8"), "{row}");
    }
    let page = stowplan_report::html(&report).unwrap();
    assert!(page.contains(told) && page.contains(warning));
}

fn skip(report: &mut Judgement, deployment: &str) {
    let runs = report.figures.runs.iter_mut();
    runs.filter(|r| &*r.deployment == deployment)
        .for_each(|run| run.status = RunStatus::Skipped);
}

#[test]
fn a_statement_about_containers_needs_both_controls() {
    let whole = verdicts(|_| ());
    for verdict in [Verdict::Better, Verdict::Worse, Verdict::Equivalent] {
        assert!(whole.iter().any(|c| c.verdict == verdict), "{verdict}");
    }
    for control in ["bare:grouped/betz-8", "bare:flat/betz-8"] {
        let without = verdicts(|report| skip(report, control));
        assert!(!without.is_empty());
        for c in &without {
            assert!(!c.verdict.is_decided(), "{c:?}");
        }
        assert!(without.iter().any(|c| c.verdict == Verdict::NoControl));
        let (place, _) = control.split_once('/').unwrap();
        let told = format!("without {place} of partition betz-8");
        assert!(without.iter().any(|c| c.verdict_reason.contains(&told)));
    }
}

#[test]
fn a_control_of_another_variant_is_none() {
    let variant = |report: &mut Judgement, ids: &[&str]| {
        let all = report.figures.experiment.deployments.iter_mut();
        all.filter(|d| ids.contains(&&*d.id))
            .for_each(|d| d.variant = Some("native".to_owned()));
    };
    let own = ["oci/betz-8", "bare:flat/betz-8"];
    let other = verdicts(|report| variant(report, &own));
    assert!(other.iter().all(|c| !c.verdict.is_decided()));
    let same = [&own[..], &["bare:grouped/betz-8"]].concat();
    let same = verdicts(|report| variant(report, &same));
    assert!(same.iter().any(|c| c.verdict.is_decided()));
}

#[test]
fn groups_that_lie_otherwise_are_said_beside_a_verdict() {
    let place = |report: &mut Judgement, id: &str, place: &str| {
        let all = report.figures.experiment.deployments.iter_mut();
        all.filter(|d| d.id == id).for_each(|d| {
            place.clone_into(&mut d.place);
            d.facts = Some(PlaceRecord::of_older_result(place));
        });
    };
    let told = "bare:grouped lie otherwise";
    let plain = verdicts(|report| place(report, "oci/betz-8", "lxd"));
    assert!(plain.iter().any(|c| c.verdict == Verdict::Better));
    assert!(plain.iter().any(|c| c.verdict_reason.contains(told)));
    let own = verdicts(|report| {
        place(report, "oci/betz-8", "lxd");
        place(report, "bare:grouped/betz-8", "bare:grouped-lxd");
    });
    assert!(own.iter().any(|c| c.verdict == Verdict::Better));
    assert!(!own.iter().any(|c| c.verdict_reason.contains(told)));
}

#[test]
fn a_report_says_which_controls_are_missing() {
    let mut report = Judgement::read(&results().1).unwrap();
    let told = |report: &Judgement| {
        let mut all = report.figures.warnings();
        all.retain(|text| text.contains("no statement against bare metal"));
        all
    };
    let single = "oci · single: no statement against bare metal without bare:grouped of partition single in the same experiment";
    assert_eq!(told(&report), [single]);
    skip(&mut report, "bare:flat/betz-8");
    assert_eq!(told(&report).len(), 2);
}

#[test]
fn natural_phases_give_no_verdict_on_idle() {
    let mut report = Judgement::read(&results().1).unwrap();
    report.figures.experiment.phase = Some("natural".to_owned());
    let all = report.figures.comparisons_with(None).unwrap();
    let pair = ("bare:flat/betz-8", "bare:grouped/betz-8");
    for metric in ["e2e_paper_mean", "idle_mean"] {
        assert_eq!(
            find(&all, metric, pair.0, pair.1).verdict,
            Verdict::Inconclusive
        );
    }
    let computation = find(&all, "computation_mean", pair.0, pair.1);
    assert_eq!(computation.verdict, Verdict::Better);
}

#[test]
fn different_loss_is_not_compared() {
    let mut report = Judgement::read(&results().1).unwrap();
    let grouped = report.figures.latency.iter_mut();
    for chain in grouped.filter(|c| c.deployment == "bare:grouped/betz-8") {
        chain.without_output += chain.inputs / 10;
    }
    let all = report.figures.comparisons_with(None).unwrap();
    let c = find(
        &all,
        "computation_mean",
        "bare:flat/betz-8",
        "bare:grouped/betz-8",
    );
    assert_eq!(c.verdict, Verdict::LostInputsDiffer);
    assert!(c.verdict_reason.starts_with("no output rests on"), "{c:?}");
}

#[test]
fn what_the_blocks_without_marked_runs_say_stands_beside() {
    let mut report = Judgement::read(&results().1).unwrap();
    let pair = ("bare:flat/single", "oci/betz-8");
    let clear = |report: &mut Judgement| {
        for run in &mut report.figures.runs {
            (run.steal, run.changed) = (Some(0.005), None);
        }
    };
    clear(&mut report);
    let found = |report: &Judgement| {
        let all = report.figures.comparisons_with(None).unwrap();
        find(&all, "e2e_paper_mean", pair.0, pair.1).clone()
    };
    let all = found(&report);
    assert_eq!((all.verdict, all.unmarked), (Verdict::Better, None));

    // Each run of a block marks it, once; those of other deployments do not.
    for run in &mut report.figures.runs {
        match (&*run.deployment, run.block) {
            ("bare:flat/single", 4) | ("oci/single", 5) => run.steal = Some(0.0051),
            ("oci/betz-8", 4 | 6) => run.changed = Some("thp: 1, now 0".into()),
            _ => {}
        }
    }
    let marked = found(&report);
    let clean = marked.unmarked.unwrap();
    assert_eq!(clean.blocks, marked.blocks - 2);
    assert_eq!(
        marked.difference, all.difference,
        "the figure itself is of all"
    );
    assert_ne!(clean.difference, all.difference);
    assert!(
        marked
            .verdict_reason
            .contains("; without 2 blocks that have a marked run: ")
    );

    clear(&mut report);
    let of_candidate = report
        .figures
        .runs
        .iter_mut()
        .filter(|r| *r.deployment == *pair.1);
    of_candidate.for_each(|run| run.steal = Some(0.3));
    let marked = found(&report);
    let clean = marked.unmarked.unwrap();
    assert_eq!((clean.blocks, clean.verdict, clean.low), (0, None, None));
    assert!(marked.verdict_reason.ends_with("too few are left"));
}

#[test]
fn a_reference_that_did_not_run_is_an_error() {
    let report = Judgement::read(&results().1).unwrap();
    let error = report
        .figures
        .comparisons_with(Some("docker/betz-8"))
        .unwrap_err();
    assert!(error.hint().unwrap().contains("bare:flat/single"));
    let other = report.figures.comparisons_with(Some("oci/single")).unwrap();
    assert_eq!(
        find(&other, "cpu", "oci/single", "oci/betz-8").effect,
        Effect::Splitting
    );
}

#[test]
fn a_result_is_equivalent_to_itself() {
    let (_folder, results) = results();
    let all = across(&results, &results).unwrap().comparisons;
    assert!(!all.is_empty());
    for c in all {
        assert!(c.difference.unwrap().abs() < 1e-12, "{c:?}");
        let deployment = c.reference.strip_suffix(" (before)").unwrap();
        assert_eq!(c.candidate, format!("{deployment} (after)"));
        // One run of this deployment is marked, in both.
        let left = c.unmarked.as_ref().map(|clean| clean.blocks);
        let marked = deployment == "bare:flat/betz-8";
        assert_eq!(left, marked.then(|| c.blocks - 1), "{c:?}");
        assert_eq!(
            marked,
            c.verdict_reason
                .contains("without 2 blocks that have a marked run")
        );
    }
}

#[test]
fn other_machines_and_stacks_are_refused() {
    let (_folder, old) = results();
    let mut new = old.clone();
    new.experiment.machine.cpus = 4;
    let error = across(&old, &new).unwrap_err();
    assert!(matches!(&error, JudgeError::OtherMachine { .. }));
    new.experiment.machine.cpus = old.experiment.machine.cpus;
    new.experiment.stack.name = "hello".to_owned();
    let error = across(&old, &new).unwrap_err();
    assert!(error.to_string().contains("different stacks"), "{error}");
    new.experiment.stack = old.experiment.stack.clone();
    new.experiment.stack.sha256 = "11".to_owned();
    let error = across(&old, &new).unwrap_err();
    assert!(
        error.to_string().contains("autoware-humble (9b74c989)"),
        "{error}"
    );
}

/// What is told, and what of the later result makes it so.
type Change = (&'static str, fn(&mut Results));

#[test]
fn a_reference_that_is_another_one_by_the_same_name_is_refused() {
    let (_folder, old) = results();
    let changes: [Change; 7] = [
        ("differ in the window: 60 s and 30 s", |r| {
            r.experiment.window_s = 30.0
        }),
        ("the utilisation: 0.7 and none", |r| {
            r.experiment.utilisation = None
        }),
        ("the CPU time of calls: not recorded and recorded", |r| {
            let parameters = &mut r.experiment.parameters;
            parameters.insert(CALLBACK_CPU.to_owned(), true.into());
        }),
        ("the context switches: not recorded and recorded", |r| {
            let parameters = &mut r.experiment.parameters;
            parameters.insert(PREEMPTION.to_owned(), true.into());
        }),
        ("node: none and node: all", |r| {
            let nodes = &mut r.experiment.partitions[0].nodes;
            nodes.insert("node".to_owned(), "all".to_owned());
        }),
        ("all: none and all: cpuset [0]", |r| {
            let limits = &mut r.experiment.deployments[0].limits;
            let first = LimitsRecord {
                cpuset: Some(vec![0]),
                ..LimitsRecord::default()
            };
            limits.insert("all".to_owned(), first);
        }),
        ("busy neighbours: 0 and 4", |r| {
            let parameters = &mut r.experiment.parameters;
            parameters.insert(NEIGHBOURS.to_owned(), 4.into());
        }),
    ];
    for (told, change) in changes {
        let mut new = old.clone();
        change(&mut new);
        let error = across(&old, &new).unwrap_err();
        assert!(error.hint().is_some());
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn what_can_be_declared_is_what_is_compared() {
    let (_folder, results) = results();
    let report = Judgement::read(&results).unwrap();
    let comparisons = report.figures.comparisons_with(None).unwrap();
    let compared: BTreeSet<&str> = comparisons.iter().map(|c| &*c.metric).collect();
    let known = BTreeSet::from(METRICS);
    assert_eq!(compared.difference(&known).count(), 0, "{compared:?}");
    // The example is too small for these: few instances, one output for each, no memory by share.
    let missing: Vec<&str> = known.difference(&compared).copied().collect();
    let too_small = ["e2e_paper_p99", "mean_over_outputs_mean", "memory_pss"];
    assert_eq!(missing, too_small);
}

#[test]
fn a_declared_difference_decides_what_is_equivalent() {
    let (_folder, mut results) = results();
    let delta_of = |results: &Results, metric: &str| {
        let report = Judgement::read(results).unwrap();
        let comparisons = report.figures.comparisons_with(None).unwrap();
        let found = comparisons.iter().find(|c| c.metric == metric).unwrap();
        (found.delta, found.primary)
    };
    assert_eq!(delta_of(&results, "cpu"), (0.02, false));
    results.experiment.metrics.push(MetricPlan {
        metric: "cpu".to_owned(),
        delta: 0.05,
        primary: false,
    });
    assert_eq!(delta_of(&results, "cpu"), (0.05, false));
}

#[test]
fn verdicts_that_are_kept_are_read_and_not_given_again() {
    let (_folder, results) = results();
    let mut kept = Judgement::read(&results).unwrap().verdicts();
    kept.comparisons[0].verdict_reason = "kept".to_owned();
    results.keep(&kept).unwrap();
    let reason = |results: &Results| {
        let judgement = Judgement::read(results).unwrap();
        judgement.comparisons[0].verdict_reason.clone()
    };
    assert_eq!(reason(&results), "kept");
    // With another run, or by other rules, they are given anew.
    let mut fewer = results.clone();
    fewer.runs.pop();
    assert_ne!(reason(&fewer), "kept");
    if let Some(judged) = &mut kept.judged {
        judged.by = "0.0.1, rules 1".to_owned();
    }
    results.keep(&kept).unwrap();
    assert_ne!(reason(&results), "kept");
}

/// A run that failed is measured again when its experiment is resumed, under the same number.
#[test]
fn verdicts_of_before_a_run_was_repeated_are_not_kept() {
    let (_folder, results) = results();
    let mut failed = results.clone();
    failed.runs[0].status = RunStatus::Failed;
    let kept = Judgement::read(&failed).unwrap().verdicts();
    results.keep(&kept).unwrap();
    let judged = Judgement::read(&results).unwrap().judged;
    assert_ne!(Some(&judged), kept.judged.as_ref());
    assert!(judged.runs.contains(&failed.runs[0].run));
}

#[test]
fn verdicts_that_cannot_be_read_are_given_again() {
    let (_folder, results) = results();
    let judgement = Judgement::read(&results).unwrap();
    fs::write(results.dir().join("comparisons.json"), "{").unwrap();
    let again = Judgement::read(&results).unwrap();
    assert_eq!(again.comparisons, judgement.comparisons);
}
