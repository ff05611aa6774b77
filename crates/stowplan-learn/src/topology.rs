//! Node graphs of irobot-ros/ros2-performance: JSON with nodes, publishers and subscribers.
//!
//! There every publisher has a timer of its own and no callback has work, so that nothing leads from one
//! callback to another: such a stack has no chains. Executors are given by number; a node without one is
//! in the process of all others. Source: the framework's `factory.cpp` and its documentation of topologies.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Deserialize;
use stowplan_model::{Executor, Profile};

use crate::draft::{
    Draft, DraftCallback, DraftModule, DraftNode, DraftProcess, DraftQos, DraftTopic, DraftTrigger,
    Figure,
};
use crate::error::ImportError;
use crate::names::{self, free};

/// Process of nodes without an executor of their own.
const PROCESS: &str = "topology";

#[derive(Debug, Deserialize)]
struct Topology {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    node_name: String,
    #[serde(default)]
    executor_id: Option<u64>,
    #[serde(default)]
    publishers: Vec<Publisher>,
    #[serde(default)]
    subscribers: Vec<Subscriber>,
    #[serde(default)]
    services: Vec<serde_json::Value>,
    #[serde(default)]
    clients: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Publisher {
    topic_name: String,
    msg_type: String,
    #[serde(default)]
    msg_size: Option<u64>,
    #[serde(default)]
    period_ms: Option<f64>,
    #[serde(default)]
    freq_hz: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Subscriber {
    topic_name: String,
}

/// The stack of a topology; `file` stands in errors, `name` is the stack's.
///
/// # Errors
/// When the text is not such a topology, with the place.
pub fn import(text: &str, file: &str, name: &str) -> Result<Draft, ImportError> {
    let topology: Topology =
        serde_json::from_str(text).map_err(|error| ImportError::json(file, &error))?;
    if topology.nodes.is_empty() {
        return Err(ImportError::at(file, "nodes", "there is no node"));
    }
    let mut reader = Reader {
        file,
        topics: BTreeMap::new(),
        sizes: BTreeMap::new(),
        subscribed: Vec::new(),
    };
    let mut nodes = Vec::new();
    let mut taken = HashSet::new();
    let mut processes = BTreeSet::new();
    for (index, node) in topology.nodes.iter().enumerate() {
        let path = format!("nodes[{index}]");
        if node.node_name.is_empty() || !taken.insert(names::clean(&node.node_name)) {
            let message = format!("the name '{}' is empty or there twice", node.node_name);
            return Err(ImportError::at(file, format!("{path}.node_name"), message));
        }
        processes.insert(process_of(node));
        nodes.push(reader.node(&path, node)?);
    }
    for (path, topic) in &reader.subscribed {
        if !reader.topics.contains_key(topic) {
            let message = format!("no node publishes on '{topic}'");
            return Err(ImportError::at(file, path, message));
        }
    }
    let left_out: usize = topology
        .nodes
        .iter()
        .map(|node| node.services.len() + node.clients.len())
        .sum();
    Ok(Draft {
        head: head(name, left_out),
        name: names::clean(name),
        description: format!("{} nodes of a topology of ros2-performance.", nodes.len()),
        profile: Profile::Humble,
        ns_per_iteration: None,
        launch: None,
        sizes: reader.sizes.into_iter().collect(),
        start_ups: Vec::new(),
        qos: DraftQos {
            reliable: true,
            depth: 10,
            transient_local: false,
        },
        topics: reader.topics.into_values().collect(),
        processes: processes.into_iter().map(process).collect(),
        modules: vec![DraftModule {
            name: "topology".to_owned(),
            nodes,
        }],
        chains: Vec::new(),
    })
}

fn head(name: &str, left_out: usize) -> Vec<String> {
    let mut head = vec![
        format!("{name}: from a topology of irobot-ros/ros2-performance by `stowplan import topology`."),
        String::new(),
        "From the file: nodes, topics, periods, sizes of messages, executors.".to_owned(),
        "Assumed: reliable, depth 10; callbacks have no work and launching costs nothing, as there. Each publisher has a timer of its own and does not depend on what its node gets, so there are no chains.".to_owned(),
    ];
    if left_out > 0 {
        head.push(format!("Left out: {left_out} services and clients."));
    }
    head
}

fn process_of(node: &Node) -> String {
    match node.executor_id {
        Some(id) => format!("executor_{id}"),
        None => PROCESS.to_owned(),
    }
}

fn process(name: String) -> DraftProcess {
    DraftProcess {
        name,
        executor: Executor::Single,
        component_container: false,
        comment: String::new(),
    }
}

struct Reader<'a> {
    file: &'a str,
    topics: BTreeMap<String, DraftTopic>,
    sizes: BTreeMap<String, Figure>,
    /// Where each topic is subscribed to.
    subscribed: Vec<(String, String)>,
}

impl Reader<'_> {
    fn node(&mut self, path: &str, node: &Node) -> Result<DraftNode, ImportError> {
        let mut taken = HashSet::new();
        let mut callbacks = Vec::new();
        for (index, subscriber) in node.subscribers.iter().enumerate() {
            let path = format!("{path}.subscribers[{index}].topic_name");
            let topic = self.topic_name(&path, &subscriber.topic_name)?;
            let name = free(&mut taken, &format!("on_{}", flat(&topic)));
            self.subscribed.push((path, topic.clone()));
            callbacks.push(callback(
                name,
                DraftTrigger::Subscription(topic),
                Vec::new(),
            ));
        }
        for (index, publisher) in node.publishers.iter().enumerate() {
            let path = format!("{path}.publishers[{index}]");
            let topic = self.topic_name(&format!("{path}.topic_name"), &publisher.topic_name)?;
            let period = self.period(&path, publisher)?;
            let name = free(&mut taken, &format!("publish_{}", flat(&topic)));
            let entry = self.topic(&topic, publisher);
            self.topics.entry(topic.clone()).or_insert(entry);
            callbacks.push(callback(name, DraftTrigger::Timer(period), vec![topic]));
        }
        Ok(DraftNode {
            process: process_of(node),
            callbacks,
            ..DraftNode::new(&names::clean(&node.node_name))
        })
    }

