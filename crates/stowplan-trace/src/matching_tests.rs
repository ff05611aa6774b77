use super::*;
use crate::event::ProcessKey;
use crate::ids::Id as _;
use crate::scripted::{At, Script};

const SECOND: i64 = 1_000_000_000;

fn process(script: &mut Script, vpid: i64, name: &str) -> At {
    let at = script.process_of(&ProcessKey {
        host: "host".into(),
        trace: "trace".into(),
        pid_namespace: None,
        vpid,
    });
    script
        .builder
        .describe_process(at.process, Some(name), None);
    at
}

/// Pairs by the names of their processes, and what matched them.
fn matched(a: Script, b: Script) -> (Vec<(i64, i64, MatchedBy)>, Matching) {
    let (a, b) = (a.overview(), b.overview());
    let matching = Matching::between(&a, &b);
    let vpid = |of: &Overview, id| of.graph.processes[of.graph.callbacks[id].process].key.vpid;
    let pairs = matching.both.iter();
    let pairs = pairs.map(|&(x, y, by)| (vpid(&a, x), vpid(&b, y), by));
    (pairs.collect(), matching)
}

/// A listener of tf2 in each of these processes: number, name and address.
fn listeners(of: &[(i64, &str, &'static str)]) -> Script {
    let mut script = Script::new();
    for &(vpid, name, node) in of {
        let at = process(&mut script, vpid, name);
        let node = script.node(at, node);
        script.subscription(node, "/tf", "f");
    }
    script
}

#[test]
fn listeners_are_matched_by_their_process() {
    let a = listeners(&[
        (10, "planner", "transform_listener_impl_55d0c3a1b2f0"),
        (11, "rviz2", "transform_listener_impl_5581e00abc40"),
    ]);
    // The other way round, and one more.
    let b = listeners(&[
        (20, "rviz2", "transform_listener_impl_55aaaaaaaaa0"),
        (21, "planner", "transform_listener_impl_5581e00abc40"),
        (22, "new", "transform_listener_impl_5581e00abc41"),
    ]);
    let (pairs, matching) = matched(a, b);
    let by = MatchedBy::Process;
    assert_eq!(pairs, [(10, 21, by), (11, 20, by)]);
    assert_eq!((matching.only_in_a.len(), matching.only_in_b.len()), (0, 1));
}

#[test]
fn a_listener_of_another_process_is_another_one() {
    let a = listeners(&[(10, "planner", "transform_listener_impl_55d0c3a1b2f0")]);
    let b = listeners(&[(20, "rviz2", "transform_listener_impl_55aaaaaaaaa0")]);
    let (pairs, matching) = matched(a, b);
    assert_eq!(pairs, []);
    assert_eq!((matching.only_in_a.len(), matching.only_in_b.len()), (1, 1));
    // A node with a name of its own is the same wherever it runs.
    let a = listeners(&[(10, "planner", "talker")]);
    let b = listeners(&[(20, "component_conta", "talker")]);
    assert_eq!(matched(a, b).0, [(10, 20, MatchedBy::Name)]);
}

/// Two containers of one name that are told apart by their nodes, though one has a node more in the second trace.
#[test]
fn containers_of_one_name_are_told_apart_by_their_nodes() {
    let containers = |of: &[(i64, &[&'static str])]| {
        let mut script = Script::new();
        for (vpid, nodes) in of {
            let at = process(&mut script, *vpid, "component_conta");
            for name in *nodes {
                script.node(at, name);
            }
            let node = script.node(at, "transform_listener_impl_55d0c3a1b2f0");
            script.subscription(node, "/tf", "f");
        }
        script
    };
    let a = containers(&[(1, &["lidar"]), (2, &["camera"])]);
    let b = containers(&[(3, &["camera"]), (4, &["lidar", "more"])]);
    let (pairs, _) = matched(a, b);
    assert_eq!(
        pairs,
        [(1, 4, MatchedBy::Remainder), (2, 3, MatchedBy::Process)]
    );
}

/// Two nodes of one name in one process, made in another order: their topics tell which is which.
#[test]
fn equal_names_are_told_apart_by_their_endpoints() {
    let nodes = |topics: [&'static str; 2], periods: [i64; 2]| {
        let mut script = Script::new();
        let at = process(&mut script, 1, "filters");
        for (topic, period) in topics.into_iter().zip(periods) {
            let node = script.node(at, "filter");
            script.publisher(node, topic);
            script.timer(node, period, "tick");
            script.subscription(node, "/in", "on_in");
        }
        script
    };
    let a = nodes(["/left", "/right"], [SECOND, SECOND]);
    let b = nodes(["/right", "/left"], [SECOND, SECOND]);
    let (_, matching) = matched(a, b);
    let ids: Vec<[usize; 2]> = matching
        .both
        .iter()
        .map(|(a, b, by)| {
            assert_eq!(*by, MatchedBy::Endpoints);
            [a.index(), b.index()]
        })
        .collect();
    assert_eq!(ids, [[0, 2], [1, 3], [2, 0], [3, 1]]);
}

#[test]
fn functions_tell_timers_of_one_node_apart() {
    let timers = |symbols: &[&'static str]| {
        let mut script = Script::new();
        let at = process(&mut script, 1, "node");
        let node = script.node(at, "node");
        for symbol in symbols {
            script.timer(node, SECOND, symbol);
        }
        script
    };
    let (_, matching) = matched(timers(&["f", "g"]), timers(&["g", "f"]));
    let by: Vec<_> = matching
        .both
        .iter()
        .map(|m| (m.0.index(), m.1.index(), m.2))
        .collect();
    assert_eq!(by, [(0, 1, MatchedBy::Symbol), (1, 0, MatchedBy::Symbol)]);
    // Lambdas share their symbol: nothing but their order is left, and that is said.
    let (_, matching) = matched(timers(&["f", "f"]), timers(&["f", "f"]));
    assert!(matching.both.iter().all(|m| m.2 == MatchedBy::Order));
    assert_eq!(matching.both.len(), 2);
    // Another number of them: which is which cannot be said at all.
    let (_, matching) = matched(timers(&["f", "f"]), timers(&["f", "f", "f"]));
    assert!(matching.both.is_empty());
    let undecided = &matching.undecided[0];
    assert_eq!((undecided.a.len(), undecided.b.len()), (2, 3));
}

/// Numbers that look like those of one start and are not: they come again.
#[test]
fn names_that_come_again_are_kept() {
    let cameras = |names: [&'static str; 2]| {
        let mut script = Script::new();
        let at = process(&mut script, 1, "cameras");
        for name in names {
            let node = script.node(at, name);
            script.subscription(node, "/trigger", "f");
        }
        script
    };
    let (first, second) = ("camera_1a2b3c4d", "camera_9f8e7d6c");
    let (_, matching) = matched(cameras([first, second]), cameras([second, first]));
    let by: Vec<_> = matching
        .both
        .iter()
        .map(|m| (m.0.index(), m.1.index(), m.2))
        .collect();
    assert_eq!(by, [(0, 1, MatchedBy::Name), (1, 0, MatchedBy::Name)]);
    let (_, matching) = matched(
        cameras([first, second]),
        cameras([second, "camera_0a0b0c0d"]),
    );
    assert!(matching.both.iter().all(|m| m.2 == MatchedBy::Order));
}

#[test]
fn process_names_and_symbols_lose_what_belongs_to_one_start_too() {
    let start = |vpid, process_name, name, symbol| {
        let mut script = Script::new();
        let at = process(&mut script, vpid, process_name);
        let node = script.node(at, name);
        script.subscription(node, "/tf", symbol);
        script
    };
    let a = start(300, "launch_ros_300", "launch_ros_300", "launch_ros_300::f");
    let b = start(301, "launch_ros_301", "launch_ros_301", "launch_ros_301::f");
    assert_eq!(matched(a, b).0, [(300, 301, MatchedBy::Process)]);
}
