//! Real programs in a stack file: what is understood, and each mistake.

use serde_json::Value;
use stowplan_model::{DdsContent, DdsTopic, Ready, RealMount};
use stowplan_spec::{parse_stack, stack_schema};

const PING_PONG: &str = r#"name: ping_pong
description: A modelled ping and a real pong.
profile: minimal
topics:
  /ping:
    bytes: 4
    dds: { topic: PingOU, type: OneULong, sends: sequence, user_data: "perf:1" }
  /pong:
    bytes: 4
    dds: { type: OneULong, partition: "*" }
modules:
  perf:
    nodes:
      ping: { timer: 50Hz, subscribes: /pong, publishes: /ping }
services:
  pong:
    rootfs: /roots/debian
    command: [ddsperf, -T, OU, pong]
    env: { LC_ALL: C }
    mounts: [{ from: /srv/maps, to: /maps, read_only: true }, { from: /tmp, to: /data }]
    devices: [/dev/video0]
    user: ros:video
    subscribes: [/ping]
    publishes: [/pong]
    participants: 2
    trace: true
    ready: { topic_matched: /pong }
    ready_timeout: 5s
"#;

#[test]
fn a_real_service_and_its_topics_are_understood() {
    let stack = parse_stack(PING_PONG, "ping.yaml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        stack.topic("/ping").unwrap().dds,
        Some(DdsTopic {
            name: "PingOU".to_owned(),
            type_name: "OneULong".to_owned(),
            partition: None,
            user_data: Some("perf:1".to_owned()),
            sends: Some(DdsContent::Sequence),
        })
    );
    let pong = stack.topic("/pong").unwrap().dds.as_ref().unwrap();
    assert_eq!(pong.name, "rt/pong", "ROS 2's name where none is given");
    assert_eq!(pong.partition.as_deref(), Some("*"));
    let service = &stack.services[0];
    assert_eq!(service.publishes, ["/pong"]);
    assert_eq!(service.subscribes, ["/ping"]);
    assert_eq!(service.participants, 2);
    assert!(service.trace);
    let mount = |from: &str, to: &str, read_only| RealMount {
        from: from.to_owned(),
        to: to.to_owned(),
        read_only,
    };
    let mounts = [
        mount("/srv/maps", "/maps", true),
        mount("/tmp", "/data", false),
    ];
    assert_eq!(service.mounts, mounts);
    assert_eq!(service.devices, ["/dev/video0"]);
    assert_eq!(service.user.as_deref(), Some("ros:video"));
    assert_eq!(service.ready, Ready::TopicMatched("/pong".to_owned()));
    assert_eq!(service.ready_timeout_ns, 5_000_000_000);
    let value: Value = serde_saphyr::from_str(PING_PONG).unwrap();
    assert!(jsonschema::is_valid(&stack_schema(), &value));
}

