//! Hand-made chains with latencies worked out by hand.

use crate::scripted::{At, Script, Sub};
use crate::{
    Address, Body, CallbackBy, CallbackSelector, ChainError, ChainResult, ChainSpec, Confidence,
    Discard, DiscardScope, Endpoint, Fate, Hop, LinkMethod, Parts, Reference, StepHop, StopCause,
    StoppedInputs, Trigger, Window,
};

const MS: i64 = 1_000_000;

fn selector(node: &str, by: CallbackBy) -> CallbackSelector {
    CallbackSelector {
        node: node.to_owned(),
        by,
    }
}

/// camera (timer 100 ms) → /image → detector → idle → timer 50 ms → /out → actuator
struct Vehicle {
    script: Script,
    camera: At,
    detector: At,
    actuator: At,
    shutter: Address,
    image: Address,
    on_image: Sub,
    tick: Address,
    out: Address,
    on_out: Sub,
}

fn vehicle() -> Vehicle {
    let mut script = Script::new();
    let camera = script.process(10);
    let detector = script.process(20);
    let actuator = script.process(30);
    let camera_node = script.node(camera, "camera");
    let shutter = script.timer(camera_node, 100 * MS, "camera::shutter");
    let image = script.publisher(camera_node, "/image");
    let detector_node = script.node(detector, "detector");
    let on_image = script.subscription(detector_node, "/image", "detector::on_image");
    let tick = script.timer(detector_node, 50 * MS, "detector::tick");
    let out = script.publisher(detector_node, "/out");
    let actuator_node = script.node(actuator, "actuator");
    let on_out = script.subscription(actuator_node, "/out", "actuator::on_out");
    Vehicle {
        script,
        camera,
        detector,
        actuator,
        shutter,
        image,
        on_image,
        tick,
        out,
        on_out,
    }
}

impl Vehicle {
    fn expose(&mut self, release: i64, start: i64, stamp: i64) {
        let (at, callback) = (self.camera, self.shutter);
        let body = Body::SourceRelease {
            callback,
            sequence: 0,
            release_ns: release,
        };
        self.script.start(start, at, callback);
        self.script.add(start, at, body);
        self.script.publish(start + MS, at, self.image, Some(stamp));
        self.script.end(start + 2 * MS, at, callback);
    }

    fn detect(&mut self, arrival: i64, start: i64, end: i64, stamp: i64) {
        self.script
            .arrive(arrival, self.detector, self.on_image, stamp);
        self.script
            .receive(start, end, self.detector, self.on_image, stamp);
    }

    fn tick(&mut self, start: i64, stamp: i64) {
        self.script.start(start, self.detector, self.tick);
        self.script
            .publish(start + 3 * MS, self.detector, self.out, Some(stamp));
        self.script.end(start + 4 * MS, self.detector, self.tick);
    }

    fn act(&mut self, arrival: i64, start: i64, stamp: i64) {
        self.script
            .arrive(arrival, self.actuator, self.on_out, stamp);
        self.script
            .receive(start, start + MS, self.actuator, self.on_out, stamp);
    }

    fn spec() -> ChainSpec {
        let by = |symbol: &str| CallbackBy::Symbol(symbol.to_owned());
        ChainSpec {
            name: "brake".to_owned(),
            callbacks: vec![
                selector("camera", by("camera::shutter")),
                selector("detector", by("detector::on_image")),
                selector("detector", by("detector::tick")),
                selector("actuator", by("actuator::on_out")),
            ],
            output: None,
        }
    }

    fn chain(self) -> ChainResult {
        let result = self
            .script
            .analyse()
            .chain(&Self::spec(), Window::ALWAYS)
            .unwrap();
        assert_sums(&result);
        result
    }
}

fn assert_sums(result: &ChainResult) {
    for instance in &result.instances {
        assert_eq!(instance.parts.total_ns(), instance.e2e_ns, "{instance:?}");
        assert_eq!(Parts::of(&instance.steps), instance.parts);
        if let (Some(transport), Some(wait)) = (instance.parts.transport_ns, instance.parts.wait_ns)
        {
            assert_eq!(transport + wait, instance.parts.transit_ns);
        }
    }
}

