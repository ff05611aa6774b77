//! Bad input: what is wrong, where, and what can be done; with the exit code that scripts rely on.

use crate::support::{Bench, fixture};

/// Replaces the test's own folder, so that messages can be compared.
fn error_text(bench: &Bench, text: &str) -> String {
    text.replace(&bench.path().display().to_string(), "FOLDER")
}

/// What the command says on standard error, after it ended with `code`.
#[track_caller]
fn refused(bench: &Bench, arguments: &[&str], code: i32) -> String {
    let ended = bench.run(arguments).expect(code);
    assert!(ended.out.is_empty(), "{}", ended.out);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    error_text(bench, &ended.err)
}

#[test]
fn wrong_usage_ends_with_2() {
    let bench = Bench::new();
    for arguments in [
        &["plam"][..],
        &[],
        &["plan"],
        &["latency"],
        &["latency", "hello", "--blocks", "0"],
        &["latency", "hello", "--window", "0s"],
        &["latency", "hello", "--window", "3"],
        &["latency", "hello", "--settle", "never"],
        &["latency", "hello", "--delta", "cpu"],
        &["latency", "hello", "--delta", "cpu=0"],
        &["latency", "hello", "--delta", "cpu=3%,cpu=4%"],
        &["latency", "hello", "--place", "a/b/"],
        &["plan", "hello", "--utilisation", "1.5"],
        &["plan", "hello", "--utilisation", "0"],
        &["plan", "hello", "--json", "--dot"],
        &["trace", "analyze"],
        &["trace", "analyze", ".", "--as-tum"],
        &["trace", "analyze", ".", "--parquet", "x.parquet"],
        &["completions", "cmd"],
        &["run"],
    ] {
        refused(&bench, arguments, 2);
    }
    let text = refused(&bench, &["plam"], 2);
    assert!(text.contains("'plan'"), "{text}");
    let text = refused(&bench, &["latency", "hello", "--delta", "cpus=3%"], 2);
    assert!(text.contains("hint: did you mean 'cpu'?"), "{text}");
    let text = refused(&bench, &["latency", "hello", "--delta", "latency=3%"], 2);
    assert!(
        text.contains("hint: known: startup_last_node_loaded, "),
        "{text}"
    );
    assert!(text.contains(", e2e_paper_mean, "), "{text}");
}

/// The rest of an experiment file.
const EXPERIMENT: &str = "name: a\nstack: hello\nplaces: [bare:grouped]\npartitions: [single]\n";

#[test]
fn values_of_experiments_are_refused_at_their_place_and_with_what_is_due() {
    let bench = Bench::new();
    let refused = |more: &str| {
        let file = bench.write("e.yaml", &format!("{EXPERIMENT}{more}\n"));
        refused(&bench, &["plan", "--experiment", file.to_str().unwrap()], 3)
    };
    for (more, told) in [
        (
            "limits: { all: { cpuset: [0, 4095] } }",
            &[
                "FOLDER/e.yaml:5:30: limits of service 'all' name CPU 4095",
                "hint: write those that it has, as cpuset: [0",
            ][..],
        ),
        (
            "limits: { all: { cpuset: 0-0 } }",
            &["e.yaml:5:26: a list is due here", "hint: write [0]"],
        ),
        (
            "limits: { all: { cpuset: [a] } }",
            &["e.yaml:5:27: 'a' is not a whole number of at least 0"],
        ),
        (
            "limits: { all: { cpus: 0.5 } }",
            &["e.yaml:5:18: unknown key 'cpus'", "'cpu_quota: 0.5'"],
        ),
        (
            "neighbours: 300",
            &["e.yaml:5:13: '300' is not a whole number from 0 to 255"],
        ),
        (
            "pilot: maybe",
            &["e.yaml:5:8: 'maybe' is not 'true' or 'false'"],
        ),
        (
            "delta: { latency: 3% }",
            &[
                "e.yaml:5:10: 'delta' has 'latency'",
                "hint: known: startup_last_node_loaded, ",
            ],
        ),
    ] {
        let text = refused(more);
        for part in told {
            assert!(text.contains(part), "{more}: {text}");
        }
    }
}