/// What is changed into what, and the line and the message of the error that this is.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        ", sends: sequence",
        "",
        "14:",
        "node 'ping' publishes on '/ping', which has messages of the real type 'OneULong'",
    ),
    (
        "publishes: [/pong]",
        "publishes: [/pung]",
        "16:",
        "service 'pong' publishes on '/pung', which is not declared under topics",
    ),
    (
        "    dds: { type: OneULong, partition: \"*\" }\n",
        "",
        "15:",
        "service 'pong' publishes on '/pong', which does not say its real type",
    ),
    (
        "subscribes: [/ping]",
        "subscribes: [/ping, /ping]",
        "16:",
        "service 'pong' subscribes to '/ping' twice",
    ),
    (
        "rootfs: /roots",
        "rootfs: roots",
        "16:",
        "the root file system 'roots/debian' of service 'pong' is not an absolute path",
    ),
    (
        "    rootfs: /roots/debian\n",
        "    rootfs: /roots/debian\n    image: pong.tar\n",
        "16:",
        "service 'pong' has an image and a root file system",
    ),
    (
        "    command: [ddsperf, -T, OU, pong]\n",
        "",
        "16:",
        "service 'pong' has no command",
    ),
    (
        "to: /data",
        "to: data",
        "16:",
        "the mount point 'data' of service 'pong' is not an absolute path",
    ),
    (
        "to: /data",
        "to: /maps",
        "16:",
        "service 'pong' has two mounts at '/maps'",
    ),
    (
        "[/dev/video0]",
        "[video0]",
        "16:",
        "'video0' of service 'pong' is no device",
    ),
    (
        "user: ros:video",
        "user: 'ros:'",
        "16:",
        "'ros:' is no user for service 'pong'",
    ),
    (
        "trace: true",
        "trace: sometimes",
        "26:",
        "'sometimes' is not 'true' or 'false'",
    ),
    (
        "env: { LC_ALL: C }",
        "env: { LTTNG_HOME: /tmp }",
        "16:",
        "service 'pong' is traced and sets LTTNG_HOME",
    ),
    (
        "read_only: true",
        "readonly: true",
        "20:",
        "unknown key 'readonly'",
    ),
    (
        "ready: { topic_matched: /pong }",
        "ready: { topic_matched: /pang }",
        "27:",
        "service 'pong' is ready when '/pang' is matched, but no such topic is declared",
    ),
    (
        "subscribes: /pong, publishes: /ping",
        "publishes: /ping",
        "27:",
        "service 'pong' is ready when '/pong' is matched, but no modelled node is its partner there",
    ),
    (
        "partition: \"*\" }",
        "partition: \"*\", user_data: \"perf:2\" }",
        "5:",
        "process 'ping' has endpoints on '/pong' and '/ping', which want different user data of its one participant",
    ),
    (
        "    bytes: 4\n    dds: { type",
        "    bytes: 4\n    intra_process: true\n    dds: { type",
        "8:",
        "topic '/pong' is known to real programs and hands messages over by pointer",
    ),
];

#[test]
fn each_mistake_is_told_with_its_line() {
    for (from, to, line, message) in MISTAKES {
        assert!(PING_PONG.contains(from), "no '{from}'");
        let text = PING_PONG.replacen(from, to, 1);
        let Err(error) = parse_stack(&text, "ping.yaml") else {
            panic!("accepted: {message}");
        };
        let said = error.to_string();
        assert!(said.contains(message), "{said}");
        assert!(said.contains(&format!("ping.yaml:{line}")), "{line} {said}");
    }
}

/// A stack of one node beside these services.
fn beside(services: &str) -> Result<stowplan_spec::Spec, stowplan_spec::SpecError> {
    let text = format!(
        "name: t\nmodules: {{ m: {{ nodes: {{ n: {{ background: {{ threads: 2 }} }} }} }} }}\nservices:\n  {services}\n"
    );
    stowplan_spec::parse_spec(&text, "t.yaml")
}

#[test]
fn nodes_and_services_can_keep_cpus_busy() {
    let spec = beside("noise: { background: { threads: 4 } }").unwrap();
    let stack = spec.stack();
    let of = |node: &str| stack.node(node).unwrap().background.unwrap();
    assert_eq!((of("n").threads, of("n").own_service), (2, false));
    assert_eq!((of("noise").threads, of("noise").own_service), (4, true));
    assert!(stack.services.is_empty(), "it is no program");
    for (services, told) in [
        (
            "noise: { background: { threads: 0 } }",
            "t.yaml:4:24: 0 threads",
        ),
        (
            "noise: { command: [a], background: { threads: 1 } }",
            "'background' beside a program",
        ),
        ("m: { background: { threads: 1 } }", "and a module"),
    ] {
        let error = beside(services).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("hint:"), "{error}");
    }
    let error = beside("neighbours: { background: { threads: 1 } }");
    let error = error.unwrap().with_neighbours(Some(1)).unwrap_err();
    assert!(error.to_string().contains("'neighbours'"), "{error}");
}
