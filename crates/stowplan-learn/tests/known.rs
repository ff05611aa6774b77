//! A trace made by hand, and the stack that it has to give.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use stowplan_learn::{LearnError, Learned, Options, learn};
use stowplan_model::{Executor, Stack, Trigger};
use stowplan_trace::{Analysis, Body, Builder, ProcessId, ProcessKey, ThreadId, TraceEvent};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

struct Tape {
    builder: Builder,
    events: Vec<(i64, ProcessId, ThreadId, Body<'static>)>,
}

impl Tape {
    fn process(&mut self, vpid: i64) -> (ProcessId, ThreadId) {
        let process = self.builder.process(&ProcessKey {
            host: "h".into(),
            trace: String::new(),
            pid_namespace: None,
            vpid,
        });
        (process, self.builder.thread(process, vpid))
    }

    fn say(&mut self, time_ns: i64, who: (ProcessId, ThreadId), body: Body<'static>) {
        self.events.push((time_ns, who.0, who.1, body));
    }

    fn node(&mut self, time: i64, who: (ProcessId, ThreadId), node: u64, name: &'static str) {
        let (namespace, name) = name.rsplit_once('/').unwrap();
        let namespace = if namespace.is_empty() { "/" } else { namespace };
        self.say(
            time,
            who,
            Body::NodeInit {
                node,
                name,
                namespace,
            },
        );
    }

    /// A timer of a node; its callback has the timer's number.
    fn timer(&mut self, who: (ProcessId, ThreadId), node: u64, timer: u64, period_ns: i64) {
        let callback = timer;
        self.say(15 * SECOND, who, Body::TimerInit { timer, period_ns });
        self.say(
            15 * SECOND,
            who,
            Body::TimerCallbackAdded { timer, callback },
        );
        self.say(15 * SECOND, who, Body::TimerLinkNode { timer, node });
    }

    fn subscription(
        &mut self,
        who: (ProcessId, ThreadId),
        node: u64,
        number: u64,
        topic: &'static str,
    ) {
        let time = 15 * SECOND;
        self.say(
            time,
            who,
            Body::SubscriptionInit {
                subscription: number,
                node,
                rmw_subscription: number,
                topic,
                depth: 3,
            },
        );
        let (subscription, object, callback) = (number, number, number);
        self.say(
            time,
            who,
            Body::RclcppSubscriptionInit {
                subscription,
                object,
            },
        );
        self.say(
            time,
            who,
            Body::SubscriptionCallbackAdded { object, callback },
        );
    }

    fn publisher(
        &mut self,
        who: (ProcessId, ThreadId),
        node: u64,
        publisher: u64,
        topic: &'static str,
    ) {
        self.say(
            15 * SECOND,
            who,
            Body::PublisherInit {
                publisher,
                node,
                rmw_publisher: publisher,
                topic,
                depth: 3,
            },
        );
    }

    /// A call of 2 ms that publishes in its last tenth of a millisecond.
    fn call(
        &mut self,
        time: i64,
        who: (ProcessId, ThreadId),
        callback: u64,
        publisher: Option<u64>,
    ) {
        self.say(
            time,
            who,
            Body::CallbackStart {
                callback,
                intra: false,
            },
        );
        if let Some(publisher) = publisher {
            let message = 7;
            self.say(
                time + 2 * MS - MS / 10,
                who,
                Body::RclPublish { publisher, message },
            );
        }
        self.say(time + 2 * MS, who, Body::CallbackEnd { callback });
    }

