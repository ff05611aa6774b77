use stowplan_model::{
    Chain, ExecutorCost, Launch, Name, Process, Qos, Ready, RealService, Serialisation,
    ServiceAssignment, Work,
};

use super::*;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn callback(text: &str, trigger: Trigger, publishes: &[&str]) -> Callback {
    Callback {
        name: name(text),
        trigger,
        group: None,
        work: Work {
            iterations: Distribution::Constant(100.0),
            working_set_bytes: 0,
        },
        publishes: publishes.iter().map(ToString::to_string).collect(),
        uses: Vec::new(),
    }
}

fn node(text: &str, process: &str, callbacks: Vec<Callback>) -> Node {
    Node {
        name: name(text),
        module: name("m"),
        function: None,
        attributed: true,
        process: name(process),
        options: NodeOptions::default(),
        callbacks,
        silent: stowplan_model::SilentEndpoints::default(),
        reentrant_groups: Vec::new(),
        start_up: stowplan_model::NodeStartUp::default(),
        depends_on: Vec::new(),
        background: None,
    }
}

/// a and b share process p, c has q; a → /x → b and c; intra-process where it can.
fn stack(intra_process: bool) -> Stack {
    let timer = Trigger::Timer {
        period_ns: 1000,
        jitter_ns: Distribution::Constant(0.0),
        rate_error: 0.0,
    };
    let on_x = || Trigger::Subscription {
        topic: "/x".to_owned(),
    };
    let process = |text: &str| Process {
        name: name(text),
        executor: Executor::Single,
        profile: Profile::Minimal,
        component_container: false,
    };
    Stack {
        name: name("s"),
        description: String::new(),
        use_sim_time: true,
        ns_per_iteration: None,
        executor_cost: ExecutorCost::default(),
        launch: Launch {
            start_iterations: 1,
            entity_iterations: 2,
            read_bytes: 4096,
            memory_bytes: 0,
        },
        topics: vec![Topic {
            name: "/x".to_owned(),
            bytes: Distribution::Constant(64.0),
            qos: Qos {
                reliability: Reliability::BestEffort,
                depth: 1,
                transient_local: false,
            },
            intra_process,
            serialisation: None,
            dds: None,
            frames: None,
        }],
        processes: vec![process("p"), process("q")],
        nodes: vec![
            node("a", "p", vec![callback("tick", timer, &["/x"])]),
            node("b", "p", vec![callback("on_x", on_x(), &[])]),
            node("c", "q", vec![callback("on_x", on_x(), &[])]),
        ],
        chains: Vec::new(),
        services: Vec::new(),
    }
}

fn partition(services: &[(&str, &[&str])]) -> Partition {
    Partition {
        name: "test".to_owned(),
        services: services
            .iter()
            .map(|(service, nodes)| ServiceAssignment {
                service: name(service),
                nodes: nodes.iter().map(|n| name(n)).collect(),
            })
            .collect(),
        notes: Vec::new(),
    }
}

fn options() -> LowerOptions {
    LowerOptions {
        run: "r".to_owned(),
        domain: 110,
        seed: 1,
        block: 0,
        phases: PhaseDraw {
            seed: 1,
            block: 0,
            blocks: 6,
        },
        natural_phase: false,
        phase_spans: Vec::new(),
        injection: None,
        launching: Launching::Ros2,
        work_scale: 0.5,
        record: true,
        record_callback_cpu: false,
        replay: Vec::new(),
    }
}

fn expected_subscriptions(plans: &[ServicePlan]) -> u32 {
    plans[0].processes[0].nodes[0].callbacks[0].publishes[0].expected_subscriptions
}

#[test]
fn a_plain_supervisor_has_nothing_to_do() {
    let mut stack = stack(true);
    stack.launch.start_iterations = 7;
    stack.launch.read_bytes = 4096;
    let one = partition(&[("one", &["a", "b", "c"])]);
    let launched = |launching| {
        let options = LowerOptions {
            launching,
            ..options()
        };
        lower(&stack, &one, &options).remove(0)
    };
    let ros2 = launched(Launching::Ros2);
    let launch = ros2.launch.as_ref().unwrap();
    assert_eq!((launch.start_iterations, launch.files.len()), (7, 1));
    let native = launched(Launching::Native);
    assert_eq!(native.launch, None);
    assert_eq!(native.processes, ros2.processes);
}