#[test]
fn parts_are_those_worked_out_by_hand() {
    let mut vehicle = vehicle();
    // Released at 9.5, starts at 10, publishes at 11 (middleware 2 ns later),
    // arrives at 13, callback 14 to 16, idle until 36, publishes at 39,
    // arrives at 40, callback 42 to 43.
    vehicle.expose(9 * MS + MS / 2, 10 * MS, 1000);
    vehicle.detect(13 * MS, 14 * MS, 16 * MS, 1000);
    vehicle.tick(36 * MS, 2000);
    vehicle.act(40 * MS, 42 * MS, 2000);
    let result = vehicle.chain();
    assert_eq!(result.reference, Reference::Release);
    let [instance] = &result.instances[..] else {
        panic!("{result:?}")
    };
    assert_eq!(
        instance.parts,
        Parts {
            computation_ns: MS + 2 * MS + 3 * MS + MS,
            send_ns: 2 + 2,
            transit_ns: 3 * MS - 2 + 3 * MS - 2,
            transport_ns: Some(2 * MS - 2 + MS - 2),
            wait_ns: Some(MS + 2 * MS),
            idle_ns: 20 * MS,
        }
    );
    assert_eq!(instance.e2e_ns, 33 * MS);
    assert_eq!(instance.e2e_full_ns, Some(33 * MS + MS / 2));
    assert_eq!(instance.steps[1].hop, StepHop::Idle { idle_ns: 20 * MS });
    assert_eq!(instance.confidence, Confidence::Certain);
    assert_eq!(result.inputs[0].reaction_ns, Some(33 * MS + MS / 2));
    assert_eq!(result.inputs[0].mean_e2e_ns, Some(33e6));
    assert_eq!(result.consumed_share(), Some(1.0));
    assert_eq!(result.max_age_ns, None);
}

#[test]
fn without_arrivals_transport_and_wait_are_not_told_apart() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    vehicle
        .script
        .receive(14 * MS, 16 * MS, vehicle.detector, vehicle.on_image, 1000);
    vehicle.tick(36 * MS, 2000);
    vehicle.act(40 * MS, 42 * MS, 2000);
    let parts = vehicle.chain().instances[0].parts;
    assert_eq!((parts.transport_ns, parts.wait_ns), (None, None));
    assert_eq!(parts.transit_ns, 6 * MS - 4);
}

#[test]
fn an_input_replaced_before_its_use_reacts_with_the_next() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    vehicle.detect(13 * MS, 14 * MS, 16 * MS, 1000);
    vehicle.expose(19 * MS, 20 * MS, 1001);
    vehicle.detect(23 * MS, 24 * MS, 26 * MS, 1001);
    vehicle.tick(36 * MS, 2000);
    vehicle.act(40 * MS, 42 * MS, 2000);
    vehicle.tick(86 * MS, 2001);
    vehicle.act(90 * MS, 92 * MS, 2001);
    let result = vehicle.chain();
    let superseded = Fate::Stopped {
        after: 1,
        cause: StopCause::Superseded,
    };
    // The longest reaction is the first input's: 43 - 9.
    assert_eq!(result.longest_reaction_ns, Some(34 * MS));
    assert_eq!(result.inputs[0].fate, superseded);
    let stopped = StoppedInputs {
        after: 1,
        cause: StopCause::Superseded,
        inputs: 1,
    };
    assert_eq!(result.stopped(), [stopped]);
    assert_eq!(result.inputs[0].reaction_ns, Some(34 * MS));
    assert_eq!(result.inputs[0].mean_e2e_ns, None);
    assert_eq!(result.inputs[1].fate, Fate::Used);
    assert_eq!(result.inputs[1].outputs, 2);
    assert_eq!(result.inputs[1].reaction_ns, Some(24 * MS));
    // The paper's mean over the outputs of an input: (43 - 20 + 93 - 20) / 2.
    assert_eq!(result.inputs[1].mean_e2e_ns, Some(48e6));
    assert_eq!(result.max_reaction_ns, Some(34 * MS));
    assert_eq!(result.max_age_at_output_ns, Some(74 * MS));
    assert_eq!(result.consumed_share(), Some(0.5));
}

#[test]
fn data_age_over_time_lasts_until_the_next_output() {
    let mut vehicle = vehicle();
    vehicle.expose(0, 0, 1000);
    vehicle.detect(2 * MS, 3 * MS, 4 * MS, 1000);
    vehicle.tick(10 * MS, 2000);
    vehicle.act(14 * MS, 15 * MS, 2000);
    vehicle.expose(100 * MS, 100 * MS, 1001);
    vehicle.detect(102 * MS, 103 * MS, 104 * MS, 1001);
    vehicle.tick(110 * MS, 2001);
    vehicle.act(114 * MS, 115 * MS, 2001);
    let result = vehicle.chain();
    assert_eq!(result.max_age_at_output_ns, Some(16 * MS));
    // Just before the output at 116 the data in effect is from 0.
    assert_eq!(result.max_age_ns, Some(116 * MS));
    let until_next: Vec<Option<i64>> = result
        .instances
        .iter()
        .map(|i| i.age_until_next_ns)
        .collect();
    assert_eq!(until_next, [Some(116 * MS), None]);
}

