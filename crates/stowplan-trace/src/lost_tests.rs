//! Links where events were discarded: of publications, of what tells them apart.

use proptest::prelude::*;

use crate::event::{Body, DiscardScope};
use crate::graph::EventKinds;
use crate::scripted::{At, NodeAt, Script, Sub};
use crate::{Address, Analysis, Endpoint, Window};

const MS: i64 = 1_000_000;
const OFFSET: i64 = 1_700_000_000_000_000_000;

/// A publisher of /t outside callbacks and a subscription, each in a process of its own.
struct Pair {
    script: Script,
    source: At,
    publisher: Address,
    sink: At,
    sub: Sub,
}

fn pair() -> Pair {
    let mut script = Script::new();
    let (source, sink) = (script.process(1), script.process(2));
    let node = script.node(source, "source");
    let publisher = script.publisher(node, "/t");
    let node = script.node(sink, "sink");
    let sub = script.deep_subscription(node, "/t", "sink::on", 10);
    for at in [source, sink] {
        let builder = &mut script.builder;
        builder.describe_process(at.process, None, Some(OFFSET));
    }
    Pair {
        script,
        source,
        publisher,
        sink,
        sub,
    }
}

/// When the publication of each take was; whether its link is in doubt.
fn links(analysis: &Analysis) -> Vec<(Option<i64>, bool)> {
    let records = &analysis.records;
    let time = |link: crate::Link| records.publications[link.publication].time_ns;
    let takes = records.takes.iter();
    takes
        .map(|(_, take)| (take.link.map(time), take.maybe_discarded))
        .collect()
}

#[test]
fn a_lost_publication_ends_the_window_of_the_one_before() {
    let mut pair = pair();
    let (source, sink) = (pair.source, pair.sink);
    let script = &mut pair.script;
    for stamp in [3, 2 * MS + 3, 3 * MS + 3, 3 * MS + 900_003] {
        let start = stamp + MS / 10;
        script.receive(start, start + 10, sink, pair.sub, OFFSET + stamp);
    }
    script.publish(3 * MS, source, pair.publisher, None);
    let later = std::mem::take(&mut script.events);
    let (set_up, later): (Vec<_>, Vec<_>) = later.into_iter().partition(|e| e.time_ns < 0);
    script.events = set_up;
    script.publish(0, source, pair.publisher, None);
    // The publication at 2 ms is lost, and what comes after 3.8 ms.
    script.lose(DiscardScope::Process(source.process), MS, 5 * MS / 2);
    script.lose(DiscardScope::Process(source.process), 38 * MS / 10, 4 * MS);
    script.events = later;
    let analysis = pair.script.analyse();
    let (a, b) = ((Some(0), false), (Some(3 * MS), false));
    assert_eq!(links(&analysis), [a, (None, true), b, (None, true)]);
    let summary = analysis.link_summary();
    let counts = (summary.linked, summary.unlinked, summary.maybe_discarded);
    assert_eq!(counts, (2, 2, 2));
}

#[test]
fn a_window_of_the_middleware_does_not_last() {
    let mut pair = pair();
    pair.script.publish(0, pair.source, pair.publisher, None);
    // Of a publisher that was not traced, long after.
    let start = 1500 * MS;
    let stamp = OFFSET + start - 5;
    let (sink, sub) = (pair.sink, pair.sub);
    pair.script.receive(start, start + 1, sink, sub, stamp);
    assert_eq!(links(&pair.script.analyse()), [(None, false)]);
}

#[test]
fn a_slot_that_may_have_been_used_again_unseen_links_nothing() {
    for lost in [false, true] {
        let mut pair = pair();
        let source = pair.source;
        let script = &mut pair.script;
        let node = script.node(source, "inside");
        let inside = script.subscription(node, "/t", "inside::on");
        let (ipb, buffer) = (0x51, 0x52);
        let object = inside.object;
        script.add(-1, source, Body::IpbToSubscription { ipb, object });
        script.add(-1, source, Body::BufferToIpb { buffer, ipb });
        let (publisher, message) = (pair.publisher, 0x99);
        script.add(0, source, Body::IntraPublish { publisher, message });
        let (index, overwritten) = (0, false);
        let body = Body::RingEnqueue {
            buffer,
            index,
            overwritten,
        };
        script.add(1, source, body);
        if lost {
            // The dequeue of it, and the next enqueue.
            script.lose(DiscardScope::Process(source.process), 10, 100);
        }
        script.add(200, source, Body::RingDequeue { buffer, index });
        script.start(210, source, inside.callback);
        script.end(220, source, inside.callback);
        let expected = if lost { (None, true) } else { (Some(0), false) };
        assert_eq!(links(&pair.script.analyse()), [expected]);
    }
}

