//! The tables as a person reads them.

use stowplan_judge::Judgement;

use crate::common;

fn report(blocks: u32) -> Judgement {
    common::judgement(common::Size {
        blocks,
        instances: 400,
        samples: 40,
    })
}

#[test]
fn terminal_of_160_columns() {
    insta::assert_snapshot!(stowplan_report::terminal(&report(8), 160));
}

#[test]
fn terminal_of_72_columns() {
    let text = stowplan_report::terminal(&report(8), 72);
    for line in text.lines() {
        assert!(line.chars().count() <= 72, "too wide: {line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(stowplan_report::markdown(&report(8)));
}

#[test]
fn of_many_settings_a_terminal_has_the_first_and_markdown_all() {
    let mut report = report(1);
    let own = report.figures.experiment.deployments.iter_mut();
    for d in own.filter(|d| d.id == "oci/single") {
        // Six differ already; what each start has anew gives way.
        for name in ["session", "thp", "umask"] {
            d.fingerprint.insert(name.to_owned(), "other".to_owned());
        }
    }
    let row = |text: &str, begins: &str| {
        let lines = text.lines();
        let lines: Vec<_> = lines.filter(|line| line.starts_with(begins)).collect();
        lines.join("\n")
    };
    let terminal = stowplan_report::terminal(&report, 400);
    let from = terminal.find("Settings that differ").unwrap();
    let told = row(&terminal[from..], "oci · single");
    assert!(told.contains("thp: – → other; and 3 more"), "{told}");
    let markdown = stowplan_report::markdown(&report);
    let from = markdown.find("## Settings of oci · single").unwrap();
    let told = row(&markdown[from..], "| bare:flat · single | session");
    assert_eq!(told, "| bare:flat · single | session | – | other |");
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
