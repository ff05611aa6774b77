//! Every kind of mistake, and what the user reads about it.

use stowplan_spec::{parse_experiment, parse_partition, parse_stack};
use stowplan_testkit::known_engines;

const HELLO: &str = include_str!("../../../../stacks/hello.yaml");

/// The message for hello with `from` replaced by `to`, which must occur.
fn broken(from: &str, to: &str) -> String {
    assert!(HELLO.contains(from), "hello.yaml has changed: no '{from}'");
    let text = HELLO.replacen(from, to, 1);
    match parse_stack(&text, "hello.yaml") {
        Ok(_) => panic!("'{from}' → '{to}' was accepted"),
        Err(error) => error.to_string(),
    }
}

macro_rules! messages {
    ($($name:ident: $from:literal => $to:literal;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(broken($from, $to));
        })*
    };
}

messages! {
    unknown_key_of_a_node: "subscribes: /imu" => "subscribe: /imu";
    unknown_key_of_a_stack: "modules:" => "moduls:";
    unknown_key_of_a_topic: "intra_process: true" => "intraprocess: true";
    unknown_key_of_an_assumption: "because: \"point cloud filters\"" => "reason: \"point cloud filters\"";
    unknown_value: "executor: multi" => "executor: multy";
    missing_name: "name: hello" => "";
    second_key: "  /imu: 320" => "  /imu: 320\n  /imu: 330";
    not_yaml: "topics:" => "topics: [";
    size_without_sense: "/imu: 320" => "/imu: 320 parsecs";
    negative_size: "/imu: 320" => "/imu: -320";
    period_without_unit: "timer: 20Hz" => "timer: 20";
    rate_of_zero: "timer: 20Hz" => "timer: 0Hz";
    period_of_zero: "timer: 20Hz" => "timer: 0ms";
    rate_too_high: "timer: 20Hz" => "timer: 200kHz";
    jitter_beyond_period: "uniform: [0ns, 1ms]" => "uniform: [0ns, 100ms]";
    rate_error_of_a_broken_clock: "rate_error: 0.00005" => "rate_error: 0.5";
    spread_where_one_value_is_due: "memory: 4MB" => "memory: { uniform: [1MB, 4MB] }";
    assumption_without_range: "{ assumed: 2M, low: 500k, high: 20M, because: \"a small launch file costs a few milliseconds per node\" }" => "{ assumed: 2M }";
    assumption_outside_its_range: "assumed: 2M, low: 500k" => "assumed: 2M, low: 3M";
    topic_not_declared: "publishes: /objects" => "publishes: /object";
    topic_never_published: "publishes: /imu" => "publishes: /status";
    topic_unused: "  /imu: 320" => "  /imu: 320\n  /imu2: 320";
    topic_name: "  /imu: 320" => "  imu: 320";
    unknown_process: "process: localization" => "process: localisation";
    unknown_kind: "publishes: /pose, work: cloud" => "publishes: /pose, work: clouds";
    unknown_library: "libs: [ros, lidar]" => "libs: [ros, lider]";
    unknown_dependency: "depends_on: map_loader" => "depends_on: map_loder";
    circle: "map_loader: { timer: 1Hz" => "map_loader: { depends_on: pose_estimator, timer: 1Hz";
    node_twice: "watchdog: {" => "imu_driver: {";
    node_name: "watchdog: {" => "watch/dog: {";
    nothing_starts_it: "{ timer: 1Hz, publishes: /map" => "{ publishes: /map";
    threads_missing: "executor: multi, threads: 2 }\n  loc" => "executor: multi }\n  loc";
    chain_to_a_node_that_is_not: "planner/timer, controller, brake" => "planner/timer, controler, brake";
    chain_through_one_of_several: "planner/timer, controller, brake" => "planner, controller, brake";
    chain_to_an_unknown_callback: "planner/timer, controller" => "planner/tick, controller";
    chain_with_a_gap: "clustering, planner/on_objects" => "planner/on_objects";
    chain_to_a_foreign_timer: "planner/timer, controller, brake" => "map_loader/timer";
    brace_missing: "publishes: /trajectory\n        work: 3M" => "publishes: /trajectory\n        work: { iterations: 3M";
    brace_missing_in_a_line: "publishes: /map, work: small }" => "publishes: /map, work: 100k";
    comma_missing: "publishes: /map, work: small }" => "work: 100k publishes: /map }";
    list_where_a_map_is_due: "watchdog: { subscribes: [/diagnostics, /status] }" => "watchdog: [/diagnostics, /status]";
    library_share: "touched: 0.4" => "touched: 40";
}

#[test]
fn readiness_by_an_unknown_topic() {
    let text = format!(
        "{HELLO}\nservices:\n  pong:\n    command: [ddsperf, pong]\n    ready: {{ topic_matched: /lidar/point }}\n"
    );
    insta::assert_snapshot!(parse_stack(&text, "hello.yaml").unwrap_err());
}

