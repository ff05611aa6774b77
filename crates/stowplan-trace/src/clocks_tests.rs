//! Messages between hosts with clocks apart: what they prove, and what becomes invalid.

use crate::event::ProcessKey;
use crate::scripted::{At, Script, Sub};
use crate::{Address, ChainResult, ClockDifference, Endpoint, UnlinkedBecause, Window};

const MS: i64 = 1_000_000;

/// A node on each of two hosts: /a from the first to the second, /b back.
struct Hosts {
    script: Script,
    first: At,
    second: At,
    tick: Address,
    a: Address,
    on_a: Sub,
    b: Address,
    on_b: Sub,
}

fn hosts(names: [&str; 2]) -> Hosts {
    let mut script = Script::new();
    let [first, second] = [0, 1].map(|at| {
        script.process_of(&ProcessKey {
            host: names[at].to_owned(),
            trace: format!("of {}", names[at]),
            pid_namespace: None,
            vpid: at as i64,
        })
    });
    let node = script.node(first, "talker");
    let tick = script.timer(node, 100 * MS, "talker::tick");
    let a = script.publisher(node, "/a");
    let on_b = script.subscription(node, "/b", "talker::on");
    let node = script.node(second, "listener");
    let on_a = script.subscription(node, "/a", "listener::on");
    let b = script.publisher(node, "/b");
    Hosts {
        script,
        first,
        second,
        tick,
        a,
        on_a,
        b,
        on_b,
    }
}

impl Hosts {
    /// /a is on its way for `there` ns, /b for `back` ns, as the clocks have it.
    fn exchange(&mut self, at_ns: i64, there: i64, back: i64) {
        let script = &mut self.script;
        script.start(at_ns, self.first, self.tick);
        script.publish(at_ns + 100, self.first, self.a, Some(at_ns));
        script.end(at_ns + 200, self.first, self.tick);
        let got = at_ns + 100 + there + 5;
        let (start, end) = (got, got + 1000);
        script.take(start - 5, self.second, self.on_a, at_ns);
        script.start(start, self.second, self.on_a.callback);
        script.publish(start + 100, self.second, self.b, Some(at_ns + 1));
        script.end(end, self.second, self.on_a.callback);
        let got = start + 100 + back + 5;
        let (on_b, first) = (self.on_b, self.first);
        script.receive(got, got + 10, first, on_b, at_ns + 1);
    }

    /// The differences, of both ways to read; and the chain from talker to listener.
    fn found(build: impl Fn() -> Self) -> (Vec<ClockDifference>, ChainResult) {
        let analysis = build().script.analyse();
        let overview = build().script.overview();
        assert_eq!(overview.clocks, analysis.clocks);
        for edge in overview.edge_summaries() {
            assert_eq!(edge.latency.is_none(), !analysis.clocks.is_empty());
        }
        let ends = (Endpoint::Node("talker"), Endpoint::Node("listener"));
        let chain = analysis.find_chains(ends.0, ends.1, 1).chains.remove(0);
        let result = analysis.measure(chain.chain, Window::ALWAYS);
        (analysis.clocks, result)
    }
}

#[test]
fn messages_both_ways_give_the_interval_of_the_difference() {
    // The first is ahead by 3 ms; messages need 200 to 500 µs.
    let (clocks, result) = Hosts::found(|| {
        let mut hosts = hosts(["ecu1", "ecu2"]);
        for (k, delay) in [500_000, 200_000, 300_000].into_iter().enumerate() {
            hosts.exchange((k as i64 + 1) * 100 * MS, delay - 3 * MS, delay + 3 * MS);
        }
        hosts
    });
    let difference = ClockDifference {
        ahead: "ecu1".to_owned(),
        behind: "ecu2".to_owned(),
        least_ns: 2_800_000,
        most_ns: Some(3_200_000),
        messages: 3,
        early: 3,
    };
    assert_eq!(clocks, [difference]);
    assert!(result.instances.is_empty());
    assert_eq!(result.invalid.len(), 3);
    let reason = "the clocks of hosts ecu1 and ecu2 differ";
    assert!(result.invalid.iter().all(|i| i.reason == reason));
    assert_eq!(
        (result.max_reaction_ns, result.summary().reaction),
        (None, None)
    );
}

#[test]
fn the_direction_that_is_not_early_is_invalid_too() {
    // The second is ahead: only /b seems early, the chain goes over /a.
    let (clocks, result) = Hosts::found(|| {
        let mut hosts = hosts(["ecu1", "ecu2"]);
        hosts.exchange(100 * MS, 2 * MS, -MS);
        hosts.exchange(200 * MS, 2 * MS, MS / 2);
        hosts
    });
    let [difference] = &clocks[..] else {
        panic!("{clocks:?}")
    };
    assert_eq!(
        (difference.ahead.as_str(), difference.least_ns),
        ("ecu2", MS)
    );
    assert_eq!((difference.messages, difference.early), (2, 1));
    assert_eq!((result.instances.len(), result.invalid.len()), (0, 2));
}

#[test]
fn clocks_that_no_message_contradicts_agree() {
    let (clocks, result) = Hosts::found(|| {
        let mut hosts = hosts(["ecu1", "ecu2"]);
        for k in 1..=2 {
            hosts.exchange(k * 100 * MS, 2 * MS, MS);
        }
        hosts
    });
    assert_eq!(clocks, []);
    assert_eq!((result.instances.len(), result.invalid.len()), (2, 0));
}

#[test]
fn messages_within_a_host_prove_nothing() {
    // A take that is recorded before its publication, by another thread's buffer.
    let (clocks, result) = Hosts::found(|| {
        let mut hosts = hosts(["ecu1", "ecu1"]);
        for k in 1..=2 {
            hosts.exchange(k * 100 * MS, -50, 100);
        }
        hosts
    });
    assert_eq!(clocks, []);
    assert_eq!((result.instances.len(), result.invalid.len()), (2, 0));
}

#[test]
fn a_timestamp_after_its_take_is_counted_where_no_publication_is_known() {
    let build = || {
        let mut hosts = hosts(["ecu1", "ecu2"]);
        let (at, sub) = (hosts.second, hosts.on_a);
        let builder = &mut hosts.script.builder;
        builder.describe_process(at.process, None, Some(1000 * MS));
        // Taken at 5 ns before the start: early by 3 ms, and not early.
        hosts.script.receive(100, 200, at, sub, 1003 * MS + 95);
        hosts.script.receive(300, 400, at, sub, 1000 * MS + 290);
        hosts.script
    };
    let analysis = build().analyse();
    let links = analysis.link_summary();
    let why = links.unlinked_topics(&analysis.graph).into_iter();
    let why: Vec<_> = why.map(|one| (one.because, one.takes)).collect();
    assert_eq!(
        why,
        [
            (UnlinkedBecause::ClockAhead, 1),
            (UnlinkedBecause::NoPublication, 1)
        ]
    );
    let early = (links.unlinked, links.unlinked_early, links.most_early_ns);
    assert_eq!(early, (2, 1, 3 * MS));
    assert_eq!(*build().overview().link_summary(), links);
}
