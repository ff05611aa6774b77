//! Links where several publications, threads and processes look alike.

use crate::event::{Body, DiscardScope, ProcessKey};
use crate::record::{Confidence, LinkMethod};
use crate::scripted::{At, Script, Sub};
use crate::{Address, Analysis, Id};

/// `count` publishers of /t, each in its own process with its own timer.
fn publishers(script: &mut Script, count: i64) -> Vec<(At, Address, Address)> {
    (0..count)
        .map(|k| {
            let at = script.process(100 + k);
            let node = script.node(at, "source");
            let timer = script.timer(node, 1000, "source::tick");
            (at, timer, script.publisher(node, "/t"))
        })
        .collect()
}

fn reader(script: &mut Script, vpid: i64) -> (At, Sub) {
    let at = script.process(vpid);
    let node = script.node(at, "sink");
    (at, script.subscription(node, "/t", "sink::on"))
}

/// Publisher index and confidence for every take.
fn linked(analysis: &Analysis) -> Vec<Option<(usize, u32, Confidence)>> {
    analysis
        .records
        .takes
        .iter()
        .map(|(_, take)| {
            let link = take.link?;
            let publication = &analysis.records.publications[link.publication];
            Some((
                publication.publisher.index(),
                publication.ordinal,
                link.confidence,
            ))
        })
        .collect()
}

#[test]
fn several_publishers_on_a_topic_are_told_apart_by_stamp() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 3);
    let (at, sub) = reader(&mut script, 7);
    // Sent in the order 0 1 2, taken in the order 2 0 1.
    for (k, &(source, _, publisher)) in sources.iter().enumerate() {
        let k = k as i64;
        script.publish(1000 + 10 * k, source, publisher, Some(500 + k));
    }
    for (n, k) in [2, 0, 1].into_iter().enumerate() {
        let start = 2000 + 100 * n as i64;
        script.receive(start, start + 50, at, sub, 500 + k);
    }
    let analysis = script.analyse();
    let certain = |k| Some((k, 0, Confidence::Certain));
    assert_eq!(linked(&analysis), [certain(2), certain(0), certain(1)]);
}

#[test]
fn equal_stamps_go_by_order_and_say_so() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 2);
    let (at, sub) = reader(&mut script, 7);
    let (other_at, other) = reader(&mut script, 8);
    script.publish(1000, sources[0].0, sources[0].2, Some(500));
    script.publish(1010, sources[1].0, sources[1].2, Some(500));
    script.receive(2000, 2050, at, sub, 500);
    script.receive(2100, 2150, at, sub, 500);
    script.receive(2200, 2250, other_at, other, 500);
    let analysis = script.analyse();
    let ambiguous = |k| Some((k, 0, Confidence::Ambiguous));
    assert_eq!(
        linked(&analysis),
        [ambiguous(0), ambiguous(1), ambiguous(0)]
    );
}

#[test]
fn of_equal_stamps_only_what_was_sent_before_the_take_counts() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 2);
    let (at, sub) = reader(&mut script, 7);
    script.publish(1000, sources[1].0, sources[1].2, Some(500));
    script.receive(2000, 2050, at, sub, 500);
    script.publish(3000, sources[0].0, sources[0].2, Some(500));
    let analysis = script.analyse();
    assert_eq!(linked(&analysis), [Some((1, 0, Confidence::Certain))]);
}

#[test]
fn equal_addresses_in_two_processes_do_not_mix() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 2);
    assert_eq!(sources[0].2, sources[1].2, "equal addresses");
    let (at, sub) = reader(&mut script, 7);
    for (k, &(source, timer, publisher)) in sources.iter().enumerate() {
        let k = k as i64;
        script.start(100 + k, source, timer);
        script.publish(200 + 10 * k, source, publisher, Some(1 + k));
        script.end(300 + k, source, timer);
        script.receive(1000 + 100 * k, 1050 + 100 * k, at, sub, 1 + k);
    }
    let analysis = script.analyse();
    let starts: Vec<(usize, i64, Option<i64>)> = analysis
        .records
        .instances
        .iter()
        .map(|(_, i)| (i.callback.index(), i.start_ns, i.end_ns.get()))
        .collect();
    assert_eq!(starts[..2], [(0, 100, Some(300)), (1, 101, Some(301))]);
    let publishers: Vec<usize> = analysis
        .records
        .publications
        .iter()
        .map(|(_, p)| p.instance.unwrap().index())
        .collect();
    assert_eq!(publishers, [0, 1]);
}

