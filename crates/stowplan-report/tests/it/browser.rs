//! The page in a real browser: every figure has marks and the script no error.
//!
//! Needs Chromium.
//! `STOWPLAN_CHROMIUM` names another program.

use std::path::{Path, PathBuf};

use stowplan_judge::Judgement;
use stowplan_report::write_html;
use stowplan_results::Results;

use crate::chromium;
use crate::common;

const FIGURES: [&str; 9] = [
    "startup-runs",
    "startup-modules",
    "latency-ecdf",
    "latency-histogram",
    "latency-parts",
    "usage-cpu",
    "usage-memory",
    "differences",
    "effects",
];

fn written(name: &str, size: common::Size) -> PathBuf {
    let folder = common::folder();
    let dir = common::write(folder.path(), size);
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    write_html(
        &Judgement::read(&Results::open(dir).unwrap()).unwrap(),
        &page,
    )
    .unwrap();
    page
}

#[test]
fn every_figure_has_marks_and_no_error() {
    let size = common::Size {
        blocks: 8,
        instances: 3_000,
        samples: 120,
    };
    let Some(document) = chromium::opened(&written("report.html", size)) else {
        return;
    };
    assert!(
        document.contains("data-ready=\"true\""),
        "the script did not end"
    );
    chromium::assert_figures(&document, &FIGURES);
    for text in [
        "not a prediction for the vehicle",
        "Instrument not calibrated on this machine: <code>stowplan selftest</code>",
        "no daemon answers",
        "status 139",
    ] {
        assert!(document.contains(text), "{text}");
    }
}

#[test]
fn an_experiment_with_one_block_is_shown() {
    let size = common::Size {
        blocks: 1,
        instances: 12,
        samples: 4,
    };
    let Some(document) = chromium::opened(&written("report-one-block.html", size)) else {
        return;
    };
    assert!(document.contains("data-ready=\"true\""));
    assert!(!document.contains("data-error"));
}
