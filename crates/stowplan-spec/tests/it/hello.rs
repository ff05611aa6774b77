//! The smallest shipped stack, against what its file says.

use stowplan_model::{Distribution, Executor, Library, Name, Trigger};
use stowplan_spec::{Unit, parse_spec, shipped};

fn hello() -> stowplan_spec::Spec {
    parse_spec(shipped("hello").expect("hello is shipped"), "hello.yaml").expect("hello is sound")
}

#[test]
fn has_four_modules_and_twelve_nodes() {
    let spec = hello();
    let modules: Vec<&str> = spec
        .stack()
        .modules()
        .into_iter()
        .map(Name::as_str)
        .collect();
    assert_eq!(
        modules,
        ["sensing", "localization", "perception", "control"]
    );
    assert_eq!(spec.stack().nodes.len(), 12);
}

#[test]
fn a_node_without_a_process_has_its_own() {
    let spec = hello();
    let stack = spec.stack();
    assert_eq!(stack.node("brake").unwrap().process.as_str(), "brake");
    assert_eq!(stack.process("brake").unwrap().executor, Executor::Single);
    assert_eq!(
        stack.process("lidar_container").unwrap().executor,
        Executor::Multi { threads: 2 }
    );
    assert!(
        stack
            .process("lidar_container")
            .unwrap()
            .component_container
    );
}

#[test]
fn timer_and_subscriptions_on_one_line_become_store_and_use() {
    let spec = hello();
    let planner = spec.stack().node("planner").unwrap();
    let names: Vec<&str> = planner.callbacks.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["on_objects", "on_pose", "timer"]);
    let timer = planner.callback("timer").unwrap();
    assert!(matches!(
        timer.trigger,
        Trigger::Timer {
            period_ns: 50_000_000,
            ..
        }
    ));
    assert_eq!(timer.uses.len(), 2);
    assert_eq!(timer.work.iterations, Distribution::Constant(3_000_000.0));
    let store = planner.callback("on_pose").unwrap();
    assert!(store.publishes.is_empty());
    assert_eq!(store.work.iterations, Distribution::Constant(0.0));
}

#[test]
fn kinds_and_defaults_reach_the_node() {
    let spec = hello();
    let clustering = spec.stack().node("clustering").unwrap();
    assert_eq!(clustering.callbacks[0].work.working_set_bytes, 256 * 1024);
    assert_eq!(
        clustering.start_up.libs[1],
        Library {
            name: Name::new("lidar").unwrap(),
            bytes: 4_000_000,
            touched: 0.5,
            relocated_bytes: 0,
        }
    );
    assert!(spec.stack().topic("/map").unwrap().qos.transient_local);
}

#[test]
fn nodes_follow_the_simulators_clock_where_the_stack_says_so() {
    let text = shipped("hello").unwrap();
    assert!(!hello().stack().use_sim_time);
    let simulated = text.replacen("profile: humble", "profile: humble\nuse_sim_time: true", 1);
    let spec = parse_spec(&simulated, "hello.yaml").unwrap();
    assert!(spec.stack().use_sim_time);
}

#[test]
fn the_speed_that_work_was_counted_by_is_kept() {
    let text = shipped("hello").unwrap();
    let counted = |ns: &str| {
        let with = format!("profile: humble\nns_per_iteration: {ns}");
        parse_spec(&text.replacen("profile: humble", &with, 1), "hello.yaml")
    };
    assert_eq!(hello().stack().ns_per_iteration, None);
    assert_eq!(
        counted("1.75").unwrap().stack().ns_per_iteration,
        Some(1.75)
    );
    for wrong in ["0", "-1.5"] {
        let error = counted(wrong).unwrap_err().to_string();
        assert!(error.contains("an iteration cannot take"), "{error}");
    }
}

#[test]
fn assumptions_keep_their_range_and_place() {
    let spec = hello();
    let cloud = spec
        .assumptions()
        .iter()
        .find(|a| a.path == "kinds.work.cloud.iterations")
        .unwrap();
    assert_eq!((cloud.value, cloud.low, cloud.high), (5e6, 5e5, 2e7));
    assert_eq!(cloud.unit, Unit::Iterations);
    let line = shipped("hello")
        .unwrap()
        .lines()
        .nth(usize::try_from(cloud.line).unwrap() - 1)
        .unwrap();
    assert!(line.contains("assumed"), "{line}");
}