#[test]
fn a_message_that_arrived_and_was_never_taken_was_overwritten() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    vehicle
        .script
        .arrive(13 * MS, vehicle.detector, vehicle.on_image, 1000);
    vehicle.expose(19 * MS, 20 * MS, 1001);
    vehicle.detect(23 * MS, 24 * MS, 26 * MS, 1001);
    vehicle.expose(29 * MS, 30 * MS, 1002);
    vehicle.tick(36 * MS, 2000);
    vehicle.act(40 * MS, 42 * MS, 2000);
    let result = vehicle.chain();
    let fates: Vec<Fate> = result.inputs.iter().map(|i| i.fate).collect();
    let stopped = |cause| Fate::Stopped { after: 0, cause };
    assert_eq!(
        fates,
        [
            stopped(StopCause::Overwritten),
            Fate::Used,
            stopped(StopCause::NotTaken)
        ]
    );
    assert_eq!(result.inputs[0].reaction_ns, Some(34 * MS));
    assert_eq!(result.inputs[2].reaction_ns, None);
}

#[test]
fn inputs_near_the_end_are_left_out_by_release() {
    let mut vehicle = vehicle();
    for k in 0..5 {
        let t = k * 100 * MS;
        vehicle.expose(t, t, 1000 + k);
        vehicle.detect(t + 2 * MS, t + 3 * MS, t + 4 * MS, 1000 + k);
        vehicle.tick(t + 10 * MS, 2000 + k);
        vehicle.act(t + 14 * MS, t + 15 * MS, 2000 + k);
    }
    let analysis = vehicle.script.analyse();
    // Reactions take 16 ms; the input of 400 has an output, but is too near the end.
    let window = Window {
        from_ns: 50 * MS,
        to_ns: 410 * MS,
    };
    let result = analysis.chain(&Vehicle::spec(), window).unwrap();
    assert_eq!(result.longest_reaction_ns, Some(16 * MS));
    assert_eq!(result.inputs.len(), 3);
    assert_eq!(result.instances.len(), 3);
    assert_eq!(result.left_out_ns.len(), 1);
}

#[test]
fn discarded_events_make_what_they_touch_invalid() {
    let mut vehicle = vehicle();
    for k in 0..3 {
        let t = k * 100 * MS;
        vehicle.expose(t, t, 1000 + k);
        vehicle.detect(t + 2 * MS, t + 3 * MS, t + 4 * MS, 1000 + k);
        vehicle.tick(t + 10 * MS, 2000 + k);
        vehicle.act(t + 14 * MS, t + 15 * MS, 2000 + k);
    }
    let mut analysis = vehicle.script.analyse();
    let actuator = analysis.graph.processes.ids().nth(2).unwrap();
    analysis.discards.push(Discard {
        scope: DiscardScope::Process(actuator),
        from_ns: 112 * MS,
        to_ns: 113 * MS,
        count: 3,
    });
    let result = analysis.chain(&Vehicle::spec(), Window::ALWAYS).unwrap();
    assert_eq!(result.instances.len(), 2);
    assert_eq!(result.invalid.len(), 1);
    assert_eq!(result.invalid[0].reason, "events were discarded on its way");
    assert!(result.inputs[1].touched_by_discard);
    assert!(!result.inputs[0].touched_by_discard);
}

#[test]
fn an_end_inside_a_callback_is_unfinished_not_zero() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    vehicle
        .script
        .take(13 * MS, vehicle.detector, vehicle.on_image, 1000);
    vehicle
        .script
        .start(14 * MS, vehicle.detector, vehicle.on_image.callback);
    let result = vehicle.chain();
    assert!(result.instances.is_empty());
    assert_eq!(
        result.inputs[0].fate,
        Fate::Stopped {
            after: 1,
            cause: StopCause::Unfinished
        }
    );
}

#[test]
fn a_message_of_another_publisher_is_not_an_instance_of_the_chain() {
    let mut vehicle = vehicle();
    let other = vehicle.script.process(40);
    let node = vehicle.script.node(other, "other");
    let publisher = vehicle.script.publisher(node, "/out");
    let timer = vehicle.script.timer(node, MS, "other::tick");
    vehicle.script.start(5 * MS, other, timer);
    vehicle.script.publish(6 * MS, other, publisher, Some(77));
    vehicle.script.end(7 * MS, other, timer);
    vehicle.act(8 * MS, 9 * MS, 77);
    let result = vehicle.chain();
    assert!(result.instances.is_empty());
    assert_eq!(result.broken.len(), 1);
    assert_eq!(result.broken[0].at, 3);
}