    fn topic_name(&self, path: &str, name: &str) -> Result<String, ImportError> {
        let full = format!("/{}", name.trim_start_matches('/'));
        if names::is_topic(&full) {
            return Ok(full);
        }
        let message = format!("'{name}' is not a topic name of ROS");
        Err(ImportError::at(self.file, path, message))
    }

    fn period(&self, path: &str, publisher: &Publisher) -> Result<u64, ImportError> {
        let ms = match (publisher.period_ms, publisher.freq_hz) {
            (Some(ms), None) => ms,
            (None, Some(hz)) => 1e3 / hz,
            _ => {
                let message = "needs either 'period_ms' or 'freq_hz'";
                return Err(ImportError::at(self.file, path, message));
            }
        };
        // From 100 kHz, which no timer of ROS 2 reaches, to a day.
        if !(0.01..=86_400_000.0).contains(&ms) {
            let message = format!("a period of {ms} ms is none that a timer can have");
            return Err(ImportError::at(self.file, path, message));
        }
        Ok((ms * 1e6).round() as u64)
    }

    fn topic(&mut self, name: &str, publisher: &Publisher) -> DraftTopic {
        let bytes = match (publisher.msg_size, size_of(&publisher.msg_type)) {
            (Some(bytes), _) => format!("{bytes}B"),
            (None, Some(bytes)) => format!("{bytes}B"),
            (None, None) => {
                let size = names::clean(&publisher.msg_type);
                // A size is told from a number by its first character.
                let size = format!("of_{size}");
                let because = "the name of the type does not tell its size";
                self.sizes
                    .entry(size.clone())
                    .or_insert_with(|| Figure::assumed(1_000, 8, 1_000_000, because));
                size
            }
        };
        DraftTopic {
            comment: publisher.msg_type.clone(),
            ..DraftTopic::new(name, bytes)
        }
    }
}

fn callback(name: String, trigger: DraftTrigger, publishes: Vec<String>) -> DraftCallback {
    DraftCallback {
        name,
        trigger,
        publishes,
        uses: Vec::new(),
        work: None,
        comment: String::new(),
    }
}

fn flat(topic: &str) -> String {
    names::parts(topic).join("_")
}

/// Bytes of a type's data, as its name says: `stamped4_int32`, `stamped_int64`, `stamped250kb`.
fn size_of(msg_type: &str) -> Option<u64> {
    let rest = msg_type.strip_prefix("stamped")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = rest.split_at(digits);
    let count: u64 = if number.is_empty() {
        1
    } else {
        number.parse().ok()?
    };
    let each = match unit {
        "_int32" | "_float32" => 4,
        "_int64" | "_float64" => 8,
        "b" if !number.is_empty() => 1,
        "kb" if !number.is_empty() => 1_000,
        "mb" if !number.is_empty() => 1_000_000,
        _ => return None,
    };
    count.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_follow_from_names() {
        for (name, bytes) in [
            ("stamped4_int32", Some(16)),
            ("stamped_int64", Some(8)),
            ("stamped250kb", Some(250_000)),
            ("stamped_vector", None),
            ("stamped99999999999999999999kb", None),
            ("other", None),
        ] {
            assert_eq!(size_of(name), bytes, "{name}");
        }
    }

    fn refused(text: &str) -> String {
        import(text, "t.json", "t").unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert!(refused("{\n \"nodes\": 3 }").starts_with("t.json:2:"));
        let one = |rest: &str| refused(&format!("{{\"nodes\":[{{\"node_name\":\"a\",{rest}}}]}}"));
        assert_eq!(
            one(r#""subscribers":[{"topic_name":"x"}]"#),
            "t.json: nodes[0].subscribers[0].topic_name: no node publishes on '/x'"
        );
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
                .contains("not a topic name")
        );
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_stack_or_an_error(text in "[\\[\\]{}\":,a-z0-9_ .-]{0,200}") {
            let _ = import(&text, "t.json", "t");
        }

        #[test]
        fn cut_files_are_errors(cut in 0_usize..200) {
            let text = r#"{"nodes":[{"node_name":"a","publishers":[{"topic_name":"x","msg_type":"stamped_int64","period_ms":10}]},{"node_name":"b","subscribers":[{"topic_name":"x"}]}]}"#;
            let whole = import(text, "t.json", "t");
            prop_assert!(whole.is_ok());
            let cut = cut.min(text.len() - 1);
            prop_assert!(import(&text[..cut], "t.json", "t").is_err());
        }

        #[test]
        fn flipped_bytes_do_not_panic(at in 0_usize..150, to in any::<u8>()) {
            let mut bytes = br#"{"nodes":[{"node_name":"a","publishers":[{"topic_name":"x","msg_type":"stamped_int64","period_ms":10}]},{"node_name":"b","subscribers":[{"topic_name":"x"}]}]}"#.to_vec();
            let at = at % bytes.len();
            bytes[at] = to;
            if let Ok(text) = String::from_utf8(bytes)
                && let Ok(draft) = import(&text, "t.json", "t")
            {
                let yaml = draft.to_yaml();
                prop_assert!(stowplan_spec::parse_spec(&yaml, "t.yaml").is_ok(), "{}", yaml);
            }
        }
    }
}
