//! Plans of stacks small enough to work out by hand.

use crate::common::{name, node, on, process, stack, timer, topic};
use stowplan_model::{
    DdsProfile, Launching, Partition, Ready, RealService, Serialisation, Stack, WorkSpeed,
};
use stowplan_plan::{
    Choice, EdgeClass, Flow, MachineFacts, Plan, PlanError, PlanOptions, Preset, Schedule, Table,
    TableService, dot, partition, plan, scale_work, split,
};

const MACHINE: MachineFacts = MachineFacts {
    cpus: 2,
    speed: Some(WorkSpeed::everywhere(1.0)),
    memory_bytes: None,
    multicast: false,
};

/// `a` sends at 10 Hz to `b` in the same process and to `c` in another, `b` sends on to `c`;
/// `a` and `b` are of module `m`, `c` of module `n`.
pub fn three() -> Stack {
    stack(
        vec![topic("/x", true), topic("/y", false)],
        vec![process("p"), process("q")],
        vec![
            node("a", "m", "p", vec![timer(100, &["/x"])]),
            node("b", "m", "p", vec![on("/x", &["/y"])]),
            node("c", "n", "q", vec![on("/x", &[]), on("/y", &[])]),
        ],
    )
}

pub fn preset(stack: &Stack, preset: Preset) -> Partition {
    partition(stack, &Choice::Preset(preset)).expect("presets fit every stack")
}

pub fn planned(stack: &Stack, partition: &Partition, options: &PlanOptions) -> Plan {
    plan(stack, partition, &MACHINE, options).expect("the partition is of this stack")
}

pub fn flow(edges: usize, messages_per_s: f64, bytes_per_s: f64) -> Flow {
    Flow {
        edges,
        messages_per_s,
        bytes_per_s,
    }
}

pub fn real(service: &str, publishes: &[&str]) -> RealService {
    RealService {
        name: name(service),
        rootfs: None,
        image: None,
        mounts: Vec::new(),
        devices: Vec::new(),
        user: None,
        working_dir: None,
        command: vec![service.into()],
        env: Vec::new(),
        publishes: publishes.iter().map(|topic| (*topic).into()).collect(),
        subscribes: Vec::new(),
        participants: 3,
        trace: false,
        ready: Ready::Started,
        ready_timeout_ns: 1,
    }
}

fn rate(plan: &Plan, topic: &str) -> f64 {
    let found = plan
        .topics
        .iter()
        .find(|t| t.topic == topic)
        .expect("a topic of the stack");
    found.messages_per_s.expect("a known rate")
}

fn table(services: &[(&str, &[&str])]) -> Table {
    Table {
        name: "table".into(),
        description: String::new(),
        notes: vec!["a note".into()],
        services: services
            .iter()
            .map(|(service, modules)| TableService {
                service: name(service),
                modules: modules.iter().map(|m| (*m).to_owned()).collect(),
                functions: Vec::new(),
                nodes: Vec::new(),
                rest: false,
                note: None,
            })
            .collect(),
    }
}

#[test]
fn dependencies_across_services_are_told() {
    let mut stack = three();
    stack.nodes[1].depends_on = vec![name("a")];
    stack.nodes[2].depends_on = vec![name("a"), name("b")];
    let warnings = |preset_of| {
        let partition = preset(&stack, preset_of);
        planned(&stack, &partition, &PlanOptions::default()).warnings
    };
    assert_eq!(warnings(Preset::Single), Vec::<String>::new());
    assert_eq!(
        warnings(Preset::Modules),
        ["nodes do not wait for nodes of other services that they depend on: c on a, c on b"]
    );
}

#[test]
fn one_service_has_no_crossing() {
    let stack = three();
    let plan = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert_eq!((plan.processes, plan.participants), (2, 3));
    assert_eq!(
        plan.edges_by_class,
        [
            (EdgeClass::IntraProcess, flow(1, 10.0, 1000.0)),
            (EdgeClass::Loopback, flow(2, 20.0, 2000.0))
        ]
    );
    assert_eq!(plan.crossing, Flow::default());
    // a 10/s, b 10/s, c 20/s of 1,000 ns each on two CPUs
    assert!((plan.utilisation.unwrap() - 40.0 * 1e-6 / 2.0).abs() < 1e-12);
}

#[test]
fn a_cut_process_becomes_one_per_service() {
    let stack = three();
    let nodes = preset(&stack, Preset::Nodes);
    let plan = planned(&stack, &nodes, &PlanOptions::default());
    assert_eq!((plan.processes, plan.participants), (3, 6));
    assert_eq!(plan.cut_processes, [("p".to_owned(), 2)]);
    assert_eq!(
        plan.edges_by_class,
        [(EdgeClass::Loopback, flow(3, 30.0, 3000.0))]
    );
    assert_eq!(plan.crossing, flow(3, 30.0, 3000.0));
    let splits = split(&stack, &nodes).unwrap();
    assert_eq!(splits[0].processes[0].process, stack.processes[0]);
    assert_eq!(splits[1].processes[0].process, stack.processes[0]);
}