#[test]
fn process_one_in_two_containers_is_two_processes() {
    let mut script = Script::new();
    let key = |pid_namespace| ProcessKey {
        host: "host".into(),
        trace: "ust/uid/0".into(),
        pid_namespace: Some(pid_namespace),
        vpid: 1,
    };
    let a = script.process_of(&key(4_026_532_180));
    let b = script.process_of(&key(4_026_532_320));
    assert_eq!(script.process_of(&key(4_026_532_180)).process, a.process);
    assert_ne!(a.process, b.process);
    assert_ne!(a.thread, b.thread);
    script.node(a, "a");
    script.node(b, "b");
    let analysis = script.analyse();
    let names: Vec<String> = analysis
        .graph
        .nodes
        .iter()
        .map(|(_, node)| node.full_name())
        .collect();
    assert_eq!(names, ["/a", "/b"]);
}

#[test]
fn two_threads_of_an_executor_keep_takes_and_publications_apart() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 1);
    let (source, _, publisher) = sources[0];
    let main = script.process(7);
    let node = script.node(main, "relay");
    let sub = script.subscription(node, "/t", "relay::on");
    let out = script.publisher(node, "/out");
    let other = script.thread(main, 8);
    script.publish(10, source, publisher, Some(1));
    script.publish(20, source, publisher, Some(2));
    // Interleaved step by step: take, take, start, start, publish, publish, end, end.
    script.take(100, main, sub, 1);
    script.take(101, other, sub, 2);
    script.start(110, other, sub.callback);
    script.start(111, main, sub.callback);
    script.publish(120, main, out, Some(11));
    script.publish(121, other, out, Some(12));
    script.end(130, main, sub.callback);
    script.end(131, other, sub.callback);
    let analysis = script.analyse();
    let records = &analysis.records;
    let told: Vec<(i64, Option<i64>, i64, i64)> = records
        .instances
        .iter()
        .map(|(_, instance)| {
            (
                instance.start_ns,
                instance.end_ns.get(),
                records.takes[instance.take.unwrap()].stamp.get().unwrap(),
                records.publications[instance.first_publication.unwrap()]
                    .stamp
                    .get()
                    .unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(110, Some(131), 2, 12), (111, Some(130), 1, 11)]);
}

#[test]
fn without_a_recorded_stamp_the_publication_that_can_have_it_is_found() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 2);
    let (at, sub) = reader(&mut script, 7);
    let offset = 1_000_000_000;
    for &(source, _, _) in &sources {
        script
            .builder
            .describe_process(source.process, None, Some(offset));
    }
    // The source timestamp lies between rmw_publish and the thread's next event.
    for (k, &(source, timer, publisher)) in sources.iter().enumerate() {
        let t = 1000 * (k as i64 + 1);
        script.start(t, source, timer);
        script.publish(t + 100, source, publisher, None);
        script.end(t + 200, source, timer);
    }
    script.receive(3000, 3050, at, sub, offset + 2150);
    script.receive(3100, 3150, at, sub, offset + 1150);
    script.receive(3200, 3250, at, sub, offset + 1500);
    let analysis = script.analyse();
    let probable = |k| Some((k, 0, Confidence::Probable));
    assert_eq!(linked(&analysis), [probable(1), probable(0), None]);
    let (_, take) = analysis.records.takes.iter().next().unwrap();
    assert_eq!(take.link.unwrap().method, LinkMethod::TopicAndTime);
}

#[test]
fn a_stamp_of_zero_is_none_and_the_publication_is_found_by_time() {
    let mut script = Script::new();
    let sources = publishers(&mut script, 2);
    let (at, sub) = reader(&mut script, 7);
    let offset = 1_000_000_000;
    for (k, &(source, timer, publisher)) in sources.iter().enumerate() {
        script
            .builder
            .describe_process(source.process, None, Some(offset));
        let t = 1000 * (k as i64 + 1);
        script.start(t, source, timer);
        // Loaned, then copied.
        script.publish(t + 100, source, publisher, Some(0));
        script.publish(t + 200, source, publisher, Some(offset + t + 201));
        script.end(t + 300, source, timer);
    }
    // Drawn before `rmw_publish`, which is 2 ns after the publication, or after it.
    for (n, stamp) in [1101, 1201, 2150, 2201, 0].into_iter().enumerate() {
        let start = 3000 + 100 * n as i64;
        let stamp = if stamp == 0 { 0 } else { offset + stamp };
        script.receive(start, start + 50, at, sub, stamp);
    }
    let analysis = script.analyse();
    let probable = |k| Some((k, 0, Confidence::Probable));
    let certain = |k| Some((k, 1, Confidence::Certain));
    assert_eq!(
        linked(&analysis),
        [probable(0), certain(0), probable(1), certain(1), None]
    );
    assert_eq!(analysis.records.gaps.publications_without_stamp, 2);
}