    fn finish(mut self) -> Analysis {
        self.events.sort_by_key(|event| event.0);
        for (time_ns, process, thread, body) in self.events {
            self.builder.push(&TraceEvent {
                time_ns,
                process,
                thread,
                body,
            });
        }
        self.builder.finish()
    }
}

/// Launched at 1 s: a container at 11 s with /left/filter (13 s) and /right/filter (15 s), a planner at 12 s.
/// /left/filter calls its 10 Hz timer at 5 Hz and publishes on /points each time, on /status each second
/// time; the planner gets /points and, from nobody in the trace, /route at 10 Hz.
fn analysis() -> Analysis {
    let mut tape = Tape {
        builder: Builder::new(),
        events: Vec::new(),
    };
    let (launch, container, planner) = (tape.process(1), tape.process(2), tape.process(3));
    tape.node(SECOND, launch, 1, "/launch_ros_1");
    for (who, time) in [(container, 11), (planner, 12)] {
        tape.say(
            time * SECOND,
            who,
            Body::RclInit {
                version: Some("4.1.1"),
            },
        );
    }
    tape.node(11 * SECOND, container, 1, "/box");
    let (service, name) = (1, "/box/_container/load_node");
    tape.say(
        11 * SECOND,
        container,
        Body::ServiceInit {
            service,
            node: 1,
            rmw_service: None,
            name,
        },
    );
    tape.node(12 * SECOND, planner, 1, "/planning/planner");
    tape.node(13 * SECOND, container, 2, "/left/filter");
    tape.node(15 * SECOND, container, 3, "/right/filter");
    tape.timer(container, 2, 21, 100 * MS);
    for (publisher, topic) in [
        (31, "/points"),
        (32, "/status"),
        (33, "/debug"),
        (34, "/rosout"),
    ] {
        tape.publisher(container, 2, publisher, topic);
    }
    tape.subscription(planner, 1, 41, "/points");
    tape.subscription(planner, 1, 42, "/route");
    for call in 0..200 {
        let time = 16 * SECOND + call * 200 * MS;
        tape.call(time, container, 21, Some(31));
        if call % 2 == 0 {
            let (publisher, message) = (32, 8);
            tape.say(
                time + MS,
                container,
                Body::RclPublish { publisher, message },
            );
        }
        tape.call(time + 20 * MS, planner, 41, None);
        tape.call(time + 50 * MS, planner, 42, None);
        tape.call(time + 150 * MS, planner, 42, None);
    }
    tape.finish()
}

fn options() -> Options {
    Options {
        name: "by-hand".into(),
        ns_per_iteration: 2.0,
        cpus: 2,
        chain: None,
        launch_begin_ns: None,
        fit: None,
    }
}

fn learned() -> (Learned, Stack) {
    let learned = learn(&analysis(), &options()).unwrap();
    let yaml = learned.draft.to_yaml();
    let stack = stowplan_spec::parse_stack(&yaml, "by-hand.yaml");
    (
        learned,
        stack.unwrap_or_else(|error| panic!("{error}\n{yaml}")),
    )
}

fn period_ns(stack: &Stack, node: &str, callback: &str) -> u64 {
    match stack
        .node(node)
        .unwrap()
        .callback(callback)
        .unwrap()
        .trigger
    {
        Trigger::Timer { period_ns, .. } => period_ns,
        Trigger::Subscription { .. } => panic!("{node}/{callback} is no timer"),
    }
}

#[test]
fn nodes_have_short_names_and_their_processes() {
    let (_, stack) = learned();
    let nodes: Vec<(&str, &str, &str)> = stack
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), n.module.as_str(), n.process.as_str()))
        .collect();
    assert_eq!(
        nodes,
        [
            ("box", "root", "box"),
            ("planner", "planning", "planner"),
            ("left.filter", "left", "box"),
            ("right.filter", "right", "box"),
            ("outside", "outside", "outside"),
        ]
    );
    assert!(stack.process("box").unwrap().component_container);
    assert!(!stack.process("planner").unwrap().component_container);
    assert_eq!(stack.process("box").unwrap().executor, Executor::Single);
}

#[test]
fn timers_have_the_rate_of_their_calls_and_publications_theirs() {
    let (_, stack) = learned();
    assert_eq!(period_ns(&stack, "left.filter", "timer"), 200_000_000);
    let timer = stack
        .node("left.filter")
        .unwrap()
        .callback("timer")
        .unwrap();
    assert_eq!(timer.publishes, ["/points"]);
    assert_eq!(
        period_ns(&stack, "left.filter", "publish_status"),
        400_000_000
    );
    // Both of the node's other publishers are of callbacks.
    let silent = &stack.node("left.filter").unwrap().silent;
    assert_eq!(silent.publishers, ["/debug"]);
    assert_eq!(period_ns(&stack, "outside", "publish_route"), 100_000_000);
    assert_eq!(stack.topic("/points").unwrap().qos.depth, 3);
}