#[test]
fn a_plain_supervisor_is_no_participant_and_keeps_no_memory() {
    let mut stack = three();
    stack.launch.memory_bytes = 5_000;
    let partition = preset(&stack, Preset::Modules);
    let of = |launching| {
        let options = PlanOptions {
            launching,
            ..PlanOptions::default()
        };
        planned(&stack, &partition, &options)
    };
    let (ros2, native) = (of(Launching::Ros2), of(Launching::Native));
    assert_eq!(ros2.participants - native.participants, ros2.services.len());
    assert_eq!(native.participants, native.processes);
    for (with, without) in ros2.services.iter().zip(&native.services) {
        assert_eq!(with.memory_bytes - without.memory_bytes, 5_000);
    }
}

#[test]
fn rates_follow_all_publishers() {
    let stack = stack(
        vec![topic("/x", false), topic("/y", false), topic("/z", false)],
        vec![process("p")],
        vec![
            node("a", "m", "p", vec![timer(100, &["/x"])]),
            node("b", "m", "p", vec![timer(50, &["/x", "/y"])]),
            node("c", "m", "p", vec![on("/x", &["/z"]), on("/y", &["/z"])]),
        ],
    );
    let plan = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert_eq!(
        (rate(&plan, "/x"), rate(&plan, "/y"), rate(&plan, "/z")),
        (30.0, 20.0, 50.0)
    );
}

