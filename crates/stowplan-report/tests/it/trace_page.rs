//! The page of a recorded trace in a real browser.
//!
//! Needs Chromium, as the test of an experiment's page, and the recorded traces.

use std::path::{Path, PathBuf};

use stowplan_report::TraceReport;
use stowplan_testkit::kept_trace;
use stowplan_trace::{Analysis, Chain, Overview, Reading, Window};

use crate::chromium;

/// Writes the page of a trace with its longest chains.
fn page(name: &str) -> Option<PathBuf> {
    let folder = kept_trace(name)?;
    let dir = folder.path();
    let reading = Reading::default();
    let overview = Overview::from_ctf(dir, reading).unwrap();
    let found = overview.longest_chains(4).into_iter();
    let chains: Vec<Chain> = found.map(|found| found.chain).collect();
    let analysis = Analysis::of_chains(dir, reading, &overview, chains.iter()).unwrap();
    let mut measured: Vec<_> = chains
        .into_iter()
        .map(|chain| analysis.measure(chain, Window::ALWAYS))
        .collect();
    measured.retain(|result| !result.instances.is_empty());
    let report = TraceReport {
        name,
        overview: &overview,
        analysis: &analysis,
        chains: &measured,
        missing: &["what <nobody> recorded".to_owned()],
    };
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    report.write_html(&page).unwrap();
    Some(page)
}

#[test]
fn every_figure_of_a_trace_has_marks_and_no_error() {
    let Some(page) = page("humble-ab_ctr_r1") else {
        return;
    };
    let Some(document) = chromium::opened(&page) else {
        return;
    };
    assert!(
        document.contains("data-ready=\"true\""),
        "the script did not end"
    );
    let figures = [
        "latency-parts",
        "latency-ecdf",
        "latency-histogram",
        "node-graph",
        "callback-durations",
        "trace-startup",
    ];
    chromium::assert_figures(&document, &figures);
    // One method, one bar: fewer marks than elsewhere.
    assert!(document.contains("<figure id=\"links\""));
    for text in [
        "11,330 of 11,330",
        "FrontLidarDriver → VehicleDBWSystem",
        "/EuclideanClusterDetector",
        "(pid_ns 4026532180)",
        "what &lt;nobody&gt; recorded",
        "aria-sort=\"descending\"",
    ] {
        assert!(document.contains(text), "{text}");
    }
}

/// Galactic, 195 nodes: modules are drawn, and a picture for each.
#[test]
fn a_large_stack_is_drawn_by_modules() {
    let Some(page) = page("autoware-carla") else {
        return;
    };
    let size = std::fs::metadata(&page).unwrap().len();
    assert!(size < 2_000_000, "{size} bytes");
    let Some(document) = chromium::opened(&page) else {
        return;
    };
    assert!(document.contains("data-ready=\"true\""));
    assert!(!document.contains("data-error"));
    for text in [
        "No chain of callbacks has enough whole instances",
        "All modules",
        "Module /perception",
        "48 nodes",
        "134,747 of 250,381",
        "latest_before_callback",
    ] {
        assert!(document.contains(text), "{text}");
    }
}