#[test]
fn a_cut_process_becomes_one_in_each_service() {
    let plans = lower(
        &stack(true),
        &partition(&[("one", &["a"]), ("two", &["b", "c"])]),
        &options(),
    );
    let processes: Vec<Vec<&str>> = plans
        .iter()
        .map(|s| s.processes.iter().map(|p| p.name.as_str()).collect())
        .collect();
    assert_eq!(processes, [vec!["p"], vec!["p", "q"]]);
}

#[test]
fn cutting_an_intra_process_edge_makes_it_an_edge_over_dds() {
    let together = lower(
        &stack(true),
        &partition(&[("one", &["a", "b", "c"])]),
        &options(),
    );
    let cut = lower(
        &stack(true),
        &partition(&[("one", &["a"]), ("two", &["b", "c"])]),
        &options(),
    );
    let never = lower(
        &stack(false),
        &partition(&[("one", &["a", "b", "c"])]),
        &options(),
    );
    assert_eq!(expected_subscriptions(&together), 1);
    assert_eq!(expected_subscriptions(&cut), 2);
    assert_eq!(expected_subscriptions(&never), 2);
}

#[test]
fn numbers_and_phases_do_not_depend_on_the_partition() {
    let whole = lower(
        &stack(true),
        &partition(&[("one", &["a", "b", "c"])]),
        &options(),
    );
    let split = lower(
        &stack(true),
        &partition(&[("z", &["c"]), ("y", &["b"]), ("x", &["a"])]),
        &options(),
    );
    let of = |plans: &[ServicePlan], node: &str| {
        let all = plans
            .iter()
            .flat_map(|s| &s.processes)
            .flat_map(|p| &p.nodes);
        let found = all.filter(|n| n.name == node).flat_map(|n| &n.callbacks);
        found
            .map(|c| {
                (
                    c.id,
                    c.iterations,
                    match c.trigger {
                        TriggerPlan::Timer { phase_ns, .. } => phase_ns,
                        TriggerPlan::Subscription { .. } => None,
                    },
                )
            })
            .collect::<Vec<_>>()
    };
    for node in ["a", "b", "c"] {
        assert_eq!(of(&whole, node), of(&split, node));
    }
    assert_eq!(
        of(&whole, "a")[0].1,
        DistributionPlan::Constant(50.0),
        "work is scaled"
    );
}

#[test]
fn serialising_and_waiting_cost_the_same_in_every_deployment_and_are_not_scaled() {
    let mut stack = stack(true);
    stack.topics[0].serialisation = Some(Serialisation {
        message_iterations: 500,
        kib_iterations: 300,
    });
    stack.executor_cost = ExecutorCost {
        wait_iterations: 70,
        entity_iterations: 9,
    };
    let whole = partition(&[("one", &["a", "b", "c"])]);
    let split = partition(&[("one", &["a"]), ("two", &["b", "c"])]);
    for partition in [whole, split] {
        for service in lower(&stack, &partition, &options()) {
            let cost = service.topics[0].serialisation.unwrap();
            assert_eq!((cost.message_iterations, cost.kib_iterations), (500, 300));
            let waits = service.processes.iter().map(|p| p.executor_cost);
            for cost in waits {
                assert_eq!((cost.wait_iterations, cost.entity_iterations), (70, 9));
            }
            assert!(service.processes.iter().all(|p| p.use_sim_time));
        }
    }
}

#[test]
fn start_up_files_name_the_launcher_once() {
    assert_eq!(
        start_up_files(&stack(true)),
        BTreeMap::from([(LAUNCH_FILES.to_owned(), 4096)])
    );
}

