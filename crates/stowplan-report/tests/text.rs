//! The tables as a person reads them.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests unwrap as the tests do"
)]

mod common;

use stowplan_report::Report;
use stowplan_results::Results;

fn report(blocks: u32) -> Report {
    let folder = common::folder();
    let size = common::Size {
        blocks,
        instances: 400,
        samples: 40,
    };
    let dir = common::write(folder.path(), size);
    Report::read(&Results::open(dir).unwrap()).unwrap()
}

#[test]
fn terminal_of_160_columns() {
    insta::assert_snapshot!(report(8).terminal(160));
}

#[test]
fn terminal_of_72_columns() {
    let text = report(8).terminal(72);
    for line in text.lines() {
        assert!(line.chars().count() <= 72, "too wide: {line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(report(8).markdown());
}

#[test]
fn no_verdict_below_six_blocks() {
    let report = report(3);
    assert!(!report.comparisons.is_empty());
    for c in &report.comparisons {
        assert_eq!(c.verdict.to_string(), "inconclusive");
        assert!(c.verdict_reason.contains("a verdict needs 6"), "{c:?}");
    }
}