#[test]
fn a_timestamp_of_the_middleware_is_not_given_to_the_publication_before() {
    let mut pair = pair();
    let (source, process) = (pair.source, pair.source.process);
    pair.script.publish(0, source, pair.publisher, None);
    // Its dds:write is lost, and the publication to which the next one belongs.
    pair.script.lose(DiscardScope::Process(process), 3, 50);
    let timestamp = OFFSET + 60;
    let write = Body::DdsWrite { timestamp };
    pair.script.add(60, source, write);
    let (sink, sub) = (pair.sink, pair.sub);
    pair.script.receive(100, 110, sink, sub, timestamp);
    assert_eq!(links(&pair.script.analyse()), [(None, true)]);
}

#[test]
fn a_publication_that_is_guessed_is_not_guessed_over_lost_ones() {
    let mut pair = pair();
    let (source, sink, callback) = (pair.source, pair.sink, pair.sub.callback);
    let kinds = EventKinds {
        takes: false,
        rmw_publish: false,
        arrivals: false,
    };
    for at in [source, sink] {
        pair.script.builder.set_kinds(at.process, kinds);
    }
    let publish = |script: &mut Script, time_ns| {
        let (publisher, message) = (pair.publisher, 7);
        script.add(time_ns, source, Body::RclPublish { publisher, message });
    };
    let call = |script: &mut Script, time_ns| {
        script.start(time_ns, sink, callback);
        script.end(time_ns + 10, sink, callback);
    };
    publish(&mut pair.script, 0);
    call(&mut pair.script, 100);
    publish(&mut pair.script, 1000);
    pair.script
        .lose(DiscardScope::Process(source.process), 1050, 1090);
    call(&mut pair.script, 1100);
    let analysis = pair.script.analyse();
    assert_eq!(links(&analysis), [(Some(0), false), (None, true)]);
}

/// Where all of a trace is in doubt, chains are found all the same, and invalid.
#[test]
fn chains_of_a_trace_in_doubt_are_found() {
    let build = || {
        let mut pair = pair();
        let (source, sink) = (pair.source, pair.sink);
        let node = NodeAt {
            at: source,
            address: 0x1010,
        };
        let tick = pair.script.timer(node, MS, "source::tick");
        let script = &mut pair.script;
        script.lose(DiscardScope::Trace("trace".to_owned()), -1, i64::MAX);
        for k in 0..4 {
            let t = k * 10 * MS;
            script.start(t, source, tick);
            script.publish(t + 100, source, pair.publisher, None);
            script.end(t + 200, source, tick);
            script.receive(t + 500, t + 600, sink, pair.sub, OFFSET + t + 150);
        }
        pair.script
    };
    let ends = (Endpoint::Node("source"), Endpoint::Node("sink"));
    let (analysis, overview) = (build().analyse(), build().overview());
    let found = overview.find_chains(ends.0, ends.1, 1);
    assert_eq!(found, analysis.find_chains(ends.0, ends.1, 1));
    let result = analysis.measure(found.chains[0].chain.clone(), Window::ALWAYS);
    assert_eq!((result.instances.len(), result.invalid.len()), (0, 4));
    let [edge] = &overview.edge_summaries()[..] else {
        panic!("{:?}", overview.edge_summaries())
    };
    assert_eq!((edge.messages, &edge.latency), (4, &None));
    assert_eq!(overview.link_summary().linked, 0);
}

