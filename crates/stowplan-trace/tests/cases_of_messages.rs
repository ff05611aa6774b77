//! Cases from the field: calls, messages and services whose right figures are known.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "common/cases.rs"]
mod cases;

use std::path::Path;

use stowplan_trace::{Analysis, Link, LinkMethod, Overview, Reading};

fn both(folder: &Path) -> (Analysis, Overview) {
    let whole = Analysis::from_ctf(folder).unwrap();
    let counted = Overview::from_ctf(folder, Reading::default()).unwrap();
    assert_eq!(counted.callback_summaries(), whole.callback_summaries());
    assert_eq!(*counted.link_summary(), whole.link_summary());
    assert_eq!(counted.gaps, whole.records.gaps);
    (whole, counted)
}

#[test]
fn a_callback_inside_itself_has_both_calls() {
    let Some(folder) = cases::case("15-nested-same-callback/trace") else {
        return;
    };
    let (whole, counted) = both(&folder);
    let goal = whole.graph.topic("/goal").unwrap();
    let mut durations: Vec<i64> = whole
        .records
        .instances
        .iter()
        .filter(|(_, i)| whole.graph.topic_of(i.callback) == Some(goal))
        .map(|(_, i)| i.end_ns.unwrap() - i.start_ns)
        .collect();
    durations.sort_unstable();
    assert_eq!(durations, [[2_000_000; 40], [30_000_000; 40]].concat());
    assert_eq!(counted.gaps.ends_without_start, 0);
    assert_eq!(counted.gaps.starts_without_end, 0);
}

#[test]
fn loaned_messages_are_linked_by_topic_and_time() {
    let Some(folder) = cases::case("10-loaned-timestamp-zero/trace") else {
        return;
    };
    let (whole, counted) = both(&folder);
    assert_eq!(counted.gaps.publications_without_stamp, 100);
    let links = counted.link_summary();
    assert_eq!((links.takes, links.linked), (100, 100));
    assert_eq!(links.by_method[&LinkMethod::TopicAndTime], 100);
    for (_, take) in whole.records.takes.iter() {
        let publication = &whole.records.publications[take.link.unwrap().publication];
        assert_eq!(take.time_ns - publication.time_ns, 500_000);
    }
}

#[test]
fn a_take_is_not_linked_across_a_lost_publication() {
    let Some(folder) = cases::case("18-lost-publication") else {
        return;
    };
    // What is no stream, as the case's README, would put all of the trace in doubt.
    let trace = tempfile::tempdir().unwrap();
    for file in ["metadata", "chan_0"] {
        std::fs::copy(folder.join(file), trace.path().join(file)).unwrap();
    }
    let (whole, counted) = both(trace.path());
    let by_stamp: Vec<(i64, Option<i64>)> = whole
        .records
        .takes
        .iter()
        .map(|(_, take)| {
            let time = |link: Link| whole.records.publications[link.publication].time_ns;
            (take.stamp.unwrap(), take.link.map(time))
        })
        .collect();
    assert_eq!(
        by_stamp[..2],
        [(1_001_500, Some(1_000_000)), (2_001_500, None)]
    );
    // Of the last it is not known whether the lost events were before it.
    assert_eq!(by_stamp[2], (3_001_500, None));
    let links = counted.link_summary();
    assert_eq!((links.linked, links.maybe_discarded), (1, 2));
}
