//! The page of a recorded trace in a real browser.
//!
//! Needs Chromium, as the test of an experiment's page, and the recorded traces.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stowplan_report::TraceReport;
use stowplan_testkit::kept_trace;
use stowplan_trace::{Analysis, Chain, Overview, Reading};

use crate::chromium::{self, Session, Window};

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
        .map(|chain| analysis.measure(chain, stowplan_trace::Window::ALWAYS))
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

/// That of Autoware's reference system in containers, written once for all tests.
fn containers() -> Option<PathBuf> {
    static PAGE: OnceLock<Option<PathBuf>> = OnceLock::new();
    PAGE.get_or_init(|| page("humble-ab_ctr_r1")).clone()
}

#[test]
fn every_figure_of_a_trace_has_marks_and_no_error() {
    let Some(page) = containers() else {
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
        "latency-over-time",
        "timeline",
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
        "E2E from publication",
        "Inputs on which no output rests",
        "calls around the slowest instance",
        "/EuclideanClusterDetector",
        "(pid_ns 4026532180)",
        "what &lt;nobody&gt; recorded",
        "aria-sort=\"descending\"",
    ] {
        assert!(document.contains(text), "{text}");
    }
}

#[test]
fn the_timeline_scrolls_by_keyboard_and_the_graph_fits_its_frame() {
    let Some(page) = containers() else {
        return;
    };
    for window in [Window::WIDE, Window::NARROW] {
        let Some(mut session) = Session::open(&page, window) else {
            return;
        };
        session.unfold();
        let width = session.ask("document.documentElement.scrollWidth");
        assert!(width.as_u64().unwrap() <= window.width.into(), "{width}");
        let beyond = session.ask(
            "(() => { const box = document.querySelector('#node-graph .graph-scroll'); \
             return Math.max(box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight); })()",
        );
        assert!(beyond.as_i64().unwrap() <= 1, "{beyond} pixels");
        let seen = "document.querySelector('#timeline [aria-label=\"x-axis label\"]').textContent";
        let slowest = session.ask(seen);
        session.ask("document.querySelector('#timeline [aria-label=\"Later\"]').click()");
        let later = session.ask(seen);
        assert_ne!(slowest, later);
        session.ask("document.querySelector('#timeline input[type=range]').focus()");
        session.press("ArrowRight");
        assert_ne!(later, session.ask(seen));
        session
            .ask("document.querySelector('#timeline [aria-label=\"Slowest instance\"]').click()");
        assert_eq!(slowest, session.ask(seen));
        let stops = "document.querySelectorAll('#timeline .drawing [tabindex=\"0\"]').length";
        assert_eq!(session.ask(stops), 1, "calls are one stop of the keyboard");
    }
}

/// Galactic, 195 nodes: modules are drawn, and a picture for each.
#[test]
#[ignore = "long: two thirds of a million events, and a page of 195 nodes"]
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
