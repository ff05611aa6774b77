//! Never another place under the name that was asked for: every step is resolved, or the command ends before anything starts.

use serde_json::Value;

use crate::measured::{latency_of_tiny, only_result};
use crate::one_at_a_time::turn_of_command;
use crate::support::{Bench, Ended, engines_missing};

/// Runs it where no daemon of Docker answers, and where there is no Kubernetes.
fn run(bench: &Bench, arguments: &[&str]) -> Ended {
    let _turn = turn_of_command();
    let mut command = bench.command(arguments);
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    command.env("STOWPLAN_KUBECONFIG", "/nowhere/kubeconfig");
    Ended::new(command.output().unwrap())
}

/// What it says on standard error, where it ended with `code` and without a result.
#[track_caller]
fn refused(bench: &Bench, arguments: &[&str], code: i32) -> String {
    let ended = run(bench, arguments).expect(code);
    assert_eq!(ended.out, "");
    assert!(!ended.err.contains(" · run "), "{}", ended.err);
    let results = std::fs::read_dir(bench.path().join("results"));
    assert!(results.is_err(), "{arguments:?} left a result");
    format!("# {} → {code}\n{}", arguments.join(" "), ended.err)
}

#[test]
fn a_place_on_the_command_line_that_means_nothing_ends_with_2() {
    let bench = Bench::new();
    let texts = [
        "ocy",
        "qemu/oci,moon/oci",
        "bare:flat,dockr",
        "bare:flat,bare:groupd",
        "oci:runc",
        "docker/oci",
        "bare:flat/oci",
        "bare,bare:flat",
        "qemu/",
    ]
    .map(|place| refused(&bench, &["latency", "hello", "--place", place], 2));
    let selftest = refused(&bench, &["selftest", "--place", "bear:flat"], 2);
    let all = [texts.join("\n"), selftest];
    insta::assert_snapshot!("places_of_no_meaning", all.join("\n"));
}

#[test]
fn an_engine_that_cannot_be_had_ends_with_4_also_beside_others() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let texts = [
        "qemu",
        "qemu/oci",
        "bare:flat,qemu",
        "bare:flat,docker",
        "bare:flat,qemu/oci,docker,kube",
    ]
    .map(|place| refused(&bench, &["latency", "hello", "--place", place], 4));
    // Docker may be on the machine of the test or not.
    let texts =
        texts.map(|text| text.replace("install it with 'apt-get install docker.io', then ", ""));
    let everywhere = ["startup", "hello", "--place", "qemu,kube", "--skip-missing"];
    let all = [texts.join("\n"), refused(&bench, &everywhere, 4)];
    insta::assert_snapshot!("places_that_are_missing", all.join("\n"));
}

/// An experiment with these places and these lines more.
fn experiment(bench: &Bench, places: &str, more: &str) {
    let text = format!(
        "name: e\nstack: hello\nplaces: [{places}]\npartitions: [single, modules]\n{more}\n"
    );
    bench.write("experiment.yaml", &text);
}

#[test]
fn an_experiment_file_is_checked_by_plan_as_by_run() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    let mut texts = Vec::new();
    let no_cpu = "limits: { sensing: { cpuset: [0, 4095] } }";
    let no_group = "limits: { sensing: { cpu_weight: 50 } }";
    for (places, more, code) in [
        ("'bare:grouped', ocy", "", 3),
        ("moon/oci", "", 3),
        ("bare, 'bare:flat'", "", 3),
        ("'bare:flat', qemu", "", 4),
        ("'bare:grouped'", no_cpu, 3),
        ("'bare:flat', 'bare:grouped'", no_group, 4),
    ] {
        experiment(&bench, places, more);
        let run = refused(&bench, &["run", "experiment.yaml"], code);
        let plan = refused(&bench, &["plan", "--experiment", "experiment.yaml"], code);
        let told = |text: &str| text.split_once('\n').unwrap().1.to_owned();
        assert_eq!(told(&run), told(&plan), "{places}");
        texts.push(format!("# [{places}] {more} → {code}\n{}", told(&run)));
    }
    let text = texts.join("\n");
    let (before, after) = text.split_once("this machine has CPUs ").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || ", ".contains(c));
    let (hint, rest) = after.split_once("as cpuset: [").unwrap();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ", ".contains(c));
    let after = format!("{hint}as cpuset: [N{rest}");
    insta::assert_snapshot!(
        "experiments_that_cannot_be",
        format!("{before}this machine has CPUs N{after}")
    );
}

