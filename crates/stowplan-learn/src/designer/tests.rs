//! A design written for these tests after the documented format: a LiDAR, a detector, a planner.

use proptest::prelude::*;
use stowplan_model::Stack;

use super::*;
use crate::draft::Draft;

mod kinds;

const SYSTEM: &str = "\
autoware_system_design_format: 0.4.0
name: Small.system
modes:
  - name: Runtime
    default: true
  - name: Simulation
components:
  - name: sensing
    entity: Sensing.module
    namespace: sensing
    compute_unit: main_ecu
  - name: planner
    entity: Planner.node
    namespace: planning
    compute_unit: second_ecu
  - name: simulator
    entity: Driver.node
    namespace: simulator
    mode: Simulation
node_groups:
  - name: sensing_container
    type: ros2_component_container_mt
    nodes:
      - /sensing/*
connections:
  - - sensing.publisher.objects
    - planner.subscriber.objects
  - from: planner.output.trajectory
    to: sensing.input.trajectory
";

const SENSING: &str = "\
name: Sensing.module
instances:
  - name: driver
    entity: Driver.node
  - name: detector
    entity: Detector.node
subscribers:
  - name: trajectory
publishers:
  - name: objects
connections:
  - - driver.publisher.points
    - detector.subscriber.points
  - - subscriber.*
    - detector.subscriber.*
  - - detector.publisher.^
    - publisher.^
";

const DRIVER: &str = "\
name: Driver.node
subscribers: []
publishers:
  - name: points
    message_type: sensor_msgs/msg/PointCloud2
    qos: { reliability: best_effort, depth: 5 }
processes:
  - name: scan
    trigger_conditions:
      - periodic: 10.0
    outcomes:
      - to_output: points
";

const DETECTOR: &str = "\
name: Detector.node
inputs:
  - name: points
  - name: trajectory
outputs:
  - name: objects
processes:
  - name: detect
    trigger_conditions:
      - and:
          - on_input: points
          - on_input: trajectory
    outcomes:
      - to_trigger: merge
  - name: merge
    trigger_conditions:
      - on_trigger: detect
    outcomes:
      - to_output: objects
";

const PLANNER: &str = "\
name: Planner.node
subscribers:
  - name: objects
  - name: transforms
    global: /tf
publishers:
  - name: trajectory
  - name: debug/marker
processes:
  - name: plan
    trigger_conditions:
      - or:
          - periodic: 20
    outcomes:
      - to_output: trajectory
";

const FILES: [(&str, &str); 4] = [
    ("Sensing.module", SENSING),
    ("Driver.node", DRIVER),
    ("Detector.node", DETECTOR),
    ("Planner.node", PLANNER),
];

fn sources() -> Sources {
    let mut sources = Sources::default();
    for (entity, text) in FILES {
        sources.add(entity, &format!("{entity}.yaml"), text);
    }
    sources
}

fn imported(mode: Option<&str>) -> Draft {
    let imported = import(SYSTEM, "Small.system.yaml", mode, &sources()).unwrap();
    assert_eq!(imported.warnings, []);
    imported.draft
}

/// The stack of a system with other sources beside [`FILES`], and its warnings.
fn stack_of(system: &str, more: &[(&str, &str)]) -> (Stack, Vec<String>) {
    let mut all = sources();
    for (entity, text) in more {
        all.add(entity, &format!("{entity}.yaml"), text);
    }
    let imported = import(system, "X.system.yaml", None, &all).unwrap();
    let yaml = imported.draft.to_yaml();
    let stack = stowplan_spec::parse_stack(&yaml, "s.yaml");
    let warnings = imported.warnings.iter().map(ToString::to_string);
    let warnings = warnings.collect();
    (stack.unwrap_or_else(|e| panic!("{e}\n{yaml}")), warnings)
}

#[test]
fn a_design_becomes_a_stack() {
    let draft = imported(None);
    let yaml = draft.to_yaml();
    let spec = stowplan_spec::parse_spec(&yaml, "s.yaml").unwrap_or_else(|e| panic!("{e}\n{yaml}"));
    let stack = spec.stack();
    assert_eq!(stack.name.as_str(), "Small");
    let names: Vec<&str> = stack.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["driver", "detector", "planner"]);
    let detector = stack.node("detector").unwrap();
    assert_eq!(detector.process.as_str(), "sensing_container");
    assert_eq!(detector.module.as_str(), "sensing");
    let points = detector.callback("on_points").unwrap();
    // By the last port that it is connected through, which is the module's.
    assert_eq!(points.publishes, ["/sensing/objects"]);
    assert!(
        detector
            .callback("on_trajectory")
            .unwrap()
            .publishes
            .is_empty()
    );
    let planner = stack.node("planner").unwrap();
    let plan = planner.callback("plan").unwrap();
    assert_eq!(plan.publishes, ["/planning/planner/trajectory"]);
    assert_eq!(plan.uses.len(), 1);
    assert_eq!(
        planner.silent.publishers,
        ["/planning/planner/debug/marker"]
    );
    let cloud = stack.topic("/sensing/driver/points").unwrap();
    assert_eq!(cloud.qos.depth, 5);
    let left_out = draft.head.last().unwrap();
    assert!(left_out.ends_with("left out: /planning/planner transforms."));
}

#[test]
fn a_mode_has_its_own_components() {
    assert_eq!(imported(Some("Simulation")).nodes().count(), 4);
    let error = import(SYSTEM, "Small.system.yaml", Some("None"), &sources());
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("its modes are: Runtime, Simulation")
    );
}

fn refused(entity: &str, from: &str, to: &str) -> String {
    let mut all = sources();
    let mut system = SYSTEM.to_owned();
    if entity.is_empty() {
        assert!(system.contains(from));
        system = system.replace(from, to);
    } else {
        let text = FILES.iter().find(|(name, _)| *name == entity).unwrap().1;
        assert!(text.contains(from));
        all.add(entity, &format!("{entity}.yaml"), &text.replace(from, to));
    }
    import(&system, "Small.system.yaml", None, &all)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert_eq!(
        refused("", "entity: Planner.node", "entity: Other.node"),
        "Small.system.yaml:13:13: there is no file 'Other.node.yaml' in the folder of the design"
    );
    assert_eq!(
        refused(
            "Sensing.module",
            "driver.publisher.points",
            "camera.publisher.points"
        ),
        "Sensing.module.yaml:12:7: no instance is called 'camera' here"
    );
    assert_eq!(
        refused(
            "Sensing.module",
            "driver.publisher.points",
            "driver.publisher.image"
        ),
        "Sensing.module.yaml:12:7: /sensing/driver has no publisher 'image'"
    );
    assert!(refused("Sensing.module", "Driver.node", "Sensing.module").contains("contains itself"));
    assert!(
        refused("Driver.node", "to_output: points", "to_output: image")
            .ends_with("the node has no publisher 'image'")
    );
    assert!(refused("Driver.node", "periodic: 10.0", "periodic: 0").contains("cannot have 0 Hz"));
    assert!(
        refused("Detector.node", "to_trigger: merge", "to_trigger: x")
            .ends_with("the node has no process 'x'")
    );
    assert_eq!(
        refused(
            "",
            "name: Small.system",
            "name: Small.system\nbase: Big.system"
        ),
        "Small.system.yaml:3:7: there is no file 'Big.system.yaml' in the folder of the design"
    );
    assert!(
        refused("", "container_mt", "container_of_mine").starts_with(
            "Small.system.yaml:22:11: a container 'ros2_component_container_of_mine' is not known"
        )
    );
    assert!(refused("Driver.node", "name: scan", "names: scan").contains("Driver.node.yaml:"));
}

#[test]
fn folders_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("node")).unwrap();
    for (entity, text) in FILES {
        let below = if entity.ends_with(".node") {
            "node/"
        } else {
            ""
        };
        std::fs::write(folder.path().join(format!("{below}{entity}.yaml")), text).unwrap();
    }
    let sources = Sources::of_folder(folder.path()).unwrap();
    let imported = import(SYSTEM, "s", None, &sources).unwrap();
    assert_eq!(imported.draft.nodes().count(), 3);
    assert!(Sources::of_folder(&folder.path().join("none")).is_err());
}

proptest! {
    #[test]
    fn broken_files_are_errors_or_sound_stacks(
        which in 0_usize..5,
        at in 0_usize..1200,
        to in "[\\[\\]{}:,a-z0-9_.*\n -]{0,3}",
    ) {
        let mut all = sources();
        let mut system = SYSTEM.to_owned();
        let broken = |text: &str| {
            let at = at % text.len();
            let mut broken = text.to_owned();
            broken.replace_range(at..=at, &to);
            broken
        };
        match FILES.get(which) {
            Some((entity, text)) => all.add(entity, "file", &broken(text)),
            None => system = broken(SYSTEM),
        }
        if let Ok(imported) = import(&system, "system", None, &all) {
            let yaml = imported.draft.to_yaml();
            let spec = stowplan_spec::parse_spec(&yaml, "s.yaml");
            prop_assert!(spec.is_ok(), "{}\n{}", spec.unwrap_err(), yaml);
        }
    }
}
