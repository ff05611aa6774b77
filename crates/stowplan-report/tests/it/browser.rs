//! The page in a real browser: every figure has marks and the script no error.
//!
//! Needs Chromium.
//! `STOWPLAN_CHROMIUM` names another program.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stowplan_judge::Judgement;
use stowplan_report::write_html;
use stowplan_results::Results;

use crate::chromium::{self, Session, Window};
use crate::common;

const FIGURES: [&str; 13] = [
    "startup-runs",
    "startup-gantt",
    "startup-modules",
    "latency-ecdf",
    "latency-histogram",
    "latency-parts",
    "callbacks-times",
    "edges-latency",
    "partition-picture",
    "usage-cpu",
    "usage-memory",
    "differences",
    "effects",
];

fn written(name: &str, size: common::Size) -> PathBuf {
    let folder = common::folder();
    let dir = common::write_detailed(folder.path(), size);
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    write_html(
        &Judgement::read(&Results::open(dir).unwrap()).unwrap(),
        &page,
    )
    .unwrap();
    page
}

fn usual() -> PathBuf {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    let size = common::Size {
        blocks: 8,
        instances: 600,
        samples: 60,
    };
    PAGE.get_or_init(|| written("report.html", size)).clone()
}

fn open(window: Window) -> Option<Session> {
    Session::open(&usual(), window)
}

#[test]
fn every_figure_has_marks_and_no_error() {
    let Some(mut session) = open(Window::WIDE) else {
        return;
    };
    session.unfold();
    let document = session.document();
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
    let page = written("report-one-block.html", size);
    let Some(mut session) = Session::open(&page, Window::WIDE) else {
        return;
    };
    session.unfold();
    assert!(!session.document().contains("data-error"));
}

/// Distance from the top of the page to the end of an element, CSS pixels.
fn bottom(session: &mut Session, selector: &str) -> f64 {
    let asked = format!("document.querySelector('{selector}').getBoundingClientRect().bottom");
    session.ask(&asked).as_f64().unwrap()
}

#[test]
fn the_answer_is_seen_first_and_the_rest_is_folded() {
    let Some(mut session) = open(Window::WIDE) else {
        return;
    };
    assert!(bottom(&mut session, ".questions") <= 600.0);
    let folded = session.ask("document.querySelectorAll('details.section:not([open])').length");
    assert!(folded.as_u64().unwrap() >= 6, "{folded}");
    let drawn = "document.querySelector('#latency-ecdf').dataset.marks === undefined";
    assert_eq!(session.ask(drawn), true, "what is folded is not drawn");
    // A link unfolds what it leads to.
    session.ask("document.querySelector('nav a[href=\"#latency\"]').click()");
    let open = "new Promise(done => { const look = () => document.querySelector('#latency-ecdf').dataset.marks \
                ? done(true) : setTimeout(look, 20); look(); })";
    assert_eq!(session.ask(open), true);
    // So does a print, of everything, and folds it again.
    session.ask("dispatchEvent(new Event('beforeprint'))");
    let marks = "[...document.querySelectorAll('figure')].every(f => f.dataset.marks)";
    assert_eq!(session.ask(marks), true);
    session.ask("dispatchEvent(new Event('afterprint'))");
    let open = session.ask("document.querySelectorAll('details.section[open]').length");
    assert_eq!(open, 3);
}

#[test]
fn nothing_is_wider_than_the_window() {
    for window in [Window::WIDE, Window::NARROW] {
        let Some(mut session) = open(window) else {
            return;
        };
        session.unfold();
        let width = session.ask("document.documentElement.scrollWidth");
        assert!(width.as_u64().unwrap() <= window.width.into(), "{width}");
        // What is cut off by its drawing cannot be read.
        let cut = session.ask(
            "[...document.querySelectorAll('.drawing > svg text, .facet > svg text')].filter(text => { \
             const own = text.getBoundingClientRect(); \
             const box = text.closest('.drawing').getBoundingClientRect(); \
             return own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1); \
             }).map(text => text.closest('figure').id + ': ' + text.textContent)",
        );
        assert_eq!(cut.as_array().unwrap().len(), 0, "{window:?}: {cut}");
        // No cell is as narrow as a letter.
        let letters = session.ask(
            "[...document.querySelectorAll('th, td, dt, dd')].filter(cell => cell.textContent.length > 3 \
             && cell.getBoundingClientRect().width > 0 && cell.getBoundingClientRect().width < 22) \
             .map(cell => cell.textContent)",
        );
        assert_eq!(letters.as_array().unwrap().len(), 0, "{letters}");
    }
}

#[test]
fn what_a_tip_says_is_reached_by_keyboard() {
    let Some(mut session) = open(Window::WIDE) else {
        return;
    };
    session.unfold();
    let unreachable = session.ask(
        "[...document.querySelectorAll('figure')].filter(f => f.dataset.reachable === '0').map(f => f.id)",
    );
    assert_eq!(unreachable.as_array().unwrap().len(), 0, "{unreachable}");
    let stops = "document.querySelectorAll('#differences .drawing [tabindex=\"0\"]').length";
    assert_eq!(session.ask(stops), 1, "one stop for each figure");
    session.ask("document.querySelector('#differences .drawing [tabindex=\"0\"]').focus()");
    let tip = "document.querySelector('.tip:not([hidden])').textContent";
    let first = session.ask(tip);
    for part in ["difference", "95 % interval", "7 blocks"] {
        assert!(first.as_str().unwrap().contains(part), "{first}");
    }
    session.press("ArrowRight");
    let second = session.ask(tip);
    assert_ne!(first, second);
    let name = session.ask("document.activeElement.getAttribute('aria-label')");
    assert_eq!(
        name.as_str().unwrap(),
        second.as_str().unwrap().replace('\n', ", ")
    );
    session.press("End");
    assert_ne!(session.ask(tip), second);
    // A verdict says why.
    session.ask("document.querySelector('.verdict[tabindex]').focus()");
    let why = session.ask(tip);
    assert!(why.as_str().unwrap().len() > 20, "{why}");
}
