//! Whatever a file holds: a value or an error with its place, never a panic.

use proptest::prelude::*;
use stowplan_plan::KnownEngines;
use stowplan_spec::{SpecError, parse_experiment, parse_partition, parse_spec, shipped};

fn hello() -> &'static str {
    shipped("hello").expect("hello is shipped")
}

/// Every problem names the file, and its line is one of the text.
fn places_are_real(text: &str, error: &SpecError) -> Result<(), TestCaseError> {
    let lines = text.lines().count() as u64 + 1;
    for problem in error.problems() {
        prop_assert_eq!(&problem.file, "x.yaml");
        prop_assert!(problem.line <= lines, "line {} of {}", problem.line, lines);
        prop_assert!(!problem.message.is_empty());
    }
    Ok(())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    if let Err(error) = parse_spec(text, "x.yaml") {
        places_are_real(text, &error)?;
    }
    if let Err(error) = parse_partition(text, "x.yaml") {
        places_are_real(text, &error)?;
    }
    if let Err(error) = parse_experiment(text, "x.yaml", &KnownEngines::default()) {
        places_are_real(text, &error)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn random_yaml_like_text(text in "[\\[\\]{}:,&*!|>'\"%@`#?\\- \n\ta-c0-9]{0,300}") {
        check(&text)?;
    }

    #[test]
    fn a_stack_with_some_bytes_changed(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = hello().as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn a_stack_cut_short(at in any::<prop::sample::Index>()) {
        let bytes = hello().as_bytes();
        check(&String::from_utf8_lossy(&bytes[..at.index(bytes.len())]))?;
    }

    #[test]
    fn a_stack_with_lines_moved(from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let mut lines: Vec<&str> = hello().lines().collect();
        let line = lines.remove(from.index(lines.len()));
        lines.insert(to.index(lines.len()), line);
        check(&lines.join("\n"))?;
    }

    #[test]
    fn quantities(text in "[-+]?[0-9._]{0,12} ?[a-zA-Zµ]{0,5}") {
        check(&hello().replacen("/imu: 320", &format!("/imu: \"{text}\""), 1))?;
        check(&hello().replacen("timer: 20Hz", &format!("timer: \"{text}\""), 1))?;
    }
}

#[test]
fn aliases_do_not_grow_without_bound() {
    let mut text = String::from("name: a\nmodules: &a0 { m: { nodes: {} } }\n");
    for i in 0..40 {
        text.push_str(&format!(
            "x{}: &a{} [*a{i}, *a{i}, *a{i}, *a{i}]\n",
            i + 1,
            i + 1
        ));
    }
    assert!(parse_spec(&text, "x.yaml").is_err());
}

#[test]
fn deep_nesting_is_an_error() {
    let text = format!("name: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse_spec(&text, "x.yaml").is_err());
}
