//! Plain processes, through the agent.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod stage;

use stage::stage;
use stowplan_engine_conformance::{Setup, run};

fn conforms(variant: &str, matrix: &str) {
    let stage = stage("bare");
    let report = run(&Setup::plain(&stage, Some(variant)));
    assert_eq!(report.failures(), [], "bare:{variant}");
    assert_eq!(report.matrix(), matrix, "bare:{variant}");
}

#[test]
fn flat() {
    conforms("flat", include_str!("matrix/bare-flat.txt"));
}

#[test]
fn session() {
    conforms("session", include_str!("matrix/bare-session.txt"));
}

#[test]
fn grouped() {
    conforms("grouped", include_str!("matrix/bare-grouped.txt"));
}

#[test]
fn grouped_as_lxc() {
    conforms("grouped-lxc", include_str!("matrix/bare-grouped-as.txt"));
}

#[test]
fn grouped_as_lxd() {
    conforms("grouped-lxd", include_str!("matrix/bare-grouped-as.txt"));
}