#[test]
fn a_plan_of_an_experiment_says_what_keeps_it_from_a_verdict() {
    if engines_missing(&["bare", "oci"]) {
        return;
    }
    let bench = Bench::new();
    let notes = |places: &str, more: &str, options: &[&str]| {
        experiment(&bench, places, more);
        let plan = ["plan", "--experiment", "experiment.yaml"];
        let ended = run(&bench, &[&plan, options].concat()).expect(0);
        let told = ended.out.lines();
        let told: Vec<&str> = told
            .skip_while(|line| !line.starts_with("note: ") && !line.starts_with("skipped: "))
            .collect();
        told.join("\n")
    };
    let all = "'bare:flat', 'bare:grouped', oci";
    assert_eq!(notes(all, "blocks: 6", &[]), "");
    let texts = [
        notes(all, "blocks: 6\nbudget: 1s", &[]),
        notes(all, "blocks: 3", &[]),
        notes("oci", "blocks: 6", &[]),
        notes("'bare:flat', oci", "blocks: 6\nbudget: 100h", &[]),
        notes("'bare:flat', qemu", "blocks: 6", &["--skip-missing"]),
    ];
    insta::assert_snapshot!("notes_on_experiments", texts.join("\n\n"));
}

/// The stack `tiny` on plain processes and in two engines that are not to be had.
fn skipping(bench: &Bench, more: &[&str]) -> Ended {
    let all = latency_of_tiny("bare:flat,qemu/oci,kube", 1, "300ms", more);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    run(bench, &all)
}

#[test]
fn what_is_missing_is_skipped_where_that_is_asked_for_and_told_at_the_end() {
    if engines_missing(&["bare"]) {
        return;
    }
    let bench = Bench::new();
    refused(&bench, &["plan", "hello", "--skip-missing"], 2);
    assert_eq!(skipping(&bench, &[]).code, Some(4));
    let ended = skipping(&bench, &["--skip-missing"]).expect(0);
    let steps = ended.err.lines().filter(|line| line.contains(" · run "));
    assert_eq!(steps.count(), 1, "{}", ended.err);
    let told = told_of_skipped(&ended);
    insta::assert_snapshot!("skipped_places", told.join("\n"));
    let last = ended.out.lines().last().unwrap();
    assert_eq!(last, told[1], "it is told at the end");

    let dir = only_result(&bench);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("qemu/oci · modules did not run: engine 'qemu'"));
    let dir = dir.to_str().unwrap();
    let report = run(&bench, &["report", dir, "--form", "markdown"]).expect(0);
    assert!(report.out.contains("kube · modules did not run"));

    // Going on with it keeps what it began with.
    let resume = ["latency", "--resume", dir, "--json"];
    let resumed = run(&bench, &resume).expect(0).document("compare");
    let skipped = resumed["skipped"].as_array().unwrap();
    let ids: Vec<&Value> = skipped.iter().map(|one| &one["deployment"]).collect();
    assert_eq!(ids, ["qemu-oci.modules", "kube.modules"]);
    let both = [&resume[..], &["--skip-missing"]].concat();
    assert_eq!(run(&bench, &both).code, Some(2));
    measured_before(&bench, dir);
}

fn told_of_skipped(ended: &Ended) -> Vec<&str> {
    let lines = ended.out.lines();
    let told: Vec<&str> = lines.filter(|l| l.starts_with("skipped: ")).collect();
    assert_eq!(told.len(), 2, "{}", ended.out);
    told
}

/// A result is not gone on with where an engine is gone that it was measured with: its runs are numbered by all deployments.
fn measured_before(bench: &Bench, dir: &str) {
    let path = format!("{dir}/experiment.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut experiment: Value = serde_json::from_str(&text).unwrap();
    let kube = &mut experiment["deployments"][2];
    assert_eq!(kube["id"], "kube.modules");
    kube["refused"] = Value::Null;
    std::fs::write(&path, experiment.to_string()).unwrap();
    let ended = run(bench, &["latency", "--resume", dir]).expect(4);
    let begin = "error: kube · modules cannot run: engine 'kube': $STOWPLAN_KUBECONFIG is '/nowhere/kubeconfig', which is no file";
    let end = "\nhint: this result measured it before: go on when it is back\n";
    assert!(
        ended.err.starts_with(begin) && ended.err.ends_with(end),
        "{}",
        ended.err
    );
}
