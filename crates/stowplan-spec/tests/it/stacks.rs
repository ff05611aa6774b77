//! The shipped stacks and partitions, against what the papers publish.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_model::{Reliability, Stack, Trigger, WorkSpeed};
use stowplan_plan::{MachineFacts, Plan, PlanOptions, partition, plan};
use stowplan_spec::{
    find_partition, find_spec, parse_partition, parse_spec, shipped, shipped_names,
    shipped_partition, shipped_partition_names,
};

fn stack(name: &str) -> Stack {
    find_spec(name, Path::new("."))
        .expect("shipped stacks are sound")
        .into_stack()
}

fn planned(stack: &Stack, name: &str) -> Plan {
    let machine = MachineFacts {
        cpus: 2,
        speed: Some(WorkSpeed::everywhere(1.0)),
        memory_bytes: Some(24_000_000_000),
        multicast: false,
    };
    let choice = find_partition(name, Path::new(".")).expect("a shipped partition");
    let partition = partition(stack, &choice).expect("it fits the stack");
    plan(stack, &partition, &machine, &PlanOptions::default()).expect("it is of the stack")
}

/// Nodes of each module that a source attributes.
fn attributed(stack: &Stack) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for node in stack.nodes.iter().filter(|n| n.attributed) {
        *counts.entry(node.module.as_str()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn every_shipped_file_is_sound_and_says_what_it_is() {
    for name in shipped_names() {
        let text = shipped(name).unwrap();
        assert!(
            text.starts_with(&format!("# {name}:")),
            "{name} has no header"
        );
        assert!(text.lines().count() <= 720, "{name} is too long to read");
        let spec = parse_spec(text, name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(spec.stack().name.as_str(), name);
        assert!(!spec.stack().description.is_empty());
        assert!(!spec.assumptions().is_empty());
    }
    for name in shipped_partition_names() {
        let table = parse_partition(shipped_partition(name).unwrap(), name)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(table.name, name);
        assert!(
            table.notes[0].starts_with("counts "),
            "{name} does not say what it counts"
        );
    }
}

#[test]
fn galactic_has_the_modules_of_wen_2024_table_iv() {
    let stack = stack("autoware-galactic");
    assert_eq!(stack.nodes.len(), 242);
    let expected = BTreeMap::from([
        ("vehicle", 1),
        ("system", 12),
        ("sensing", 32),
        ("planning", 26),
        ("perception", 36),
        ("map", 7),
        ("location", 12),
        ("control", 8),
        ("api", 62),
        ("rviz", 1),
    ]);
    assert_eq!(attributed(&stack), expected);
    assert_eq!(expected.values().sum::<usize>(), 197);
    assert!(
        stack
            .nodes
            .iter()
            .filter(|n| !n.attributed)
            .all(|n| n.module.as_str() == "unattributed")
    );
}

#[test]
fn humble_has_the_services_of_betz_2024_table_i() {
    let stack = stack("autoware-humble");
    assert_eq!(stack.nodes.len(), 191);
    let expected = BTreeMap::from([
        ("sensing", 48),
        ("perception", 49),
        ("localization", 33),
        ("map", 6),
        ("planning", 25),
        ("control", 8),
        ("vehicle", 1),
        ("system", 21),
    ]);
    assert_eq!(attributed(&stack), expected);
    let plan = planned(&stack, "betz-8");
    for service in &plan.services {
        assert_eq!(
            service.nodes().count(),
            expected[service.name.as_str()],
            "{}",
            service.name
        );
    }
}

#[test]
fn humble_has_the_chain_of_betz_2024_table_iii() {
    let stack = stack("autoware-humble");
    let chain = &stack.chains[0];
    assert_eq!(chain.callbacks.len(), 17);
    let callbacks: Vec<_> = chain
        .callbacks
        .iter()
        .map(|r| {
            stack
                .node(r.node.as_str())
                .unwrap()
                .callback(r.callback.as_str())
                .unwrap()
        })
        .collect();
    let timers: Vec<(usize, u64)> = callbacks
        .iter()
        .enumerate()
        .filter_map(|(i, c)| match c.trigger {
            Trigger::Timer { period_ns, .. } => Some((i, period_ns / 1_000_000)),
            Trigger::Subscription { .. } => None,
        })
        .collect();
    assert_eq!(timers, [(3, 20), (6, 100), (15, 30)]);
    let work_ms: f64 = callbacks
        .iter()
        .map(|c| c.work.iterations.mean())
        .sum::<f64>()
        / 1e6;
    assert!(
        (work_ms - 52.7).abs() < 0.1,
        "Table VI: 52.7 ms of computation, here {work_ms}"
    );
    for (from, to) in callbacks.iter().zip(&callbacks[1..]) {
        if let Trigger::Subscription { topic } = &to.trigger {
            let qos = stack.topic(topic).unwrap().qos;
            assert_eq!(
                (qos.reliability, qos.depth),
                (Reliability::BestEffort, 1),
                "{topic}"
            );
            assert!(from.publishes.contains(topic));
        }
    }
}

#[test]
fn the_papers_partitions_have_their_number_of_services() {
    let galactic = stack("autoware-galactic");
    for (name, services) in [
        ("single", 1),
        ("wen-5", 5),
        ("wen-10", 10),
        ("wen-17", 17),
        ("wen-26", 26),
    ] {
        let plan = planned(&galactic, name);
        assert_eq!(plan.services.len(), services, "{name}");
        assert_eq!(
            plan.services
                .iter()
                .map(|s| s.nodes().count())
                .sum::<usize>(),
            242,
            "{name}"
        );
        assert!(plan.refusals.is_empty(), "{name}: {:?}", plan.refusals);
    }
    assert_eq!(
        planned(&stack("autoware-humble"), "betz-8").services.len(),
        8
    );
    assert_eq!(planned(&galactic, "nodes").services.len(), 242);
}

#[test]
fn the_reference_system_is_as_in_its_code() {
    let stack = stack("autoware-reference-system");
    let callbacks = || stack.nodes.iter().flat_map(|n| &n.callbacks);
    let subscriptions = callbacks()
        .filter(|c| matches!(c.trigger, Trigger::Subscription { .. }))
        .count();
    assert_eq!(
        (stack.nodes.len(), stack.topics.len(), subscriptions),
        (24, 23, 29)
    );
    assert!(
        stack
            .topics
            .iter()
            .all(|t| (t.bytes.mean() - 4096.0).abs() < 1e-9 && t.qos.depth == 1)
    );
    let plan = planned(&stack, "single");
    let rate = |topic: &str| {
        plan.topics
            .iter()
            .find(|t| t.topic == topic)
            .unwrap()
            .messages_per_s
            .unwrap()
    };
    assert!((rate("/ObjectCollisionEstimator") - 10.0).abs() < 1e-9);
    assert!((rate("/NDTLocalizer") - 1000.0 / 120.0).abs() < 1e-9);
    assert!((rate("/EuclideanIntersection") - 40.0).abs() < 1e-9);
}

#[test]
fn start_up_fits_a_small_machine() {
    for name in ["autoware-galactic", "autoware-humble"] {
        let stack = stack(name);
        let memory: u64 = stack.nodes.iter().map(|n| n.start_up.memory_bytes).sum();
        assert!(memory < 3_000_000_000, "{name} keeps {memory} bytes");
        let libs: BTreeMap<_, _> = stack
            .nodes
            .iter()
            .flat_map(|n| &n.start_up.libs)
            .map(|l| (l.name.as_str(), l.bytes))
            .collect();
        assert!(libs.values().sum::<u64>() < 300_000_000, "{name}: {libs:?}");
    }
}
