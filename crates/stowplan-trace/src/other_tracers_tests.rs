//! What distributions and tracers other than ours record, or do not.

use crate::event::{Body, Discard, DiscardScope, TraceEvent};
use crate::graph::EventKinds;
use crate::record::{Confidence, LinkMethod};
use crate::scripted::{At, NodeAt, SET_UP_NS, Script, Sub};
use crate::{Address, Analysis, Endpoint, Hop, Overview, Window};

/// A talker and a listener of a distribution without takes.
struct Galactic {
    script: Script,
    talker: At,
    publisher: Address,
    listener: At,
    sub: Sub,
}

fn galactic() -> Galactic {
    let mut script = Script::new();
    let kinds = EventKinds {
        takes: false,
        rmw_publish: false,
        arrivals: false,
    };
    let talker = script.process(1);
    let listener = script.process(2);
    for at in [talker, listener] {
        script.builder.set_kinds(at.process, kinds);
    }
    let node = script.node(talker, "talker");
    let publisher = script.publisher(node, "/t");
    let node = script.node(listener, "listener");
    let sub = script.deep_subscription(node, "/t", "listener::on", 10);
    Galactic {
        script,
        talker,
        publisher,
        listener,
        sub,
    }
}

impl Galactic {
    /// Some other tracer records takes.
    fn with_takes(&mut self) {
        let kinds = EventKinds {
            takes: true,
            rmw_publish: false,
            arrivals: false,
        };
        let process = self.listener.process;
        self.script.builder.set_kinds(process, kinds);
    }

    fn publish(&mut self, time_ns: i64) {
        let (message, publisher) = (7, self.publisher);
        let script = &mut self.script;
        script.add(time_ns, self.talker, Body::RclcppPublish { message });
        let body = Body::RclPublish { publisher, message };
        script.add(time_ns + 1, self.talker, body);
    }

    fn call(&mut self, time_ns: i64) {
        let callback = self.sub.callback;
        self.script.start(time_ns, self.listener, callback);
        self.script.end(time_ns + 10, self.listener, callback);
    }
}

fn sources(analysis: &Analysis) -> Vec<Option<i64>> {
    let takes = analysis.records.takes.iter();
    takes
        .map(|(_, take)| Some(analysis.records.publications[take.link?.publication].time_ns))
        .collect()
}

#[test]
fn without_takes_the_latest_free_publications_are_guessed() {
    let mut galactic = galactic();
    // One that was lost, a burst of two that is worked off in order, one as usual,
    // and a callback by a publisher that was not traced.
    for time_ns in [100, 1000, 1010, 2000] {
        galactic.publish(time_ns);
    }
    for time_ns in [1100, 1200, 2100, 2200] {
        galactic.call(time_ns);
    }
    let analysis = galactic.script.analyse();
    let guessed = [Some(1000), Some(1010), Some(2000), None];
    assert_eq!(sources(&analysis), guessed);
    for (_, take) in analysis.records.takes.iter() {
        let Some(link) = take.link else { continue };
        assert_eq!(link.method, LinkMethod::LatestBeforeCallback);
        assert_eq!(link.confidence, Confidence::Guessed);
    }
}

#[test]
fn what_came_inside_the_process_is_not_guessed() {
    let mut galactic = galactic();
    galactic.publish(100);
    let callback = galactic.sub.callback;
    let intra = true;
    let body = Body::CallbackStart { callback, intra };
    galactic.script.add(200, galactic.listener, body);
    galactic.script.end(210, galactic.listener, callback);
    let analysis = galactic.script.analyse();
    assert!(analysis.records.takes.is_empty());
    assert_eq!(analysis.records.instances.len(), 1);
}

#[test]
fn caret_names_messages_by_their_timestamps() {
    let mut galactic = galactic();
    galactic.with_takes();
    for (time_ns, stamp) in [(100, 5), (200, 6)] {
        galactic.publish(time_ns);
        let body = Body::CaretStamp { message: 7, stamp };
        galactic.script.add(time_ns + 2, galactic.talker, body);
    }
    let callback = galactic.sub.callback;
    // The older message is handed over last.
    for (time_ns, stamp) in [(300, 6), (400, 5)] {
        let body = Body::Dispatch { callback, stamp };
        galactic.script.add(time_ns - 1, galactic.listener, body);
        galactic.call(time_ns);
    }
    let analysis = galactic.script.analyse();
    assert_eq!(sources(&analysis), [Some(200), Some(100)]);
    for (_, take) in analysis.records.takes.iter() {
        assert!(take.instance.is_some());
        let link = take.link.unwrap();
        assert_eq!(link.method, LinkMethod::Caret);
        assert_eq!(link.confidence, Confidence::Certain);
    }
}

