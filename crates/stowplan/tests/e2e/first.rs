//! From nothing to a stack of one's own: `new`, `show` and `schema`.

use serde_json::Value;

use crate::support::{Bench, Ended, assert_valid, root};

/// Starts the command, which must end with `code`.
#[track_caller]
fn ended(bench: &Bench, arguments: &[&str], code: i32) -> Ended {
    bench.run(arguments).expect(code)
}

#[test]
fn new_files_are_taken_as_they_are() {
    let bench = Bench::new();
    insta::assert_snapshot!("new", ended(&bench, &["new", "parking"], 0).out);
    let plan = ended(
        &bench,
        &[
            "plan",
            "parking/stack.yaml",
            "--partition",
            "parking/partition.yaml",
        ],
        0,
    );
    assert!(
        plan.out
            .starts_with("parking · front-back: 4 nodes in 4 processes, 2 services"),
        "{}",
        plan.out
    );
    let plan = ended(
        &bench,
        &["plan", "--experiment", "parking/experiment.yaml"],
        0,
    );
    for deployment in ["bare:flat · single", "bare:flat · front-back"] {
        assert!(plan.out.contains(deployment), "{}", plan.out);
    }
    assert!(!plan.out.contains("note:"), "{}", plan.out);
}

#[test]
fn new_overwrites_nothing_and_takes_names_of_the_model() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("empty")).unwrap();
    ended(&bench, &["new", "empty"], 0);
    let path = bench.write("empty/stack.yaml", "mine");
    bench.write("file", "");
    let long = "a".repeat(65);
    let mut texts = Vec::new();
    for name in ["empty", "file", "my stack", "../up", "", long.as_str()] {
        texts.push(ended(&bench, &["new", name], 2).err);
    }
    insta::assert_snapshot!("new_refused", texts.join("\n"));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
}

#[test]
fn shipped_files_are_listed_and_printed_as_they_stand() {
    let bench = Bench::new();
    insta::assert_snapshot!("show", ended(&bench, &["show"], 0).out);
    for (name, file) in [
        ("hello", "stacks/hello.yaml"),
        ("wen-5", "stacks/partitions/wen-5.yaml"),
        (
            "contended-resources",
            "stacks/experiments/contended-resources.yaml",
        ),
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert_eq!(ended(&bench, &["show", name], 0).out, text);
    }
    let near = ended(&bench, &["show", "helo"], 3).err;
    let far = ended(&bench, &["show", "nothing-like-it"], 3).err;
    insta::assert_snapshot!("show_unknown", near + &far);
}

#[test]
fn schemas_hold_for_shipped_files() {
    let bench = Bench::new();
    for (kind, file) in [
        ("stack", "stacks/hello.yaml"),
        ("partition", "stacks/partitions/wen-5.yaml"),
        ("experiment", "stacks/experiments/contended-resources.yaml"),
    ] {
        let schema = ended(&bench, &["schema", kind], 0).out;
        let path = bench.write("schema.json", &schema);
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        assert_valid(&path, &value);
    }
    let unknown = ended(&bench, &["schema", "stak"], 2).err;
    assert!(unknown.contains("'stack'"), "{unknown}");
    ended(&bench, &["plan", "hello", "--schema"], 2);
}
