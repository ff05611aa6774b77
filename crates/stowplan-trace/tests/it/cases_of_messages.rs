//! Cases from the field: calls, messages and services whose right figures are known.

use std::path::Path;

use stowplan_trace::{
    Analysis, ChainResult, Distribution, Endpoint, Id as _, Link, LinkMethod, Overview, Reading,
    Window,
};

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
    let Some(folder) = stowplan_testkit::case("15-nested-same-callback/trace") else {
        return;
    };
    let (whole, counted) = both(&folder);
    let goal = whole.graph.topic("/goal").unwrap();
    let mut durations: Vec<i64> = whole
        .records
        .instances
        .iter()
        .filter(|(_, i)| whole.graph.topic_of(i.callback) == Some(goal))
        .map(|(_, i)| i.end_ns.get().unwrap() - i.start_ns)
        .collect();
    durations.sort_unstable();
    assert_eq!(durations, [[2_000_000; 40], [30_000_000; 40]].concat());
    assert_eq!(counted.gaps.ends_without_start, 0);
    assert_eq!(counted.gaps.starts_without_end, 0);
}

#[test]
fn loaned_messages_are_linked_by_topic_and_time() {
    let Some(folder) = stowplan_testkit::case("10-loaned-timestamp-zero/trace") else {
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
    let Some(folder) = stowplan_testkit::case("18-lost-publication") else {
        return;
    };
    // Its README stands beside the stream, as notes do.
    let (whole, counted) = both(&folder);
    let by_stamp: Vec<(i64, Option<i64>)> = whole
        .records
        .takes
        .iter()
        .map(|(_, take)| {
            let time = |link: Link| whole.records.publications[link.publication].time_ns;
            (take.stamp.get().unwrap(), take.link.map(time))
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

/// The chains from talker to listener, and the trace.
fn talker_to_listener(folder: &Path) -> (Overview, ChainResult) {
    let (whole, counted) = both(folder);
    assert_eq!(whole.clocks, counted.clocks);
    let ends = (Endpoint::Node("talker"), Endpoint::Node("listener"));
    let chain = counted
        .find_chains(ends.0, ends.1, 1)
        .chains
        .remove(0)
        .chain;
    let kept = Analysis::of_chains(folder, Reading::default(), &counted, [&chain]).unwrap();
    let result = kept.measure(chain.clone(), Window::ALWAYS);
    let of_whole = whole.measure(chain, Window::ALWAYS);
    assert_eq!(result.invalid.len(), of_whole.invalid.len());
    assert_eq!(result.summary(), of_whole.summary());
    (counted, result)
}

#[test]
fn between_hosts_with_clocks_apart_chains_are_invalid() {
    let Some(folder) = stowplan_testkit::case("09-two-hosts-clock-skew") else {
        return;
    };
    let (overview, result) = talker_to_listener(&folder.join("trace"));
    let [clocks] = &overview.clocks[..] else {
        panic!("{:?}", overview.clocks)
    };
    assert_eq!(
        (clocks.ahead.as_str(), clocks.behind.as_str()),
        ("ecu1", "ecu2")
    );
    assert_eq!((clocks.messages, clocks.early), (100, 100));
    // 3 ms, less the 500 µs that the messages need.
    assert_eq!((clocks.least_ns, clocks.most_ns), (2_500_000, None));
    assert_eq!((result.instances.len(), result.invalid.len()), (0, 100));
    let (overview, result) = talker_to_listener(&folder.join("control"));
    assert_eq!(overview.clocks, []);
    assert_eq!((result.instances.len(), result.invalid.len()), (100, 0));
    assert!(result.instances.iter().all(|i| i.e2e_ns == 2_700_000));
}

#[test]
fn calls_of_services_have_request_response_and_round_trip() {
    let Some(folder) = stowplan_testkit::case("14-service-latency/trace") else {
        return;
    };
    let (whole, counted) = both(&folder);
    assert_eq!(counted.services, whole.services);
    let [calls] = &counted.services[..] else {
        panic!("{:?}", counted.services)
    };
    let graph = &counted.graph;
    assert_eq!(calls.name.as_deref(), Some("/map/get"));
    let client = &graph.clients[calls.client.unwrap().index()];
    assert_eq!(graph.nodes[client.node].full_name(), "/planner");
    let server = &graph.services[calls.server.unwrap()];
    assert_eq!(graph.nodes[server.node].full_name(), "/map_server");
    assert_eq!(calls.calls, calls.answered);
    let only = |of: &Option<Distribution>| {
        let of = of.as_ref().unwrap();
        assert_eq!(of.count, calls.calls);
        assert_eq!(of.min_ns, of.max_ns);
        of.min_ns
    };
    assert_eq!(only(&calls.request), 600_000);
    assert_eq!(only(&calls.service), 8_000_000);
    assert_eq!(only(&calls.response), 400_000);
    assert_eq!(only(&calls.round_trip), 9_000_000);
}