#[test]
fn callbacks_beside_the_short_form() {
    let text = HELLO.replacen(
        "odometry: { subscribes: /imu, work: small }",
        "odometry: { subscribes: /imu, callbacks: { a: { timer: 1Hz, subscribes: /imu }, b: { subscribes: /imu, uses: c } } }",
        1,
    );
    insta::assert_snapshot!(parse_stack(&text, "hello.yaml").unwrap_err());
}

#[test]
fn several_problems_at_once_in_the_order_of_the_file() {
    let text = HELLO
        .replacen("/imu: 320", "/imo: 320", 1)
        .replacen("timer: 20Hz", "timer: 0ms", 1);
    insta::assert_snapshot!(parse_stack(&text, "hello.yaml").unwrap_err());
}

#[test]
fn experiments() {
    for (name, text) in [
        (
            "unknown_key",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nblock: 3\n",
        ),
        (
            "bad_place",
            "name: a\nstack: hello\nplaces: [\"bare:\"]\npartitions: [single]\n",
        ),
        (
            "unknown_places",
            "name: a\nstack: hello\nplaces:\n  - bare:grouped\n  - ocy\n  - moon/oci\n  - bare:flot\npartitions: [single]\n",
        ),
        (
            "place_twice",
            "name: a\nstack: hello\nplaces: [bare, oci, 'bare:flat']\npartitions: [single]\n",
        ),
        (
            "empty",
            "name: a\nstack: hello\nplaces: []\npartitions: []\n",
        ),
        (
            "limits",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nblocks: 0\nutilisation: 1.5\nlimits:\n  all: { cpu_weight: 0, cpu_quota: -1, scheduling: { fifo: 100 } }\n",
        ),
        (
            "ablation",
            "name: a\nstack: hello\npartitions: [single, modules]\nablation: true\n",
        ),
        (
            "delta",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\ndelta: { e2e_paper_meen: 3%, cpu: 2% }\n",
        ),
        (
            "delta_share",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\ndelta: { cpu: 300% }\n",
        ),
        (
            "resources",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nlimits:\n  all: { cpu_weight: 1 }\nresources:\n  usual: {}\n  low: { all: { cpu_weight: 0 } }\n",
        ),
        (
            "deployments",
            "name: a\nstack: hello\nresources: { usual: {}, low: {} }\ndeployments:\n  - { place: oci, partition: single, resources: lows }\n  - { place: ocy, partition: single, resources: low }\n  - { place: oci, partition: single }\n  - { place: oci, partition: single, resources: low }\n  - { place: oci, partition: single, resources: low }\n",
        ),
        (
            "deployments_and_places",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\ndeployments:\n  - { place: oci, partition: single }\n",
        ),
        (
            "window",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nwindow: 0s\n",
        ),
    ] {
        insta::assert_snapshot!(
            format!("experiment_{name}"),
            parse_experiment(text, "a.yaml", &known_engines()).unwrap_err()
        );
    }
}

#[test]
fn limits_of_another_shape() {
    for (name, text) in [
        (
            "cpus",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nlimits: { all: { cpus: 0.5 } }\n",
        ),
        (
            "cpuset",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nlimits:\n  all: { cpuset: 0-2, cpu_weight: 1 }\n",
        ),
        (
            "list_of_limits",
            "name: a\nstack: hello\nplaces: [oci]\npartitions: [single]\nlimits: [all]\n",
        ),
    ] {
        insta::assert_snapshot!(
            format!("experiment_{name}"),
            parse_experiment(text, "a.yaml", &known_engines()).unwrap_err()
        );
    }
}

#[test]
fn partition_tables() {
    for (name, text) in [
        (
            "unknown_key",
            "name: a\nservices:\n  x: { module: [sensing] }\n",
        ),
        (
            "function",
            "name: a\nservices:\n  x: { functions: [lidar] }\n",
        ),
        ("empty", "name: a\nservices: {}\n"),
        ("list", "name: a\nservices:\n  x: [sensing]\n"),
        ("nothing", "# Nothing yet.\n"),
    ] {
        insta::assert_snapshot!(
            format!("partition_{name}"),
            parse_partition(text, "a.yaml").unwrap_err()
        );
    }
}

#[test]
fn names_of_nothing() {
    let base = std::path::Path::new(".");
    insta::assert_snapshot!(stowplan_spec::find_spec("autoware-humbel", base).unwrap_err(), @r"
    no stack 'autoware-humbel' is shipped, and there is no such file
      hint: did you mean 'autoware-humble'?
    ");
    insta::assert_snapshot!(stowplan_spec::find_partition("each", base).unwrap_err(), @r"
    no partition 'each' is shipped, and there is no such file
      hint: shipped: single, modules, functions, nodes, wen-5, wen-10, wen-17, wen-26, betz-8
    ");
}

#[test]
fn files_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.yaml");
    std::fs::write(&path, HELLO).unwrap();
    assert_eq!(
        stowplan_spec::find_spec("own.yaml", folder.path())
            .unwrap()
            .stack()
            .nodes
            .len(),
        12
    );
    std::fs::write(&path, "name: a\nservices: { all: { rest: true } }\n").unwrap();
    assert!(stowplan_spec::find_partition("own.yaml", folder.path()).is_ok());
    let error = stowplan_spec::load_stack(folder.path()).unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
}
