//! Topologies written for these tests after the framework's documentation.

use proptest::prelude::*;
use stowplan_model::Stack;

use super::*;

const CAMERA: &str = r#"{ "nodes": [
  { "node_name": "camera", "executor_id": 1,
    "publishers": [ { "topic_name": "image", "msg_type": "stamped100b", "period_ms": 20 } ] },
  { "node_name": "planner", "executor_id": 2,
    "subscribers": [ { "topic_name": "image", "msg_type": "stamped100b" } ] },
  { "node_name": "viewer", "executor_id": 2, "number": 5,
    "subscribers": [ { "topic_name": "image", "msg_type": "stamped100b" } ] }
] }"#;

const RECORDER: &str = r#"{ "nodes": [
  { "node_name": "recorder",
    "subscribers": [ { "topic_name": "image", "msg_type": "stamped100b" } ] }
] }"#;

/// Every field that the framework reads.
const WHOLE: &str = r#"{"nodes":[
{"node_name":"a","node_namespace":"/ns","number":2,"executor_id":1,
 "publishers":[{"topic_name":"x","msg_type":"stamped_vector","msg_size":100,"msg_pass_by":"unique_ptr","freq_hz":10,
  "qos_reliability":"best_effort","qos_durability":"volatile","qos_history":"keep_last","qos_depth":5,"qos_deadline":"default",
  "qos_lifespan":"default","qos_liveliness":"system_default","qos_liveliness_lease_duration":"default",
  "qos_avoid_ros_namespace_conventions":"false"}],
 "subscribers":[{"topic_name":"/y","msg_type":"stamped10b","msg_pass_by":"shared_ptr"}],
 "servers":[{"service_name":"s","srv_type":"stamped10b"}]},
{"node_name":"b",
 "publishers":[{"topic_name":"/y","msg_type":"irobot_interfaces_plugin::stamped10b","period_ms":10}],
 "clients":[{"service_name":"/ns_1/s","srv_type":"stamped10b","period_ms":10}]}]}"#;

fn imported(texts: &[(&str, &str)]) -> Result<Imported, ImportError> {
    let files: Vec<(String, &str, &str)> = texts
        .iter()
        .map(|(name, text)| (format!("{name}.json"), *name, *text))
        .collect();
    let files: Vec<File<'_>> = files
        .iter()
        .map(|(file, name, text)| File { text, file, name })
        .collect();
    import(&files, "t")
}