#[test]
fn work_is_the_duration_without_the_sending() {
    let (learned, stack) = learned();
    let iterations = |node: &str, callback: &str| {
        let callback = stack.node(node).unwrap().callback(callback).unwrap();
        callback.work.iterations.mean()
    };
    assert_eq!(iterations("planner", "on_points"), 1e6);
    // A publication takes 0.1 ms, and more than a tenth of the calls make two.
    assert_eq!(iterations("left.filter", "timer"), 900e3);
    let known = learned.facts.callbacks.iter();
    let timer = known.clone().find(|c| c.callback == "timer").unwrap();
    assert_eq!((timer.calls, timer.interval_ns), (200, Some(200e6)));
    assert_eq!(timer.median_ns, Some(2e6));
}

#[test]
fn launch_costs_what_it_took() {
    let (learned, stack) = learned();
    let times = learned.facts.launch.unwrap();
    assert_eq!(
        times.shares().unwrap(),
        [10.0 / 14.0, 1.0 / 14.0, 3.0 / 14.0]
    );
    assert_eq!((times.processes, times.components), (2, 2));
    // One second between the two processes, and two components in three seconds.
    assert_eq!(stack.launch.entity_iterations, 500_000_000);
    assert_eq!(stack.launch.start_iterations, 4_500_000_000);
    let component = &stack.node("left.filter").unwrap().start_up;
    assert_eq!(component.iterations, 1_000_000_000);
    assert_eq!(stack.node("box").unwrap().start_up.iterations, 0);
}

#[test]
fn chains_are_the_longest_or_those_that_are_asked_for() {
    let (_, stack) = learned();
    let names: Vec<String> = stack.chains[0]
        .callbacks
        .iter()
        .map(|c| format!("{}/{}", c.node, c.callback))
        .collect();
    assert_eq!(names, ["left.filter/timer", "planner/on_points"]);
    let between = |from: &str, to: &str| {
        let chain = Some((from.to_owned(), to.to_owned()));
        learn(&analysis(), &Options { chain, ..options() }).map(|l| l.draft.chains)
    };
    assert_eq!(between("/left/filter", "planner").unwrap().len(), 1);
    assert!(matches!(
        between("planner", "box"),
        Err(LearnError::NoChain { .. })
    ));
}

#[test]
fn a_trace_without_nodes_gives_no_stack() {
    let empty = Builder::new().finish();
    assert_eq!(learn(&empty, &options()), Err(LearnError::NoNodes));
}

/// tf2 names its listeners after an address: at another start the stack has to have the same names.
#[test]
fn names_of_nodes_have_nothing_that_belongs_to_one_start() {
    let start = |addresses: [&'static str; 2]| {
        let mut tape = Tape {
            builder: Builder::new(),
            events: Vec::new(),
        };
        let who = tape.process(7);
        for (node, name) in (1..).zip(addresses) {
            tape.node(11 * SECOND, who, node, name);
            tape.timer(who, node, 20 + node, 100 * MS);
            for call in 0..50 {
                tape.call(16 * SECOND + call * 100 * MS, who, 20 + node, None);
            }
        }
        let learned = learn(&tape.finish(), &options()).unwrap();
        let called = learned.facts.callbacks.into_iter();
        called.map(|c| c.node).collect::<Vec<_>>()
    };
    let names = start([
        "/transform_listener_impl_55d0c3a1b2f0",
        "/transform_listener_impl_5581e00abc40",
    ]);
    assert_eq!(
        names,
        ["transform_listener_impl", "transform_listener_impl_2"]
    );
    assert_eq!(
        names,
        start([
            "/transform_listener_impl_5612f00dbee0",
            "/transform_listener_impl_5655aaaaaaa0"
        ])
    );
}
