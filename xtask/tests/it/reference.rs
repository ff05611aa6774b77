//! Pages of the reference have every name that the program knows.

use std::fs;

use crate::sources::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// What stands between `begin` and the next `end`.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split(begin).nth(1).unwrap().split(end).next().unwrap()
}

/// Asserts that a page names all of these as code.
fn assert_names<'a>(page: &str, names: impl Iterator<Item = &'a str>, least: usize) {
    let text = read(page);
    let names: Vec<&str> = names.collect();
    assert!(names.len() >= least, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("`{name}`")), "{page}: {name}");
    }
}

/// Fields of a struct, given its text.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter_map(|line| {
        line.strip_prefix("pub ")?
            .split_once(": ")
            .map(|(name, _)| name)
    })
}

#[test]
fn every_metric_is_in_the_reference() {
    let code = read("crates/stowplan-model/src/metric.rs");
    let names = between(&code, "METRICS: [&str;", "];")
        .split('"')
        .skip(1)
        .step_by(2);
    assert_names("docs/reference/metrics.md", names, 20);
}

#[test]
fn every_key_of_experiment_and_partition_files_is_in_the_reference() {
    let experiment = read("crates/stowplan-spec/src/elements/experiment.rs");
    let partition = read("crates/stowplan-spec/src/elements/partition.rs");
    let options = read("crates/stowplan-spec/src/run_options.rs");
    let page = "docs/reference/files.md";
    assert_names(
        page,
        fields(between(&experiment, "struct ExperimentSpec {", "\n}")),
        20,
    );
    assert_names(
        page,
        fields(between(&options, "pub struct RunOptions {", "\n}")),
        4,
    );
    assert_names(
        page,
        fields(between(&partition, "struct PartitionSpec {", "\n}")),
        4,
    );
    assert_names(
        page,
        fields(between(&partition, "struct AssignmentSpec {", "\n}")),
        5,
    );
}

#[test]
fn every_exit_code_is_in_the_reference() {
    let code = read("crates/stowplan/src/failure.rs");
    let codes = between(&code, "pub enum ExitCode {", "\n}")
        .split(" = ")
        .skip(1);
    let page = read("docs/reference/exit-codes.md");
    for code in codes.map(|rest| rest.split(',').next().unwrap()) {
        assert!(page.contains(&format!("| {code} |")), "{code}");
    }
}

#[test]
fn every_command_is_in_the_reference() {
    let code = read("crates/stowplan/src/cli.rs");
    let variants = between(&code, "pub enum Command {", "\n}").lines();
    let is_name = |line: &&str| line.starts_with(|c: char| c.is_ascii_uppercase());
    let names = variants
        .filter_map(|line| line.strip_prefix("    "))
        .filter(is_name);
    let names: Vec<String> = names
        .map(|line| line.split(['(', ' ']).next().unwrap().to_lowercase())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    let page = read("docs/reference/commands.md");
    for name in names {
        assert!(page.contains(&format!("| `{name}")), "{name}");
    }
}