fn stack(imported: &Imported) -> Stack {
    let yaml = imported.draft.to_yaml();
    stowplan_spec::parse_stack(&yaml, "t.yaml").unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

fn warnings(imported: &Imported) -> Vec<String> {
    imported.warnings.iter().map(ToString::to_string).collect()
}

fn placed(stack: &Stack) -> Vec<(&str, &str)> {
    let nodes = stack.nodes.iter();
    nodes
        .map(|n| (n.name.as_str(), n.process.as_str()))
        .collect()
}

#[test]
fn a_file_is_one_process_and_a_number_makes_copies() {
    let imported = imported(&[("car", CAMERA)]).unwrap();
    let stack = stack(&imported);
    assert_eq!(
        placed(&stack),
        [
            "camera", "planner", "viewer_1", "viewer_2", "viewer_3", "viewer_4", "viewer_5"
        ]
        .map(|node| (node, "car"))
    );
    for viewer in &stack.nodes[2..] {
        assert_eq!(viewer.subscriptions().collect::<Vec<_>>(), ["/image"]);
    }
    let executor = stack.processes[0].executor;
    assert_eq!(executor, Executor::Multi { threads: 2 });
    assert_eq!(
        warnings(&imported),
        [
            "car.json: nodes: 2 executors become one with 2 threads; a process of a stack has one executor, so which node is on which executor_id is left out"
        ]
    );
    assert!(stack.topic("/image").unwrap().intra_process);
}

#[test]
fn several_files_are_several_processes() {
    let imported = imported(&[("car", CAMERA), ("log", RECORDER), ("log", RECORDER)]).unwrap();
    let stack = stack(&imported);
    assert_eq!(
        placed(&stack)[6..],
        [
            ("viewer_5", "car"),
            ("log.recorder", "log"),
            ("log_2.recorder", "log_2")
        ]
    );
    assert_eq!(warnings(&imported).len(), 1);
}

#[test]
fn a_topic_that_nobody_publishes_on_is_told() {
    let imported = imported(&[("log", RECORDER)]).unwrap();
    let stack = stack(&imported);
    assert_eq!(placed(&stack), [("recorder", "log")]);
    assert_eq!(stack.nodes[0].silent.subscriptions, ["/image"]);
    assert_eq!(
        warnings(&imported),
        [
            "log.json: nodes[0].subscribers[0]: no node publishes on '/image'; give all files that run together to one command"
        ]
    );
}

#[test]
fn executors_of_one_process() {
    let of = |ids: &[i64]| executor(&ids.iter().copied().collect(), 3).0;
    assert_eq!(of(&[0]), Executor::Single);
    assert_eq!(of(&[0, 4, -1]), Executor::Isolated);
    assert_eq!(of(&[0, 4]), Executor::Multi { threads: 2 });
}

#[test]
fn every_field_of_the_framework_is_known() {
    let imported = imported(&[("w", WHOLE)]).unwrap();
    let stack = stack(&imported);
    assert_eq!(
        warnings(&imported),
        [
            "w.json: nodes[1].clients[0]: the client of '/ns_1/s' sends no requests in a stack",
            "w.json: nodes: 2 executors become one with 2 threads; a process of a stack has one executor, so which node is on which executor_id is left out",
        ]
    );
    // As rclcpp, relative names are below the node's namespace, which has the copy's number too.
    let topics: Vec<&str> = stack.topics.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(topics, ["/ns_1/x", "/ns_2/x", "/y"]);
    assert_eq!(stack.topics[0].qos.depth, 5);
    assert_eq!(stack.topics[0].bytes.mean(), 100.0);
    assert_eq!(stack.topics[2].bytes.mean(), 10.0);
    let server = stack.node("a_1").unwrap();
    assert_eq!(server.silent.services, ["/ns_1/s"]);
    assert_eq!(stack.node("b").unwrap().silent.clients, ["/ns_1/s"]);
}

#[test]
fn quality_of_service_that_a_stack_cannot_have_is_told() {
    let told = |from: &str, to: &str| {
        assert!(WHOLE.contains(from));
        warnings(&imported(&[("w", &WHOLE.replace(from, to))]).unwrap())
    };
    let has = |told: Vec<String>, text: &str| assert!(told.iter().any(|w| w == text), "{told:?}");
    has(
        told("keep_last", "keep_all"),
        r#"w.json: nodes[0].publishers[0]: qos_history "keep_all" is left out"#,
    );
    has(
        told("best_effort", "system_default"),
        r#"w.json: nodes[0].publishers[0]: qos_reliability "system_default" is taken as 'reliable'"#,
    );
    has(
        told("\"period_ms\":10}],", "\"period_ms\":10,\"qos_depth\":1}],"),
        "w.json: nodes[1].publishers[0]: a stack has one quality of service for '/y', that of the endpoint that stands first: this one's is left out",
    );
}

fn refused(text: &str) -> String {
    imported(&[("t", text)]).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert!(refused("{\n \"nodes\": 3 }").starts_with("t.json:2:"));
    let one = |rest: &str| refused(&format!("{{\"nodes\":[{{\"node_name\":\"a\",{rest}}}]}}"));
    assert_eq!(
        one(r#""publishers":[{"topic_name":"x","msg_type":"y"}]"#),
        "t.json: nodes[0].publishers[0]: needs either 'period_ms' or 'freq_hz'"
    );
    assert!(
        one(r#""publishers":[{"topic_name":"x","msg_type":"y","freq_hz":0}]"#)
            .contains("a period of inf ms")
    );
    assert!(
        one(r#""publishers":[{"topic_name":"x y","msg_type":"y","freq_hz":1}]"#)
            .contains("not a name of ROS")
    );
    assert!(one(r#""number":20000"#).contains("nodes[0].number: more than 10000 nodes"));
    assert_eq!(one(r#""number":0"#), "t.json: nodes: there is no node");
    assert_eq!(
        refused(r#"{"nodes":[{"node_name":"a_1"},{"node_name":"a","number":1}]}"#),
        "t.json: nodes[1].node_name: the name '/a_1' is empty or there twice"
    );
}

#[test]
fn sizes_follow_from_names() {
    for (name, bytes) in [
        ("stamped4_int32", Some(16)),
        ("stamped_int64", Some(8)),
        ("stamped250kb", Some(250_000)),
        ("irobot_interfaces_plugin::stamped250kb", Some(250_000)),
        ("stamped_vector", None),
        ("stamped99999999999999999999kb", None),
        ("other", None),
    ] {
        assert_eq!(size_of(name), bytes, "{name}");
    }
}

proptest! {
    /// In every object of a file, and in as many of them as one likes.
    #[test]
    fn every_unknown_field_is_named(chosen in prop::collection::vec(any::<bool>(), 8)) {
        prop_assert_eq!(WHOLE.matches('{').count(), chosen.len());
        let mut objects = 0..;
        let mut names = Vec::new();
        let text: String = WHOLE
            .split_inclusive('{')
            .map(|part| match objects.next() {
                Some(object) if part.ends_with('{') && chosen[object] => {
                    names.push(format!("'field_{object}'"));
                    format!("{part}\"field_{object}\":{object},")
                }
                _ => part.to_owned(),
            })
            .collect();
        let told = warnings(&imported(&[("w", &text)]).unwrap());
        for name in names {
            prop_assert!(told.iter().any(|w| w.starts_with("w.json") && w.contains(&name)), "{} {:?}", name, told);
        }
    }

    #[test]
    fn whatever_comes_is_a_stack_or_an_error(text in "[\\[\\]{}\":,a-z0-9_ .-]{0,200}") {
        let _ = imported(&[("t", &text)]);
    }

    #[test]
    fn cut_files_are_errors(cut in 0_usize..2000) {
        prop_assert!(imported(&[("t", WHOLE)]).is_ok());
        let cut = cut.min(WHOLE.len() - 1);
        prop_assert!(imported(&[("t", &WHOLE[..cut])]).is_err());
    }

    #[test]
    fn flipped_bytes_do_not_panic(at in 0_usize..2000, to in any::<u8>()) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = to;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(imported) = imported(&[("t", &text)])
        {
            let yaml = imported.draft.to_yaml();
            prop_assert!(stowplan_spec::parse_spec(&yaml, "t.yaml").is_ok(), "{}", yaml);
        }
    }
}
