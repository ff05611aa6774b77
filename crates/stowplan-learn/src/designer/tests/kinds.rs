//! One test for each kind of thing that a design can say.

use proptest::prelude::*;
use stowplan_model::{Executor, Stack, Trigger};

use super::*;

/// A driver and a filter in a container; the connection is written subscriber first.
const PAIR: &str = "\
name: Pair.system
modes: [ { name: default, description: only one, default: true } ]
components:
  - { name: driver, entity: Driver.node, path: /sensing/driver, compute_unit: ecu }
  - { name: filter, entity: Filter.node, path: /sensing/filter, compute_unit: ecu }
node_groups:
  - { name: pointcloud_container, type: ros2_component_container_mt_ipc, nodes: [ /sensing/* ] }
connections:
  - - filter.subscriber.points
    - driver.publisher.points
";

const FILTER: &str = "\
autoware_system_design_format: 0.3.1
name: Filter.node
package: { name: demo, provider: demo }
launch: { plugin: \"demo::Filter\", executable: filter, node_output: both, args: x }
subscribers:
  - { name: points, message_type: sensor_msgs/msg/PointCloud2, remap_target: in }
publishers:
  - { name: filtered, message_type: sensor_msgs/msg/PointCloud2, qos: { durability: volatile, history: keep_last } }
servers: [ { name: reset, message_type: std_srvs/srv/Empty } ]
param_files: []
param_values: []
processes:
  - name: crop
    trigger_conditions: [ { on_input: points, timeout: 1 } ]
    outcomes: [ { to_output: filtered }, { terminal: } ]
";

fn pair(from: &str, to: &str) -> (Stack, Vec<String>) {
    assert!(PAIR.contains(from));
    stack_of(&PAIR.replace(from, to), &[("Filter.node", FILTER)])
}

#[test]
fn a_container_is_what_its_type_says_and_has_the_nodes_of_its_paths() {
    for (kind, executor, by_pointer) in [
        ("ros2_component_container", Executor::Single, false),
        (
            "ros2_component_container_mt",
            Executor::Multi { threads: 2 },
            false,
        ),
        ("ros2_component_container_ipc", Executor::Single, true),
        (
            "ros2_component_container_mt_ipc",
            Executor::Multi { threads: 2 },
            true,
        ),
    ] {
        let (stack, warnings) = pair("ros2_component_container_mt_ipc", kind);
        assert_eq!(warnings, [""; 0]);
        let [process] = stack.processes.as_slice() else {
            panic!("{:?}", stack.processes);
        };
        assert_eq!(process.name.as_str(), "pointcloud_container");
        assert!(process.component_container);
        assert_eq!(process.executor, executor);
        let topic = stack.topic("/sensing/driver/points").unwrap();
        assert_eq!(topic.intra_process, by_pointer);
        let filter = stack.node("filter").unwrap();
        assert_eq!(
            filter.subscriptions().collect::<Vec<_>>(),
            ["/sensing/driver/points"]
        );
        assert_eq!(filter.publishers(), ["/sensing/filter/filtered"]);
    }
}

#[test]
fn the_order_of_a_connection_says_nothing() {
    let turned = PAIR.replace(
        "  - - filter.subscriber.points\n    - driver.publisher.points",
        "  - { from: driver.publisher.points, to: filter.subscriber.points }",
    );
    let filter = [("Filter.node", FILTER)];
    assert_eq!(stack_of(PAIR, &filter), stack_of(&turned, &filter));
    // At the edge of a module, and with wildcards, too.
    let sensing = SENSING
        .replace(
            "- - subscriber.*\n    - detector.subscriber.*",
            "- - detector.subscriber.*\n    - subscriber.*",
        )
        .replace(
            "- - detector.publisher.^\n    - publisher.^",
            "- - publisher.^\n    - detector.publisher.^",
        )
        .replace(
            "- - driver.publisher.points\n    - detector.subscriber.points",
            "- - detector.subscriber.points\n    - driver.publisher.points",
        );
    assert_eq!(
        stack_of(SYSTEM, &[]),
        stack_of(SYSTEM, &[("Sensing.module", &sensing)])
    );
}

#[test]
fn what_leads_nowhere_is_told() {
    assert_eq!(
        pair("[ /sensing/* ]", "[ /perception/* ]").1,
        ["X.system.yaml:7:13: no node is in the group 'pointcloud_container'"]
    );
    assert_eq!(
        pair("driver.publisher.points", "driver.publisher.scan*").1,
        [
            "X.system.yaml:10:7: nothing is connected: no ports are 'driver.publisher.scan*' and 'filter.subscriber.points'"
        ]
    );
    let refused = |from: &str, to: &str| {
        let mut all = sources();
        all.add("Filter.node", "Filter.node.yaml", FILTER);
        let system = PAIR.replace(from, to);
        import(&system, "X.system.yaml", None, &all)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("filter.subscriber.points", "filter.publisher.filtered"),
        "X.system.yaml:9:7: 'filter.publisher.filtered' and 'driver.publisher.points' do not send to each other"
    );
    assert!(
        refused("filter.subscriber.points", "filter.server.reset")
            .contains("a topic's and a service's")
    );
}

/// A copy of this connection goes to every port that its wildcard means.
#[test]
fn a_wildcard_on_one_side_connects_with_all() {
    let (stack, warnings) = pair("filter.subscriber.points", "filter.subscriber.*");
    assert_eq!(warnings, [""; 0]);
    assert_eq!(stack.node("filter").unwrap().subscriptions().count(), 1);
}

#[test]
fn a_publisher_has_the_topic_that_the_system_gives_it() {
    let system =
        format!("{PAIR}remaps:\n  - source: driver.publisher.points\n    topic: /points\n");
    let (stack, warnings) = stack_of(&system, &[("Filter.node", FILTER)]);
    assert_eq!(warnings, [""; 0]);
    assert_eq!(
        stack
            .node("filter")
            .unwrap()
            .subscriptions()
            .collect::<Vec<_>>(),
        ["/points"]
    );
}

#[test]
fn messages_that_rclcpp_does_not_hand_over_by_pointer_are_told() {
    let driver = DRIVER.replace("depth: 5", "durability: transient_local");
    let more = [("Filter.node", FILTER), ("Driver.node", &driver)];
    let (stack, warnings) = stack_of(PAIR, &more);
    assert!(!stack.topic("/sensing/driver/points").unwrap().intra_process);
    assert_eq!(
        warnings,
        [
            "X.system.yaml:1:7: '/sensing/driver/points' is transient local, which rclcpp does not hand over inside a process: it is not in 'pointcloud_container' either"
        ]
    );
}

/// Launched by their own files: a container that is a node, and a component that names it.
#[test]
fn a_node_can_be_a_container_and_name_one() {
    let container =
        "name: Box.node\nlaunch: { type: node_container, executable: component_container_mt }\n";
    let filter = FILTER.replace(
        "plugin:",
        "type: composable_node, container_target: /box, plugin:",
    );
    let system = PAIR
        .replace(
            "components:\n",
            "components:\n  - { name: box, entity: Box.node }\n",
        )
        .replace("/sensing/* ]", "/sensing/driver ]");
    let (stack, warnings) = stack_of(
        &system,
        &[("Box.node", container), ("Filter.node", &filter)],
    );
    assert_eq!(warnings, [""; 0]);
    assert_eq!(stack.node("filter").unwrap().process.as_str(), "box");
    let process = stack.process("box").unwrap();
    assert_eq!(process.executor, Executor::Multi { threads: 2 });
    assert!(process.is_own_node(stack.node("box").unwrap()));
}

#[test]
fn a_variant_is_its_base_with_its_changes() {
    let variant = "\
name: Car.system
base: Pair.system
override:
  components:
    - { name: driver, entity: Fast.node, path: /sensing/driver, compute_unit: ecu }
    - { name: second, entity: Filter.node, path: /sensing/second }
  connections:
    - [ second.subscriber.points, driver.publisher.points ]
remove:
  components: [ { name: filter } ]
";
    let fast = "name: Fast.node\nbase: Driver.node\noverride:\n  processes:\n    - name: scan\n      trigger_conditions: [ periodic: 50 ]\n      outcomes: [ to_output: points ]\n";
    let more = [
        ("Filter.node", FILTER),
        ("Pair.system", PAIR),
        ("Fast.node", fast),
    ];
    let (stack, warnings) = stack_of(variant, &more);
    assert_eq!(warnings, [""; 0]);
    assert_eq!(stack.name.as_str(), "Car");
    let nodes: Vec<&str> = stack.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(nodes, ["driver", "second"]);
    let scan = stack.nodes[0].callback("scan").unwrap();
    assert!(matches!(
        scan.trigger,
        Trigger::Timer {
            period_ns: 20_000_000,
            ..
        }
    ));
    assert_eq!(stack.nodes[1].subscriptions().count(), 1);
    assert_eq!(stack.processes.len(), 1);
}

#[test]
fn what_a_variant_cannot_do_is_told_with_its_place() {
    let more = [("Filter.node", FILTER), ("Pair.system", PAIR)];
    let (_, warnings) = stack_of(
        "name: X.system\nbase: Pair\nnode_groups: []\nremove:\n  components: [ { name: none } ]\n",
        &more,
    );
    assert_eq!(
        warnings,
        [
            "X.system.yaml:3:1: 'node_groups' has no effect in a variant outside 'override'",
            "X.system.yaml:5:17: there is nothing of this in 'components' to remove",
        ]
    );
    let mut all = sources();
    all.add(
        "A.system",
        "A.system.yaml",
        "name: A.system\nbase: A.system\n",
    );
    let error = import(
        "name: B.system\nbase: A.system\n",
        "B.system.yaml",
        None,
        &all,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "A.system.yaml:2:7: 'A.system' is a variant of itself"
    );
}

#[test]
fn a_mode_changes_the_system() {
    let system = PAIR.replace("default: true }", "default: true }, { name: night }");
    let system = format!(
        "{system}night:\n  remove:\n    components: [ {{ name: filter }} ]\n  override:\n    node_groups: [ {{ name: pointcloud_container, type: ros2_component_container, nodes: [ /sensing/driver ] }} ]\n"
    );
    let mut all = sources();
    all.add("Filter.node", "Filter.node.yaml", FILTER);
    let of = |mode| import(&system, "s", Some(mode), &all).unwrap();
    assert_eq!(of("default").draft.nodes().count(), 2);
    let night = of("night");
    assert_eq!(night.warnings, []);
    assert_eq!(night.draft.nodes().count(), 1);
    assert_eq!(night.draft.processes[0].executor, Executor::Single);
}

#[test]
fn what_happens_once_is_told() {
    let driver = DRIVER.replace("- periodic: 10.0", "- once:");
    let (_, warnings) = stack_of(PAIR, &[("Filter.node", FILTER), ("Driver.node", &driver)]);
    assert_eq!(
        warnings,
        ["Driver.node.yaml:10:13: 'once' is left out: what happens once at start is not modelled"]
    );
}

proptest! {
    /// In every map of every file, and in as many as one likes. What a file says of packages and services is
    /// left out as a whole.
    #[test]
    fn every_unknown_field_is_named(chosen in prop::collection::vec(any::<bool>(), 80)) {
        let mut number = 0;
        let mut names = Vec::new();
        let mut with_more = |text: &str| -> String {
            let mut more = String::new();
            for (line, text) in text.split_inclusive('\n').enumerate() {
                let indent = text.len() - text.trim_start_matches([' ', '-']).len();
                let is_map = text.trim_start_matches([' ', '-']).starts_with("name:");
                let add = (text.contains("{ ") || is_map)
                    && !text.starts_with("package:")
                    && !text.starts_with("servers:");
                let chosen = add && chosen[number];
                number += usize::from(add);
                match (chosen, is_map) {
                    (false, _) => more.push_str(text),
                    (true, false) => {
                        let field = format!("field_{number}");
                        let replaced = text.replace("{ ", &format!("{{ {field}: 1, "));
                        names.push(format!("'{field}'"));
                        more.push_str(&replaced);
                    }
                    (true, true) => {
                        let field = format!("field_{number}");
                        names.push(format!("'{field}'"));
                        more.push_str(text);
                        more.push_str(&format!("{}{field}: [ {line} ]\n", " ".repeat(indent)));
                    }
                }
            }
            more
        };
        let mut all = Sources::default();
        for (entity, text) in FILES.iter().chain(&[("Filter.node", FILTER)]) {
            all.add(entity, &format!("{entity}.yaml"), &with_more(text));
        }
        let system = with_more(SYSTEM);
        let pair = with_more(PAIR);
        prop_assert!(number <= chosen.len(), "{}", number);
        let mut told = Vec::new();
        for system in [system, pair] {
            let imported = import(&system, "X.system.yaml", None, &all);
            let imported = imported.unwrap_or_else(|e| panic!("{e}\n{system}"));
            told.extend(imported.warnings.iter().map(ToString::to_string));
        }
        for name in names {
            prop_assert!(told.iter().any(|w| w.contains(".yaml:") && w.contains(&name)), "{} {:?}", name, told);
        }
    }
}
