//! The committed documentation and JSON Schemas are those of the code.
//! `UPDATE=1 cargo test -p stowplan-results` rewrites them.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stowplan_results::{
    CallbackRow, Comparisons, EdgeRow, Experiment, LatencyRow, LossRow, MeasurementRow, MemoryRow,
    OutputRow, ProcessRow, RunRow, Selftest, SelftestKind, StartupRow, Table, UsageRow,
};

fn section<T: Table>() -> String {
    let mut text = format!("### `{}.parquet`\n\n{}\n\n", T::NAME, T::ABOUT.trim());
    text.push_str("| column | type | null | meaning |\n|---|---|---|---|\n");
    for column in T::columns() {
        let null = if column.nullable { "yes" } else { "" };
        let (name, of_type, doc) = (column.name, column.data_type, column.doc);
        writeln!(text, "| `{name}` | {of_type} | {null} | {doc} |").unwrap();
    }
    text
}

fn matches(path: &Path, expected: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is not what the code says; run UPDATE=1 cargo test -p stowplan-results",
        path.display()
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_column_is_documented() {
    let path = root().join("docs/results.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find("rewrites them -->\n").unwrap() + "rewrites them -->\n".len();
    let end = page.find("<!-- end of columns -->").unwrap();
    let sections = [
        section::<RunRow>(),
        section::<StartupRow>(),
        section::<LatencyRow>(),
        section::<OutputRow>(),
        section::<UsageRow>(),
        section::<MemoryRow>(),
        section::<ProcessRow>(),
        section::<LossRow>(),
        section::<EdgeRow>(),
        section::<CallbackRow>(),
        section::<MeasurementRow>(),
    ];
    let expected = format!(
        "{}\n{}\n{}",
        &page[..begin],
        sections.join("\n"),
        &page[end..]
    );
    matches(&path, &expected);
}

#[test]
fn times_say_their_unit() {
    let columns = [
        RunRow::columns(),
        StartupRow::columns(),
        LatencyRow::columns(),
        OutputRow::columns(),
        UsageRow::columns(),
        MemoryRow::columns(),
        ProcessRow::columns(),
    ];
    for column in columns.iter().flatten() {
        if column.name.ends_with("_bytes") {
            assert!(column.doc.contains("bytes"), "{}", column.name);
        }
        assert!(!column.name.ends_with("_ms") && !column.name.ends_with("_us"));
    }
}

#[test]
fn json_schemas_are_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in [
        ("experiment", Experiment::json_schema()),
        ("compare", Comparisons::json_schema()),
        ("selftest", Selftest::json_schema()),
    ] {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        matches(&folder.join(format!("{name}.json")), &text);
    }
}

#[test]
fn the_selftest_in_the_docs_is_what_its_page_says() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let text = read("docs/evidence/selftest/hello-2026-11-23.json");
    let kept: Selftest = serde_json::from_str(&text).unwrap();
    let page = read("docs/evidence/selftest.md");

    let mut equal: Vec<f64> = Vec::new();
    for counts in &kept.counts {
        let of_kind = || kept.comparisons.iter().filter(|c| c.kind == counts.kind);
        let flagged = of_kind().filter(|c| c.flagged).count();
        let covered = of_kind()
            .filter(|c| (c.low_ns..=c.high_ns).contains(&c.injected_ns))
            .count();
        let row = page
            .lines()
            .filter(|line| line.starts_with("| A/"))
            .nth(kept.counts.iter().position(|c| c == counts).unwrap())
            .unwrap();
        let compared = of_kind().count();
        assert!(
            row.contains(&format!("| {flagged} of {compared} |")),
            "{row}"
        );
        assert!(
            row.ends_with(&format!("| {covered} of {compared} |")),
            "{row}"
        );
        if counts.kind == SelftestKind::Equal {
            equal = of_kind().map(|c| (c.high - c.low) / 2.0).collect();
        }
    }
    equal.sort_by(f64::total_cmp);
    let median = f64::midpoint(equal[19], equal[20]);
    assert!(
        page.contains(&format!("± {:.1} %", 100.0 * median)),
        "{median}"
    );
    assert!(kept.passed && kept.criteria.iter().all(|c| c.passed));
}
