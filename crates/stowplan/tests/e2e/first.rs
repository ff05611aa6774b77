//! From nothing to a stack of one's own: `new`, `show` and `schema`.

use crate::support::{Bench, Ended};

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
    for deployment in ["bare:flat single", "bare:flat front-back"] {
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
