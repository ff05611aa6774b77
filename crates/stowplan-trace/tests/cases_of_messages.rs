//! Cases from the field: calls, messages and services whose right figures are known.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "common/cases.rs"]
mod cases;

use std::path::Path;

use stowplan_trace::{Analysis, LinkMethod, Overview, Reading};

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