#[test]
fn selectors_find_callbacks_by_topic_and_period_too() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    let analysis = vehicle.script.analyse();
    let spec = ChainSpec {
        name: "c".into(),
        callbacks: vec![
            selector("/camera", CallbackBy::TimerPeriod(100 * MS)),
            selector("detector", CallbackBy::Topic("/image".into())),
        ],
        output: None,
    };
    let chain = analysis.resolve(&spec).unwrap();
    let topic = analysis.graph.topic("/image").unwrap();
    assert_eq!(chain.hops, [Hop::Topic(topic)]);
    assert_eq!(
        analysis.graph.trigger_of(chain.callbacks[1]),
        Trigger::Subscription("/image".into())
    );
}

#[test]
fn a_wrong_selector_says_what_the_node_has() {
    let analysis = vehicle().script.analyse();
    let spec = ChainSpec {
        name: "c".into(),
        callbacks: vec![selector("detector", CallbackBy::Topic("/imag".into()))],
        output: None,
    };
    let error = analysis.resolve(&spec).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chain 'c': no callback is detector subscription /imag; hint: node 'detector' has subscription /image, timer 50000000 ns"
    );
    let unconnected = ChainSpec {
        callbacks: vec![
            selector("actuator", CallbackBy::Topic("/out".into())),
            selector("camera", CallbackBy::TimerPeriod(100 * MS)),
        ],
        ..spec
    };
    assert!(matches!(
        analysis.resolve(&unconnected),
        Err(ChainError::NotConnected { .. })
    ));
}

#[test]
fn chains_are_found_between_topics() {
    let mut vehicle = vehicle();
    vehicle.expose(9 * MS, 10 * MS, 1000);
    vehicle.detect(13 * MS, 14 * MS, 16 * MS, 1000);
    vehicle.tick(36 * MS, 2000);
    vehicle.act(40 * MS, 42 * MS, 2000);
    let analysis = vehicle.script.analyse();
    let found = analysis.find_chains(Endpoint::Node("camera"), Endpoint::Either("actuator"), 10);
    assert!(!found.more);
    let [chain] = &found.chains[..] else {
        panic!("{found:?}")
    };
    assert_eq!(chain.messages, [Some(1), None, Some(1)]);
    assert_eq!(
        chain.chain.callbacks,
        analysis.resolve(&Vehicle::spec()).unwrap().callbacks
    );
    let found = analysis.find_chains(Endpoint::Topic("/image"), Endpoint::Topic("/out"), 10);
    assert_eq!(found.chains[0].chain.callbacks.len(), 2);
}

#[test]
fn messages_inside_a_process_wait_in_the_ring_buffer() {
    let mut script = Script::new();
    let at = script.process(1);
    let node = script.node(at, "n");
    let tick = script.timer(node, 10 * MS, "n::tick");
    let publisher = script.publisher(node, "/t");
    let sub = script.subscription(node, "/t", "n::on");
    let (ipb, buffer) = (script.address(at), script.address(at));
    let object = sub.object;
    script.add(-10, at, Body::BufferToIpb { buffer, ipb });
    script.add(-9, at, Body::IpbToSubscription { ipb, object });
    script.start(0, at, tick);
    let message = 0x99;
    script.add(100, at, Body::IntraPublish { publisher, message });
    script.add(
        110,
        at,
        Body::RingEnqueue {
            buffer,
            index: 3,
            overwritten: false,
        },
    );
    script.end(200, at, tick);
    script.add(300, at, Body::RingDequeue { buffer, index: 3 });
    script.start(310, at, sub.callback);
    script.end(400, at, sub.callback);
    let analysis = script.analyse();
    let (_, take) = analysis.records.takes.iter().next().unwrap();
    assert_eq!(take.link.unwrap().method, LinkMethod::RingBuffer);
    let spec = ChainSpec {
        name: "c".into(),
        callbacks: vec![
            selector("n", CallbackBy::TimerPeriod(10 * MS)),
            selector("n", CallbackBy::Topic("/t".into())),
        ],
        output: None,
    };
    let result = analysis.chain(&spec, Window::ALWAYS).unwrap();
    assert_eq!(
        result.instances[0].parts,
        Parts {
            computation_ns: 100 + 90,
            send_ns: 10,
            transit_ns: 200,
            transport_ns: Some(0),
            wait_ns: Some(200),
            idle_ns: 0,
        }
    );
    assert_sums(&result);
}
