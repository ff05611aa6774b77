//! Topics of ports: their names, sizes and quality of service.

use std::collections::{BTreeMap, BTreeSet};

use super::behaviour::Wired;
use super::files::{Node, Port, Qos};
use super::tree::{PortId, Tree};
use crate::draft::{DraftQos, DraftTopic, Figure};
use crate::names;

/// Topics of all ports of nodes.
pub(super) struct Wiring {
    /// Of each publisher, the topic.
    topic_of: BTreeMap<PortId, String>,
    /// Of each subscriber, the topics that feed it.
    feeding: BTreeMap<PortId, Vec<String>>,
}

impl Wiring {
    pub fn new(tree: &Tree<'_>) -> Self {
        let topics = tree.topics.iter();
        let topic_of: BTreeMap<PortId, String> = topics
            .map(|(port, name)| (port.clone(), topic_name(name)))
            .collect();
        let published: BTreeSet<&String> = topic_of.values().collect();
        let mut feeding = BTreeMap::new();
        for (at, place) in tree.places.iter().enumerate() {
            for port in place.node.iter().flat_map(|node| &node.subscribers) {
                let id = (at, false, port.name.value.clone());
                let topics: BTreeSet<String> = match &port.global {
                    Some(name) => {
                        let topic = topic_name(name);
                        published
                            .get(&topic)
                            .into_iter()
                            .map(|t| (*t).clone())
                            .collect()
                    }
                    None => {
                        let publishers = tree.publishers(&id);
                        let topics = publishers.iter().filter_map(|id| topic_of.get(id));
                        topics.cloned().collect()
                    }
                };
                feeding.insert(id, topics.into_iter().collect());
            }
        }
        Self { topic_of, feeding }
    }

    pub fn wired(&self, at: usize, node: &Node) -> Wired {
        let subscribers = node.subscribers.iter().map(|port| {
            let name = port.name.value.clone();
            let topics = self.feeding.get(&(at, false, name.clone()));
            (name, topics.cloned().unwrap_or_default())
        });
        let publishers = node.publishers.iter().filter_map(|port| {
            let name = port.name.value.clone();
            let topic = self.topic_of.get(&(at, true, name.clone()))?;
            Some((name, topic.clone()))
        });
        Wired {
            subscribers: subscribers.collect(),
            publishers: publishers.collect(),
        }
    }
}

/// A topic name as a stack can have it: parts of letters, digits and `_` that begin with a letter.
fn topic_name(text: &str) -> String {
    let part = |part: &str| {
        let clean: String = part
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if clean.starts_with(|c: char| c.is_ascii_digit()) {
            format!("_{clean}")
        } else {
            clean
        }
    };
    let parts: Vec<String> = names::parts(text).into_iter().map(part).collect();
    // A stack's topic names have at most 200 bytes; what tells them apart stands at the end.
    let mut whole = format!("/{}", parts.join("/"));
    while whole.len() > 200 {
        match whole[1..].find('/') {
            Some(end) => whole = whole[end + 1..].to_owned(),
            None => whole.truncate(200),
        }
    }
    whole
}

/// The size of a message of this type.
fn size_of(message_type: Option<&str>) -> (&'static str, u64, u64, u64) {
    match message_type.and_then(|t| t.rsplit('/').next()) {
        Some("PointCloud2") => ("cloud", 500_000, 10_000, 5_000_000),
        Some("Image") => ("image", 1_000_000, 100_000, 8_000_000),
        _ => ("message", 1_000, 64, 100_000),
    }
}

/// The sizes that topics have.
pub(super) fn sizes(topics: &BTreeMap<String, DraftTopic>) -> Vec<(String, Figure)> {
    let mut sizes = Vec::new();
    for kind in [Some("PointCloud2"), Some("Image"), None] {
        let (name, bytes, low, high) = size_of(kind);
        if topics.values().any(|topic| topic.bytes == name) {
            let because = "a design has no message sizes";
            sizes.push((name.to_owned(), Figure::assumed(bytes, low, high, because)));
        }
    }
    sizes
}

/// The topic of a publisher.
pub(super) fn topic_of(name: &str, port: &Port) -> DraftTopic {
    DraftTopic {
        qos: port.qos.as_ref().map(qos_of),
        comment: port.message_type.clone().unwrap_or_default(),
        ..DraftTopic::new(name, size_of(port.message_type.as_deref()).0)
    }
}

fn qos_of(qos: &Qos) -> DraftQos {
    DraftQos {
        reliable: !qos.best_effort,
        depth: qos.depth.unwrap_or(1).max(1),
        transient_local: qos.transient_local,
    }
}
