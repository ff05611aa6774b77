//! Traces of real ROS 2 systems, recorded by LTTng, read as babeltrace2 reads them.

use stowplan_ctf::dir::TraceFolder;

use crate::common;

/// Every value of every event.
fn all_values_equal(name: &str, events: usize) {
    let Some(folder) = common::kept_trace(name) else {
        return;
    };
    let trace = TraceFolder::open(folder.path()).expect("a trace");
    let (lines, lost) = common::read(&trace);
    assert_eq!((lines.len(), lost), (events, 0));
    let Some(reference) = common::babeltrace(folder.path()) else {
        return;
    };
    assert_eq!(reference.complaints, "");
    let reference = reference.lines();
    assert_eq!(lines.len(), reference.len());
    for (ours, theirs) in lines.iter().zip(&reference) {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn humble_talker_listener() {
    all_values_equal("humble-talker_listener", 1_495);
}

#[test]
fn humble_services() {
    all_values_equal("humble-svc", 2_763);
}

#[test]
fn galactic_with_caret() {
    all_values_equal("caret-end-to-end", 2_880);
}

#[test]
fn humble_with_dds_events() {
    all_values_equal("tracecompass-ros2", 99_338);
}

#[test]
fn one_trace_per_process() {
    let Some(folder) = common::kept_trace("humble-chain_perpid") else {
        return;
    };
    let trace = TraceFolder::open(folder.path()).expect("traces");
    assert_eq!(trace.traces().len(), 3);
    counts_equal(&trace, folder.path(), 252_311);
}

#[test]
fn containers() {
    let Some(folder) = common::kept_trace("humble-ab_ctr_r1") else {
        return;
    };
    let trace = TraceFolder::open(folder.path()).expect("a trace");
    counts_equal(&trace, folder.path(), 158_545);
}

#[test]
fn autoware() {
    let Some(folder) = common::kept_trace("autoware-carla") else {
        return;
    };
    let trace = TraceFolder::open(folder.path()).expect("a trace");
    counts_equal(&trace, folder.path(), 683_756);
}

/// Events per name.
fn counts_equal(trace: &TraceFolder, path: &std::path::Path, events: u64) {
    let summary = trace.summary().expect("a valid trace");
    assert_eq!(summary.events, events);
    assert_eq!(
        (summary.discarded_events, summary.discarded_packets),
        (0, 0)
    );
    if let Some(reference) = common::babeltrace(path) {
        assert_eq!(reference.complaints, "");
        assert_eq!(summary.by_name, reference.names());
    }
}

#[test]
#[ignore = "a quarter of a million events as text"]
fn every_value_of_one_trace_per_process() {
    all_values_equal("humble-chain_perpid", 252_311);
}

#[test]
#[ignore = "more than a hundred thousand events as text"]
fn every_value_of_containers() {
    all_values_equal("humble-ab_ctr_r1", 158_545);
}

#[test]
#[ignore = "two thirds of a million events as text"]
fn every_value_of_autoware() {
    all_values_equal("autoware-carla", 683_756);
}