/// Chains over links in doubt are invalid, and those beside them are not.
#[test]
fn chains_over_a_link_in_doubt_are_invalid() {
    let mut pair = pair();
    let (source, sink) = (pair.source, pair.sink);
    let node = NodeAt {
        at: source,
        address: 0x1010,
    };
    let tick = pair.script.timer(node, MS, "source::tick");
    for k in 0..4 {
        let t = k * 10 * MS;
        let script = &mut pair.script;
        script.start(t, source, tick);
        script.publish(t + 100, source, pair.publisher, None);
        if k == 1 {
            script.lose(DiscardScope::Process(source.process), t + 103, t + 104);
        }
        script.end(t + 200, source, tick);
        script.receive(t + 500, t + 600, sink, pair.sub, OFFSET + t + 150);
    }
    let analysis = pair.script.analyse();
    let found = analysis.find_chains(Endpoint::Node("source"), Endpoint::Node("sink"), 1);
    let result = analysis.measure(found.chains[0].chain.clone(), Window::ALWAYS);
    assert_eq!(result.invalid.len(), 1);
    assert!(result.broken.is_empty());
    assert!(result.instances.iter().all(|i| i.e2e_ns == 600));
}

/// Publications: number of the process and time since the last one.
type Messages = Vec<(usize, i64)>;
/// Spans in which the first process loses its events.
type Lost = Vec<(i64, i64)>;

fn publications() -> impl Strategy<Value = (Messages, Lost)> {
    let one = (0..2_usize, 20_000..2 * MS);
    let hole = (10 * MS..4_000 * MS, 1_000..40 * MS);
    let holes = prop::collection::vec(hole, 0..5).prop_map(|mut holes| {
        holes.sort_unstable();
        holes
            .iter()
            .map(|&(from, length)| (from, from + length))
            .collect()
    });
    (prop::collection::vec(one, 100..8_000), holes)
}

/// Messages and holes as a script, and when the publication of each take was.
fn recorded(messages: &[(usize, i64)], holes: &[(i64, i64)]) -> (Script, Vec<i64>) {
    let mut pair = pair();
    let other = pair.script.process(3);
    let node = pair.script.node(other, "other");
    let of_other = pair.script.publisher(node, "/t");
    let publishers = [(pair.source, pair.publisher), (other, of_other)];
    let builder = &mut pair.script.builder;
    builder.describe_process(other.process, None, Some(OFFSET));
    let mut truth = Vec::new();
    let mut time_ns = 0;
    for &(who, gap_ns) in messages {
        time_ns += gap_ns;
        let (at, publisher) = publishers[who];
        pair.script.publish(time_ns, at, publisher, None);
        let stamp = OFFSET + time_ns + 500;
        let start = time_ns + 10_000;
        pair.script
            .receive(start, start + 1_000, pair.sink, pair.sub, stamp);
        truth.push(time_ns);
    }
    let mut events = std::mem::take(&mut pair.script.events);
    events.sort_by_key(|event| event.time_ns);
    let mut next = holes.iter().peekable();
    for event in events {
        while let Some(&(from, to)) = next.next_if(|hole| hole.0 <= event.time_ns) {
            let scope = DiscardScope::Process(pair.source.process);
            pair.script.lose(scope, from, to);
        }
        let inside = |&(from, to): &(i64, i64)| from < event.time_ns && event.time_ns < to;
        if event.process != pair.source.process || !holes.iter().any(inside) {
            pair.script.events.push(event);
        }
    }
    (pair.script, truth)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_message_is_linked_to_a_publication_that_is_not_its_own(
        (messages, holes) in publications(),
    ) {
        let (script, truth) = recorded(&messages, &holes);
        let analysis = script.analyse();
        let links = links(&analysis);
        prop_assert_eq!(links.len(), truth.len());
        for (&(link, discarded), &time_ns) in links.iter().zip(&truth) {
            prop_assert!(link.is_none_or(|link| link == time_ns), "{:?} {}", link, time_ns);
            prop_assert_eq!(link.is_none(), discarded);
            let near = |&(from, to): &(i64, i64)| {
                from <= time_ns + 500 && time_ns <= to + 10 * MS
            };
            prop_assert!(link.is_some() || holes.iter().any(near));
        }
        let overview = recorded(&messages, &holes).0.overview();
        prop_assert_eq!(overview.link_summary(), &analysis.link_summary());
        let linked: Vec<i64> = links.iter().filter_map(|link| link.0).collect();
        let counted: Vec<i64> = overview.counted.pairs.iter().map(|p| p.published_ns).collect();
        prop_assert_eq!(linked, counted);
    }
}