/// Fast DDS: what is written is the message serialised, or the event has no address.
#[test]
fn caret_names_messages_by_what_was_made_of_them() {
    for serialised in [8, 0] {
        let mut galactic = galactic();
        galactic.with_takes();
        for (time_ns, stamp) in [(100, 5), (200, 6)] {
            galactic.publish(time_ns);
            let (from, to) = (7, 8);
            let talker = galactic.talker;
            let script = &mut galactic.script;
            script.add(time_ns + 2, talker, Body::MessageCopy { from, to });
            let body = Body::CaretStamp {
                message: serialised,
                stamp,
            };
            script.add(time_ns + 3, talker, body);
        }
        let callback = galactic.sub.callback;
        for (time_ns, stamp) in [(300, 6), (400, 5)] {
            let body = Body::Dispatch { callback, stamp };
            galactic.script.add(time_ns - 1, galactic.listener, body);
            galactic.call(time_ns);
        }
        let analysis = galactic.script.analyse();
        assert_eq!(sources(&analysis), [Some(200), Some(100)]);
        for (_, take) in analysis.records.takes.iter() {
            assert_eq!(take.link.unwrap().confidence, Confidence::Certain);
        }
    }
}

/// rclcpp copies a message for each further subscription inside the process.
#[test]
fn caret_follows_a_message_inside_the_process_through_its_copies() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "container");
    let publisher = script.publisher(node, "/points");
    let [first, second] = ["a", "b"].map(|symbol| script.subscription(node, "/points", symbol));
    for time_ns in [100, 200] {
        let message = 7;
        script.add(time_ns, at, Body::IntraPublish { publisher, message });
        let (from, to) = (message, 8);
        script.add(time_ns + 1, at, Body::MessageCopy { from, to });
        for (sub, message) in [(first, 8), (second, 7)] {
            let callback = sub.callback;
            let body = Body::DispatchIntra { callback, message };
            script.add(time_ns + 10, at, body);
        }
    }
    let analysis = script.analyse();
    let expected = [Some(100), Some(100), Some(200), Some(200)];
    assert_eq!(sources(&analysis), expected);
    for (_, take) in analysis.records.takes.iter() {
        assert_eq!(take.link.unwrap().method, LinkMethod::MessageAddress);
    }
}

/// Two inputs and two timers in one node; the program says which rests on which.
#[test]
fn causes_that_the_program_states_replace_those_that_are_possible() {
    let mut script = Script::new();
    let source = script.process(1);
    let node = script.node(source, "source");
    let start = script.timer(node, 100, "source::tick");
    let input = script.publisher(node, "/in");
    let fusion = script.process(2);
    let node: NodeAt = script.node(fusion, "fusion");
    let sub = script.subscription(node, "/in", "fusion::on");
    let slow = script.timer(node, 1000, "fusion::slow");
    let fast = script.timer(node, 500, "fusion::fast");
    let slow_out = script.publisher(node, "/slow");
    let fast_out = script.publisher(node, "/fast");
    // The address of the rcl subscription precedes those that the script gives out.
    let subscription = sub.rmw - 0x10;
    let body = Body::MessageLink {
        subscriptions: Box::leak(Box::new([subscription])),
        publishers: Box::leak(Box::new([fast_out])),
        synchronised: false,
    };
    script.add(SET_UP_NS, fusion, body);
    script.start(100, source, start);
    script.publish(110, source, input, Some(1));
    script.end(120, source, start);
    script.receive(200, 210, fusion, sub, 1);
    for (time_ns, timer, out) in [(300, slow, slow_out), (400, fast, fast_out)] {
        script.start(time_ns, fusion, timer);
        script.publish(time_ns + 1, fusion, out, Some(time_ns));
        script.end(time_ns + 10, fusion, timer);
    }
    let analysis = script.analyse();
    let find = |to| analysis.find_chains(Endpoint::Node("source"), Endpoint::Topic(to), 10);
    assert_eq!(find("/slow").chains.len(), 0);
    let found = find("/fast").chains;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].chain.hops[1], Hop::Idle);
    let result = analysis.measure(found[0].chain.clone(), Window::ALWAYS);
    assert_eq!(result.instances[0].e2e_ns, 301);
}

fn count(script: Script) -> Overview {
    let mut script = script;
    let mut builder = std::mem::take(&mut script.builder);
    builder.count(false);
    script
        .events
        .sort_by_key(|event: &TraceEvent<'_>| event.time_ns);
    for event in &script.events {
        builder.push(event);
    }
    builder.finish_overview()
}

#[test]
fn callbacks_that_discarded_events_touch_are_invalid_and_counted() {
    let mut galactic = galactic();
    for k in 0..10 {
        galactic.call(k * 1000);
    }
    let process = galactic.listener.process;
    galactic.script.builder.discard(Discard {
        scope: DiscardScope::Process(process),
        from_ns: 2_005,
        to_ns: 4_005,
        count: 17,
    });
    let overview = count(galactic.script);
    let callbacks = overview.callback_summaries();
    assert_eq!(callbacks.len(), 1);
    assert_eq!(
        (callbacks[0].count, callbacks[0].touched_by_discard),
        (10, 3)
    );
    assert_eq!(callbacks[0].durations.as_ref().unwrap().count, 7);
}