#[test]
fn endpoints_of_real_programs_are_waited_for() {
    let mut stack = stack(true);
    stack.services.push(RealService {
        name: name("real"),
        rootfs: None,
        image: None,
        mounts: Vec::new(),
        devices: Vec::new(),
        user: None,
        working_dir: None,
        command: vec!["real".to_owned()],
        env: Vec::new(),
        publishes: vec!["/x".to_owned()],
        subscribes: vec!["/x".to_owned()],
        participants: 1,
        trace: false,
        ready: Ready::Started,
        ready_timeout_ns: 1,
    });
    let alone = lower(&stack, &partition(&[("all", &["a"])]), &options());
    let publisher = &alone[0].processes[0].nodes[0].callbacks[0].publishes[0];
    assert_eq!(publisher.expected_subscriptions, 1, "that of the real one");
    let both = lower(&stack, &partition(&[("all", &["a", "b"])]), &options());
    let TriggerPlan::Subscription {
        expected_publishers,
        ..
    } = both[0].processes[0].nodes[1].callbacks[0].trigger
    else {
        panic!("a subscription");
    };
    assert_eq!(
        expected_publishers, 1,
        "the modelled one is in the same process, the real one is not"
    );
}

#[test]
fn callbacks_of_a_node_share_a_publisher_and_silent_ones_have_their_own() {
    let mut stack = stack(false);
    let a = &mut stack.nodes[0];
    let mut second = a.callbacks[0].clone();
    second.name = name("second");
    a.callbacks.push(second);
    a.silent.publishers = vec!["/x".to_owned()];
    stack.nodes[2].silent.subscriptions = vec!["/x".to_owned()];
    let services = lower(&stack, &partition(&[("one", &["a", "b", "c"])]), &options());
    let processes = &services[0].processes;
    let a = &processes[0].nodes[0];
    let shared = &a.callbacks[0].publishes[0];
    assert_eq!(shared, &a.callbacks[1].publishes[0]);
    assert_eq!(a.silent.publishers[0].id, shared.id + 1);
    assert_eq!(shared.expected_subscriptions, 3, "of b, and two of c");
    let c = &processes[1].nodes[0];
    assert_eq!(c.silent.subscriptions[0].expected_publishers, 2);
}

/// The callback `tick` of node `a`: its iterations and its phase.
fn tick(options: &LowerOptions) -> (DistributionPlan, Option<u64>) {
    let plans = lower(
        &stack(true),
        &partition(&[("one", &["a", "b", "c"])]),
        options,
    );
    let callback = &plans[0].processes[0].nodes[0].callbacks[0];
    let TriggerPlan::Timer { phase_ns, .. } = callback.trigger else {
        panic!("a timer");
    };
    (callback.iterations, phase_ns)
}

fn at(node: &str, callback: &str) -> CallbackRef {
    CallbackRef {
        node: name(node),
        callback: name(callback),
    }
}

#[test]
fn injected_work_multiplies_the_iterations_of_its_callback_alone() {
    let options = LowerOptions {
        injection: Some(Injection::Work {
            callback: at("b", "on_x"),
            factor: 1.25,
        }),
        ..options()
    };
    let whole = partition(&[("one", &["a", "b", "c"])]);
    let [plain, injected] = [&self::options(), &options].map(|o| lower(&stack(true), &whole, o));
    let mut expected = plain.clone();
    let b = &mut expected[0].processes[0].nodes[1];
    // By hand: 100 iterations, half of them by the scale, a quarter more by the injection.
    b.callbacks[0].iterations = DistributionPlan::Constant(62.5);
    assert_eq!(injected, expected, "nothing else differs");
    assert_ne!(injected, plain);
}

#[test]
fn an_injected_phase_is_later_within_the_period_and_all_else_is_equal() {
    let plain = tick(&options());
    let phase = plain.1.unwrap();
    for later_ns in [1, 999] {
        let injected = tick(&LowerOptions {
            injection: Some(Injection::Phase {
                callback: at("a", "tick"),
                later_ns,
            }),
            ..options()
        });
        assert_eq!(injected, (plain.0, Some((phase + later_ns) % 1000)));
    }
    let other = tick(&LowerOptions {
        injection: Some(Injection::Phase {
            callback: at("b", "tick"),
            later_ns: 5,
        }),
        ..options()
    });
    assert_eq!(other, plain);
}