#[test]
fn names_that_are_not_known_are_told_with_the_nearest() {
    let bench = Bench::new();
    let texts = [
        refused(&bench, &["plan", "autoware-humbel"], 3),
        refused(&bench, &["plan", "nothing-like-it"], 3),
        refused(&bench, &["plan", "hello", "--partition", "moduls"], 3),
        refused(&bench, &["latency", "helo"], 3),
        refused(&bench, &["run", "nowhere.yaml"], 3),
    ];
    insta::assert_snapshot!("unknown_names", texts.join("\n"));
}

#[test]
fn a_stack_file_that_is_wrong_is_told_with_its_line() {
    let bench = Bench::new();
    let tiny = std::fs::read_to_string(fixture("tiny.yaml")).unwrap();
    let mut texts = Vec::new();
    for (what, from, to) in [
        ("broken YAML", "modules:\n", "modules: [\n"),
        ("unknown key", "qos: {", "qoss: {"),
        ("unknown key inside", "publishes: /scan", "publish: /scan"),
        (
            "dangling topic",
            "subscribes: /command",
            "subscribes: /comand",
        ),
        (
            "impossible rate",
            "timer: 20Hz, subscribes",
            "timer: 0Hz, subscribes",
        ),
        (
            "unreachable chain",
            "[scanner, planner/on_scan",
            "[brake, planner/on_scan",
        ),
        (
            "unknown callback",
            "planner/timer, brake",
            "planner/timr, brake",
        ),
    ] {
        assert!(tiny.contains(from), "{what}");
        bench.write("stack.yaml", &tiny.replace(from, to));
        let plan = refused(&bench, &["plan", "stack.yaml"], 3);
        // Whatever would start it refuses it in the same words.
        assert_eq!(
            refused(&bench, &["latency", "stack.yaml"], 3),
            plan,
            "{what}"
        );
        texts.push(format!("# {what}\n{plan}"));
    }
    insta::assert_snapshot!("wrong_stacks", texts.join("\n"));
}

#[test]
fn an_experiment_file_that_is_wrong_is_told_with_its_line() {
    let bench = Bench::new();
    let good = "name: e\nstack: hello\nplaces: [bare:flat]\npartitions: [single]\n";
    let mut texts = Vec::new();
    for (what, text) in [
        ("unknown key", format!("{good}block: 3\n")),
        (
            "no place",
            "name: e\nstack: hello\nplaces: []\npartitions: [single]\n".to_owned(),
        ),
        ("unknown stack", good.replace("hello", "helo")),
        ("unknown partition", good.replace("single", "singel")),
        (
            "limit",
            format!("{good}limits: {{ all: {{ memory: much }} }}\n"),
        ),
        (
            "limits of no service",
            format!("{good}limits: {{ nobody: {{ memory: 1MB }} }}\n"),
        ),
    ] {
        bench.write("experiment.yaml", &text);
        texts.push(format!(
            "# {what}\n{}",
            refused(&bench, &["run", "experiment.yaml"], 3)
        ));
    }
    insta::assert_snapshot!("wrong_experiments", texts.join("\n"));
}

#[test]
fn results_and_traces_that_are_not_there_are_told() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("empty")).unwrap();
    let texts = [
        refused(&bench, &["report", "nowhere"], 3),
        refused(&bench, &["report", "empty"], 3),
        refused(&bench, &["compare", "nowhere", "nowhere"], 3),
        refused(&bench, &["latency", "--resume", "nowhere"], 3),
        refused(&bench, &["trace", "info", "nowhere"], 3),
        refused(&bench, &["trace", "info", "empty"], 3),
        refused(
            &bench,
            &["trace", "analyze", "empty", "--stack", "hello"],
            3,
        ),
    ];
    insta::assert_snapshot!("missing_folders", texts.join("\n"));
}

#[test]
fn a_node_program_that_is_not_static_is_refused() {
    let bench = Bench::new();
    let mut command = bench.command(["plan", "hello", "--utilisation", "0.5"]);
    command.env("STOWPLAN_NODE", env!("CARGO_BIN_EXE_stowplan"));
    let ended = crate::support::Ended::new(command.output().unwrap()).expect(3);
    assert!(
        ended.err.contains("hint: $STOWPLAN_NODE names it"),
        "{}",
        ended.err
    );
}
