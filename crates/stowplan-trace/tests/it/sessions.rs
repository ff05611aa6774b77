//! Cases from the field: several sessions, snapshots and chunks of one system, and what is missing of them.

use std::path::Path;

use stowplan_testkit::case;
use stowplan_trace::{Analysis, Overview, Reading};

fn overview(folder: &Path) -> Overview {
    Overview::from_ctf(folder, Reading::default()).expect("a trace")
}

/// Node, owner and count of each callback that was called, in order of their names.
fn calls(overview: &Overview) -> Vec<(String, u64)> {
    let called = overview.callback_summaries();
    let called = called.iter().filter(|summary| summary.count > 0);
    let mut calls: Vec<_> = called
        .map(|summary| (overview.graph.describe(summary.callback), summary.count))
        .collect();
    calls.sort();
    calls
}

fn nodes(overview: &Overview) -> Vec<String> {
    let nodes = overview.graph.nodes.iter();
    let mut nodes: Vec<_> = nodes.filter_map(|(_, node)| node.name.clone()).collect();
    nodes.sort();
    nodes
}

#[test]
fn a_process_in_two_sessions_is_one() {
    let (Some(folder), Some(control)) = (
        case("02-dual-session/trace"),
        case("02-dual-session/control"),
    ) else {
        return;
    };
    let (dual, control) = (overview(&folder), overview(&control));
    assert_eq!(dual.graph.processes.len(), 2);
    assert_eq!(nodes(&dual), ["listener", "talker"]);
    assert_eq!(calls(&dual), calls(&control));
    assert!(calls(&dual).iter().all(|(_, count)| *count == 100));
    let (links, wanted) = (dual.link_summary(), control.link_summary());
    assert_eq!((links.takes, links.linked), (100, 100));
    assert_eq!(links.by_method, wanted.by_method);
    assert_eq!(dual.contents.by_event, control.contents.by_event);
    // Its two sessions have no time in common.
    assert_eq!((dual.repeats.guessed, dual.repeats.events), (2, 0));
    assert_eq!(control.repeats, Default::default());
}

#[test]
fn a_dual_session_of_lttng_is_named() {
    let Some(folder) = case("02-dual-session/trace-lttng") else {
        return;
    };
    let dual = overview(&folder);
    assert_eq!(dual.graph.processes.len(), 1);
    assert_eq!(nodes(&dual).len(), 2);
    let calls = calls(&dual);
    assert_eq!(
        calls.iter().map(|(_, count)| *count).collect::<Vec<_>>(),
        [39, 39]
    );
    let named = |(name, _): &(String, u64)| name.contains("talker") || name.contains("listener");
    assert!(calls.iter().all(named), "{calls:?}");
    assert_eq!(dual.link_summary().linked, 39);
}

#[test]
fn what_two_snapshots_share_is_counted_once() {
    let Some(folder) = case("04-overlapping-snapshots/trace") else {
        return;
    };
    let both = overview(&folder);
    assert_eq!((both.events, both.graph.processes.len()), (1013, 2));
    assert_eq!(nodes(&both), ["listener", "talker"]);
    assert!(calls(&both).iter().all(|(_, count)| *count == 100));
    let [overlap] = both.repeats.overlaps.as_slice() else {
        panic!("{:?}", both.repeats);
    };
    assert!(overlap.folders[0].starts_with("snapshot-1"), "{overlap:?}");
    assert!(overlap.folders[1].starts_with("snapshot-2"), "{overlap:?}");
    assert!(overlap.packets > Some(0), "{overlap:?}");
}

#[test]
fn snapshots_of_a_flight_recorder_are_one_trace() {
    let Some(folder) = case("04-overlapping-snapshots/trace-lttng") else {
        return;
    };
    let all = overview(&folder);
    assert_eq!(all.contents.by_event["ros2:callback_start"], 547);
    assert_eq!(all.graph.processes.len(), 1);
    assert!(!all.repeats.overlaps.is_empty());
}

#[test]
fn streams_without_metadata_are_told_as_an_empty_one_is() {
    for name in ["trace", "trace-empty"] {
        let Some(folder) = case(&format!("11-streams-without-metadata/{name}")) else {
            return;
        };
        let found = overview(&folder);
        assert_eq!(found.events, 507);
        let [error] = found.damage.as_slice() else {
            panic!("{:?}", found.damage);
        };
        assert!(error.to_string().contains("1001/64-bit"), "{error}");
    }
}

#[test]
fn a_counter_that_falls_back_is_not_counted_again() {
    let Some(folder) = case("17-discard-counter-zero") else {
        return;
    };
    let found = overview(&folder);
    assert_eq!(found.contents.discarded_events, 10);
    assert_eq!(found.discards.iter().filter(|d| d.count > 0).count(), 1);
    assert_eq!(
        Analysis::from_ctf(&folder)
            .expect("a trace")
            .discarded_events(),
        10
    );
}