#[test]
fn phases_can_be_drawn_from_a_part_of_the_period() {
    let span = PhaseSpan {
        callback: at("a", "tick"),
        from_ns: 900,
        length_ns: 300,
    };
    let mut phases = Vec::new();
    for block in 0..6 {
        let options = LowerOptions {
            phases: PhaseDraw {
                block,
                ..options().phases
            },
            phase_spans: vec![span.clone()],
            ..options()
        };
        let after = (tick(&options).1.unwrap() + 1000 - 900) % 1000;
        assert!(after < 300, "{after}");
        phases.push(after / 50);
    }
    phases.sort_unstable();
    assert_eq!(phases, [0, 1, 2, 3, 4, 5], "a stratum for each block");
}

#[test]
fn callbacks_are_numbered_as_they_are_planned() {
    let stack = stack(true);
    for (number, node) in (0..).zip(["a", "b", "c"]) {
        let callback = if node == "a" { "tick" } else { "on_x" };
        assert_eq!(callback_number(&stack, &at(node, callback)), Some(number));
    }
    assert_eq!(callback_number(&stack, &at("a", "on_x")), None);
    assert_eq!(callback_number(&stack, &at("d", "tick")), None);
}

#[test]
fn a_callback_knows_the_chains_that_it_is_on() {
    let mut stack = stack(false);
    let chain = |callbacks: &[(&str, &str)]| Chain {
        name: name("c"),
        callbacks: callbacks
            .iter()
            .map(|(node, callback)| at(node, callback))
            .collect(),
        deadline_ns: None,
    };
    stack.chains = vec![
        chain(&[("a", "tick"), ("b", "on_x"), ("c", "on_x")]),
        chain(&[("c", "on_x"), ("b", "on_x")]),
    ];
    let plans = lower(&stack, &partition(&[("s", &["a", "b", "c"])]), &options());
    let nodes = plans[0].processes.iter().flat_map(|p| &p.nodes);
    let place = |chain, begins, ends| ChainPlacePlan {
        chain,
        begins,
        ends,
    };
    let on: Vec<_> = nodes.map(|n| n.callbacks[0].chains.clone()).collect();
    assert_eq!(
        on,
        [
            vec![place(0, true, false)],
            vec![place(0, false, false), place(1, false, true)],
            vec![place(0, false, true), place(1, true, false)],
        ]
    );
}

#[test]
fn what_a_source_replays_goes_to_its_service_alone() {
    let stack = stack(true);
    let (node, callback) = stack
        .nodes
        .iter()
        .flat_map(|node| node.callbacks.iter().map(move |c| (node, c)))
        .find(|(_, c)| matches!(c.trigger, Trigger::Timer { .. }) && !c.publishes.is_empty())
        .unwrap();
    let topic = callback.publishes[0].clone();
    let messages = vec![(0, 9), (50, 7_000)];
    let options = LowerOptions {
        replay: vec![ReplayedInput {
            callback: CallbackRef {
                node: node.name.clone(),
                callback: callback.name.clone(),
            },
            topic: Some(topic.clone()),
            messages: messages.clone().into(),
        }],
        ..options()
    };
    let services = partition(&[("one", &["a"]), ("two", &["b", "c"])]);
    let plans = lower(&stack, &services, &options);
    let with: Vec<&ServicePlan> = plans.iter().filter(|p| !p.recordings.is_empty()).collect();
    assert_eq!(with.len(), 1);
    assert_eq!(with[0].recordings[0].messages, messages);
    let planned = with[0].processes.iter().flat_map(|p| &p.nodes);
    let mut triggers = planned.flat_map(|n| n.callbacks.iter().map(|c| &c.trigger));
    let replay = triggers.find_map(|trigger| match trigger {
        TriggerPlan::Timer { replay, .. } => replay.as_ref(),
        TriggerPlan::Subscription { .. } => None,
    });
    let replay = replay.unwrap();
    assert_eq!(replay.file, with[0].recordings[0].file);
    // Every service has room for the largest message.
    for plan in &plans {
        let of_topic = plan.topics.iter().position(|t| t.name == topic).unwrap();
        assert_eq!(plan.topics[of_topic].largest_replayed, 7_000);
        assert_eq!(replay.topic, Some(u32::try_from(of_topic).unwrap()));
    }
}