#[test]
fn a_circle_counts_each_message_once() {
    let stack = stack(
        vec![topic("/x", false), topic("/y", false), topic("/z", false)],
        vec![process("p")],
        vec![
            node("a", "m", "p", vec![timer(100, &["/x"])]),
            node("b", "m", "p", vec![on("/x", &["/y"])]),
            node("c", "m", "p", vec![on("/y", &["/x", "/z"])]),
            node("d", "m", "p", vec![on("/z", &[])]),
        ],
    );
    let plan = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert_eq!(
        (rate(&plan, "/x"), rate(&plan, "/y"), rate(&plan, "/z")),
        (10.0, 10.0, 10.0)
    );
    let circular: Vec<bool> = plan.topics.iter().map(|t| t.circular).collect();
    assert_eq!(circular, [true, true, false]);
    assert!(
        plan.warnings.iter().any(|w| w.contains("circle")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn what_real_programs_publish_has_no_rate() {
    let mut stack = three();
    stack.services.push(real("pong", &["/x"]));
    let plan = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert!(
        plan.topics.iter().all(|t| t.messages_per_s.is_none()),
        "{:?}",
        plan.topics
    );
}

#[test]
fn scaling_reaches_what_was_asked_for_and_says_what_it_leaves() {
    let stack = three();
    let options = PlanOptions {
        utilisation: Some(0.7),
        ..PlanOptions::default()
    };
    let single = preset(&stack, Preset::Single);
    let plan = planned(&stack, &single, &options);
    assert!((plan.utilisation.unwrap() - 0.7).abs() < 1e-12);
    let scaling = plan.scaling.unwrap();
    assert_eq!(scaling.caveat, "scaled: not a prediction for the vehicle");
    assert!(!scaling.not_scaled.is_empty());
    let scaled = scale_work(&stack, scaling.factor);
    let again = planned(&scaled, &single, &PlanOptions::default());
    assert!((again.utilisation.unwrap() - 0.7).abs() < 1e-12);
}

/// a → /x (by pointer where it can) → b in a's process, c in another; each message of 100 bytes, 10 a second.
fn serialising(costs: bool) -> Stack {
    let mut x = topic("/x", true);
    x.serialisation = costs.then_some(Serialisation {
        message_iterations: 1_000,
        kib_iterations: 10_240,
    });
    stack(
        vec![x],
        vec![process("p"), process("q")],
        vec![
            node("a", "one", "p", vec![timer(100, &["/x"])]),
            node("b", "two", "p", vec![on("/x", &[])]),
            node("c", "two", "q", vec![on("/x", &[])]),
        ],
    )
}

#[test]
fn serialising_counts_once_for_each_message_that_leaves_its_process() {
    // 10 a second × (1,000 + 100 bytes × 10 iterations a byte) = 20,000 iterations a second.
    let sent = 20_000.0 * MACHINE.speed.unwrap().ns() / 1e9;
    let single = |stack: &Stack| {
        let partition = preset(stack, Preset::Single);
        planned(stack, &partition, &PlanOptions::default())
    };
    let (with, without) = (single(&serialising(true)), single(&serialising(false)));
    let cpus = f64::from(MACHINE.cpus);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(close(with.serialisation_utilisation.unwrap(), sent / cpus));
    assert_eq!(without.serialisation_utilisation, Some(0.0));
    let more = with.utilisation.unwrap() - without.utilisation.unwrap();
    assert!(close(more, sent / cpus));
    // Only the publisher's service pays.
    let stack = serialising(true);
    let modules = preset(&stack, Preset::Modules);
    let plan = planned(&stack, &modules, &PlanOptions::default());
    let cpus = |stack: &Stack| {
        let plan = planned(stack, &modules, &PlanOptions::default());
        plan.services
            .iter()
            .map(|s| s.cpus.unwrap())
            .collect::<Vec<_>>()
    };
    let (with, without) = (cpus(&stack), cpus(&serialising(false)));
    assert!(close(with[0] - without[0], sent) && close(with[1], without[1]));
    assert_eq!(plan.refusals, [""; 0]);
    // Without c nobody outside the process listens: nothing is serialised.
    let mut inside = serialising(true);
    inside.nodes.pop();
    assert_eq!(single(&inside).serialisation_utilisation, Some(0.0));
}

#[test]
fn serialising_is_not_scaled() {
    let mut stack = serialising(true);
    let single = preset(&stack, Preset::Single);
    let asked = |share: f64| PlanOptions {
        utilisation: Some(share),
        ..PlanOptions::default()
    };
    let plan = planned(&stack, &single, &asked(0.5));
    assert!((plan.utilisation.unwrap() - 0.5).abs() < 1e-12);
    let scaled = scale_work(&stack, plan.scaling.unwrap().factor);
    let again = planned(&scaled, &single, &PlanOptions::default());
    assert!((again.utilisation.unwrap() - 0.5).abs() < 1e-12);
    stack.topics[0].serialisation = Some(Serialisation {
        message_iterations: 1_000_000_000,
        kib_iterations: 0,
    });
    let plan = planned(&stack, &single, &asked(0.5));
    assert_eq!(plan.scaling.unwrap().factor, 0.0);
    assert!(
        plan.refusals.iter().any(|r| r.contains("serialising")),
        "{:?}",
        plan.refusals
    );
}

#[test]
fn without_calibration_nothing_is_made_up() {
    let stack = three();
    let machine = MachineFacts {
        speed: None,
        ..MACHINE
    };
    let plan = plan(
        &stack,
        &preset(&stack, Preset::Single),
        &machine,
        &PlanOptions::default(),
    )
    .unwrap();
    assert_eq!(
        (plan.utilisation, plan.duration, plan.services[0].cpus),
        (None, None, None)
    );
    assert!(plan.warnings.iter().any(|w| w.contains("not calibrated")));
}

#[test]
fn durations_add_up() {
    let stack = three();
    let schedule = Schedule {
        deployments: 2,
        blocks: 6,
        warm_up_ns: 2_000_000_000,
        window_ns: 10_000_000_000,
        starts: 1,
    };
    let duration = |schedule| {
        let options = PlanOptions {
            schedule: Some(schedule),
            ..PlanOptions::default()
        };
        let plan = planned(&stack, &preset(&stack, Preset::Single), &options);
        plan.duration.unwrap()
    };
    let whole = duration(schedule);
    // launcher 10 ms + 3 × 1 ms, then process p with 2 × 1 ms
    assert!((whole.start_up_s - 0.015).abs() < 1e-12);
    assert!((whole.run_s - 14.015).abs() < 1e-9);
    assert!((whole.experiment_s - 12.0 * 14.015).abs() < 1e-9);
    let start = duration(Schedule {
        window_ns: 0,
        ..schedule
    });
    assert!((start.run_s - 2.015).abs() < 1e-9, "two seconds of quiet");
}

#[test]
fn more_participants_than_ports_are_refused() {
    let count = 60;
    let nodes = (0..count)
        .map(|i| {
            node(
                &format!("n{i}"),
                "m",
                &format!("p{i}"),
                vec![timer(100, &["/x"])],
            )
        })
        .collect();
    let processes = (0..count).map(|i| process(&format!("p{i}"))).collect();
    let stack = stack(vec![topic("/x", false)], processes, nodes);
    let single = planned(
        &stack,
        &preset(&stack, Preset::Single),
        &PlanOptions::default(),
    );
    assert_eq!((single.participants, single.refusals.len()), (61, 0));
    let nodes = planned(
        &stack,
        &preset(&stack, Preset::Nodes),
        &PlanOptions::default(),
    );
    assert_eq!(nodes.participants, 120);
    assert!(
        nodes.refusals[0].contains("multicast"),
        "{:?}",
        nodes.refusals
    );
}

#[test]
fn a_profile_of_dds_refuses_what_it_cannot_address() {
    let stack = three();
    let partition = preset(&stack, Preset::Nodes);
    let refusals = |multicast: bool, dds: DdsProfile| {
        let machine = MachineFacts {
            multicast,
            ..MACHINE
        };
        let options = PlanOptions {
            dds,
            ..PlanOptions::default()
        };
        plan(&stack, &partition, &machine, &options)
            .unwrap()
            .refusals
    };
    for profile in DdsProfile::ALL {
        assert_eq!(refusals(true, profile), [""; 0], "six participants");
        let told = refusals(false, profile);
        assert_eq!(told.is_empty(), profile == DdsProfile::Stowplan, "{told:?}");
    }
    let nodes = (0..17).map(|i| node(&format!("n{i}"), "m", &format!("p{i}"), vec![]));
    let processes = (0..17).map(|i| process(&format!("p{i}"))).collect();
    let many = self::stack(vec![], processes, nodes.collect());
    let machine = MachineFacts {
        multicast: true,
        ..MACHINE
    };
    let options = PlanOptions {
        dds: DdsProfile::RmwJazzy,
        ..PlanOptions::default()
    };
    let told = plan(&many, &preset(&many, Preset::Nodes), &machine, &options).unwrap();
    assert_eq!(told.participants, 34);
    assert!(
        told.refusals[0].contains("at most 33"),
        "{:?}",
        told.refusals
    );
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let stack = three();
    let machine = MachineFacts {
        memory_bytes: Some(3_000_000),
        ..MACHINE
    };
    let plan = plan(
        &stack,
        &preset(&stack, Preset::Single),
        &machine,
        &PlanOptions::default(),
    )
    .unwrap();
    assert!(plan.refusals[0].contains("3.50 MB"), "{:?}", plan.refusals);
}

#[test]
fn tables_take_the_most_exact_claim() {
    let stack = three();
    let mut table = table(&[("one", &["m"]), ("two", &["n"])]);
    table.services[1].nodes.push("b".into());
    let partition = partition(&stack, &Choice::Table(table)).unwrap();
    let nodes: Vec<&str> = partition.services[1]
        .nodes
        .iter()
        .map(|n| n.as_str())
        .collect();
    assert_eq!(nodes, ["b", "c"]);
    assert_eq!(partition.notes, ["a note"]);
}

#[test]
fn unattributed_nodes_stay_with_their_process() {
    let mut stack = three();
    let mut listener = node("listener", "unattributed", "q", vec![on("/x", &[])]);
    listener.attributed = false;
    stack.nodes.insert(0, listener);
    let modules = preset(&stack, Preset::Modules);
    assert_eq!(modules.services.len(), 2);
    assert_eq!(modules.service_of(&name("listener")), Some(&name("n")));
    assert!(
        modules.notes[0].contains("1 nodes that no source attributes"),
        "{:?}",
        modules.notes
    );
}

#[test]
fn wrong_tables_say_what_is_wrong() {
    let stack = three();
    let message = |table: Table| {
        partition(&stack, &Choice::Table(table))
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(message(table(&[("one", &["m", "nn"])])), @r"
    partition 'table': service 'one' names the module 'nn', which the stack does not have
      hint: known: m, n
    ");
    insta::assert_snapshot!(message(table(&[("one", &["m"]), ("two", &["m", "n"])])), @"partition 'table': services 'one' and 'two' both name the module 'm'");
    insta::assert_snapshot!(message(table(&[("one", &["n"])])), @r"
    partition 'table': no service takes the node 'a' and one more
      hint: name it, its function or its module, or give one service 'rest: true'
    ");
}

#[test]
fn a_partition_of_another_stack_is_an_error() {
    let stack = three();
    let mut single = preset(&stack, Preset::Single);
    single.services[0].nodes.pop();
    assert!(matches!(
        plan(&stack, &single, &MACHINE, &PlanOptions::default()),
        Err(PlanError::Mismatch { .. })
    ));
}

#[test]
fn the_graph_marks_crossings() {
    let stack = three();
    insta::assert_snapshot!(dot(&stack, &preset(&stack, Preset::Modules)), @r#"
    digraph stack {
      rankdir=LR;
      node [shape=box, fontsize=10];
      edge [fontsize=8];
      subgraph cluster_0 {
        label="m";
        "a";
        "b";
      }
      subgraph cluster_1 {
        label="n";
        "c";
      }
      "a" -> "b" [label="/x"];
      "a" -> "c" [label="/x", color=red];
      "b" -> "c" [label="/y", color=red];
    }
    "#);
}