#[test]
fn an_address_that_is_used_again_is_a_new_callback() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "n");
    let callback = script.timer(node, 1000, "n::first");
    script.start(0, at, callback);
    script.end(10, at, callback);
    let timer = 0xabcd;
    script.add(
        20,
        at,
        Body::TimerInit {
            timer,
            period_ns: 7,
        },
    );
    script.add(21, at, Body::TimerCallbackAdded { timer, callback });
    let symbol = "n::second";
    script.add(22, at, Body::CallbackRegister { callback, symbol });
    script.start(30, at, callback);
    script.end(40, at, callback);
    let analysis = script.analyse();
    let symbols: Vec<Option<&str>> = analysis
        .records
        .instances
        .iter()
        .map(|(_, i)| analysis.graph.callbacks[i.callback].symbol.as_deref())
        .collect();
    assert_eq!(symbols, [Some("n::first"), Some("n::second")]);
}

#[test]
fn a_trace_that_begins_and_ends_inside_callbacks_says_so() {
    let mut script = Script::new();
    let at = script.process(1);
    script.end(5, at, 0xa);
    script.start(10, at, 0xb);
    let analysis = script.analyse();
    assert_eq!(analysis.records.gaps.ends_without_start, 1);
    assert_eq!(analysis.records.gaps.starts_without_end, 1);
    let (_, instance) = analysis.records.instances.iter().next().unwrap();
    assert_eq!(instance.end_ns.get(), None);
}

/// Start and end of every instance, by start.
fn spans(analysis: &Analysis) -> Vec<(i64, Option<i64>)> {
    let instances = analysis.records.instances.iter();
    instances
        .map(|(_, i)| (i.start_ns, i.end_ns.get()))
        .collect()
}

#[test]
fn a_callback_that_spins_keeps_its_outer_call() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "server");
    let sub = script.deep_subscription(node, "/goal", "server::on", 10);
    let tick = script.timer(node, 1000, "server::tick");
    let out = script.publisher(node, "/out");
    // Itself twice, one inside the other, and a timer: all inside the outermost call.
    script.take(95, at, sub, 1);
    script.start(100, at, sub.callback);
    script.take(195, at, sub, 2);
    script.start(200, at, sub.callback);
    script.receive(300, 320, at, sub, 3);
    script.publish(330, at, out, Some(9));
    script.end(350, at, sub.callback);
    script.start(400, at, tick);
    script.end(410, at, tick);
    script.publish(450, at, out, Some(10));
    script.end(500, at, sub.callback);
    let analysis = script.analyse();
    assert_eq!(
        spans(&analysis),
        [
            (100, Some(500)),
            (200, Some(350)),
            (300, Some(320)),
            (400, Some(410))
        ]
    );
    assert_eq!(analysis.records.gaps, crate::Gaps::default());
    let records = &analysis.records;
    let stamps: Vec<Option<i64>> = records
        .instances
        .iter()
        .map(|(_, i)| records.takes[i.take?].stamp.get())
        .collect();
    assert_eq!(stamps, [Some(1), Some(2), Some(3), None]);
    let inside: Vec<Option<usize>> = records
        .publications
        .iter()
        .map(|(_, p)| p.instance.map(Id::index))
        .collect();
    assert_eq!(inside, [Some(1), Some(0)]);
}

#[test]
fn ends_that_are_missing_do_not_pile_up() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "n");
    let tick = script.timer(node, 1000, "n::tick");
    // A callback that leaves by an exception has no end.
    for k in 0..1000 {
        script.start(10 * k, at, tick);
    }
    script.start(10_000, at, tick);
    script.end(10_007, at, tick);
    let analysis = script.analyse();
    assert_eq!(spans(&analysis).last(), Some(&(10_000, Some(10_007))));
    assert_eq!(analysis.records.gaps.starts_without_end, 1000);
}

#[test]
fn after_lost_events_nothing_is_taken_to_be_still_open() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "n");
    let tick = script.timer(node, 1000, "n::tick");
    script.start(0, at, tick);
    script.lose(DiscardScope::Process(at.process), 5, 95);
    script.start(100, at, tick);
    script.end(110, at, tick);
    let analysis = script.analyse();
    assert_eq!(spans(&analysis), [(0, None), (100, Some(110))]);
    assert_eq!(analysis.records.gaps.ends_without_start, 0);
}
