//! Node graphs of irobot-ros/ros2-performance: JSON with nodes, publishers, subscribers, servers and clients.
//!
//! A file is a process, and several files are several. Its nodes are on the executors that their
//! `executor_id` numbers, 0 where they give none; `number` makes copies with `_1`, `_2`, … after their names.
//! Every publisher has a timer of its own and no callback has work, so that nothing leads from one callback
//! to another: such a stack has no chains. Source: the framework's `factory.cpp`, `system.cpp`,
//! `irobot_benchmark.cpp` and its documentation of topologies.

mod files;
mod qos;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stowplan_model::{Executor, Profile};

use crate::draft::{
    Draft, DraftCallback, DraftModule, DraftNode, DraftProcess, DraftQos, DraftTopic, DraftTrigger,
    Figure, Imported,
};
use crate::error::{ImportError, Warnings};
use crate::names::{self, free};
use files::{Node, Rest, Topology};

/// More nodes than any system has: `number` makes as many as it says.
const MOST_NODES: u64 = 10_000;

/// Quality of service of rmw where a file says none.
const QOS: DraftQos = DraftQos {
    reliable: true,
    depth: 10,
    transient_local: false,
};

/// A file, which is a process.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its text.
    pub text: &'a str,
    /// What it is called in errors.
    pub file: &'a str,
    /// Name of its process, made unique.
    pub name: &'a str,
}

/// The stack of the topologies that run together; `name` is the stack's.
///
/// # Errors
/// When a text is not such a topology, with the place.
pub fn import(files: &[File<'_>], name: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut taken = HashSet::new();
    for file in files {
        let process = free(&mut taken, file.name);
        reader.file(file, process)?;
    }
    reader.unpublished();
    reader.hand_over();
    let nodes: Vec<String> = reader.nodes.iter().map(|node| node.name.clone()).collect();
    for (node, name) in reader.nodes.iter_mut().zip(names::unique(&nodes)) {
        node.name = name;
    }
    let count = reader.nodes.len();
    let modules = reader.processes.iter().map(|process| DraftModule {
        name: process.name.clone(),
        nodes: {
            let nodes = reader.nodes.iter();
            let own = nodes.filter(|node| node.process == process.name);
            own.cloned().collect()
        },
    });
    Ok(Imported {
        draft: Draft {
            head: head(name),
            name: names::clean(name),
            description: format!("{count} nodes of a topology of ros2-performance."),
            profile: Profile::Humble,
            ns_per_iteration: None,
            launch: None,
            sizes: reader.sizes.into_iter().collect(),
            start_ups: Vec::new(),
            qos: QOS,
            topics: reader
                .topics
                .into_values()
                .map(|topic| topic.draft)
                .collect(),
            modules: modules.filter(|module| !module.nodes.is_empty()).collect(),
            processes: reader.processes,
            chains: Vec::new(),
        },
        warnings: reader.warnings.all(),
    })
}

fn head(name: &str) -> Vec<String> {
    vec![
        format!("{name}: from topologies of irobot-ros/ros2-performance by `stowplan import topology`."),
        String::new(),
        "From the files: processes, executors, nodes, topics, quality of service, periods, sizes of messages, services.".to_owned(),
        "Assumed: single-threaded executors, and messages by pointer inside a process, as `--ipc on` has it there; reliable, depth 10, where an endpoint does not say; callbacks have no work and launching costs nothing, as there. Each publisher has a timer of its own and does not depend on what its node gets, so there are no chains.".to_owned(),
        "Left out: how a message is passed to its publisher and callback (`msg_pass_by`); requests of clients.".to_owned(),
    ]
}

/// A topic with the processes of its endpoints.
struct Topic {
    draft: DraftTopic,
    qos: DraftQos,
    publishers: BTreeSet<String>,
    subscribers: BTreeSet<String>,
    /// The first subscriber: where it is.
    subscribed: Option<(String, String)>,
}

#[derive(Default)]
struct Reader {
    warnings: Warnings,
    topics: BTreeMap<String, Topic>,
    sizes: BTreeMap<String, Figure>,
    processes: Vec<DraftProcess>,
    /// With their full names, the process before them.
    nodes: Vec<DraftNode>,
}

/// The place of a field.
struct At<'a> {
    file: &'a str,
    path: String,
}

impl At<'_> {
    fn says(&self, message: impl Into<String>) -> ImportError {
        ImportError::at(self.file, &self.path, message)
    }

    fn below(&self, path: &str) -> Self {
        Self {
            file: self.file,
            path: format!("{}{path}", self.path),
        }
    }
}

impl Reader {
    fn file(&mut self, file: &File<'_>, process: String) -> Result<(), ImportError> {
        let topology: Topology = serde_json::from_str(file.text)
            .map_err(|error| ImportError::json(file.file, &error))?;
        let at = At {
            file: file.file,
            path: String::new(),
        };
        self.unknown(&at, &topology.rest);
        let first = self.nodes.len();
        let mut executors = BTreeSet::new();
        let mut taken = HashSet::new();
        for (index, node) in topology.nodes.iter().enumerate() {
            let at = at.below(&format!("nodes[{index}]"));
            self.unknown(&at, &node.rest);
            for suffix in copies(&at, node.number)? {
                let namespace = names::parts(node.node_namespace.as_deref().unwrap_or_default());
                let mut namespace: String = namespace.iter().map(|n| format!("/{n}")).collect();
                if !namespace.is_empty() {
                    namespace.push_str(&suffix);
                }
                let full = format!("{namespace}/{}{suffix}", node.node_name);
                if node.node_name.is_empty() || !taken.insert(full.clone()) {
                    let message = format!("the name '{full}' is empty or there twice");
                    return Err(at.below(".node_name").says(message));
                }
                if self.nodes.len() as u64 >= MOST_NODES {
                    return Err(at.says(format!("more than {MOST_NODES} nodes")));
                }
                executors.insert(node.executor_id);
                let draft = self.node(&at, node, &process, &namespace)?;
                self.nodes.push(DraftNode {
                    name: format!("/{process}{full}"),
                    ..draft
                });
            }
        }
        let count = self.nodes.len() - first;
        if count == 0 {
            return Err(at.below("nodes").says("there is no node"));
        }
        let (executor, comment) = executor(&executors, count);
        if let Executor::Multi { .. } = executor {
            self.warnings.add(at.below("nodes").says(format!(
                "{comment}; a process of a stack has one executor, so which node is on which executor_id is left out"
            )));
        }
        self.processes.push(DraftProcess {
            name: process,
            executor,
            component_container: false,
            comment,
        });
        Ok(())
    }

    fn node(
        &mut self,
        at: &At<'_>,
        node: &Node,
        process: &str,
        namespace: &str,
    ) -> Result<DraftNode, ImportError> {
        let mut draft = DraftNode {
            process: process.to_owned(),
            ..DraftNode::new("")
        };
        let mut taken = HashSet::new();
        for (index, publisher) in node.publishers.iter().enumerate() {
            let at = at.below(&format!(".publishers[{index}]"));
            let name = ros_name(&at.below(".topic_name"), &publisher.topic_name, namespace)?;
            let bytes = self.bytes(Some(&publisher.msg_type), publisher.msg_size);
            let topic = self.topic(&at, &name, &publisher.rest, bytes)?;
            topic.draft.comment.clone_from(&publisher.msg_type);
            topic.publishers.insert(process.to_owned());
            let period = self.period(&at, publisher.period_ms, publisher.freq_hz)?;
            let callback = free(&mut taken, &format!("publish_{}", flat(&name)));
            let trigger = DraftTrigger::Timer(period);
            draft
                .callbacks
                .push(self::callback(callback, trigger, vec![name]));
        }
        for (index, subscriber) in node.subscribers.iter().enumerate() {
            let at = at.below(&format!(".subscribers[{index}]"));
            let name = ros_name(&at.below(".topic_name"), &subscriber.topic_name, namespace)?;
            let bytes = self.bytes(subscriber.msg_type.as_deref(), subscriber.msg_size);
            let topic = self.topic(&at, &name, &subscriber.rest, bytes)?;
            topic.subscribers.insert(process.to_owned());
            let place = (at.file.to_owned(), at.path.clone());
            topic.subscribed.get_or_insert(place);
            let callback = free(&mut taken, &format!("on_{}", flat(&name)));
            let trigger = DraftTrigger::Subscription(name);
            draft
                .callbacks
                .push(self::callback(callback, trigger, Vec::new()));
        }
        for (index, client) in node.clients.iter().enumerate() {
            let at = at.below(&format!(".clients[{index}]"));
            let name = self.service(&at, &client.service_name, &client.rest, namespace)?;
            self.period(&at, client.period_ms, client.freq_hz)?;
            let message = format!("the client of '{name}' sends no requests in a stack");
            self.warnings.add(at.says(message));
            draft.silent.clients.push(name);
        }
        for (index, server) in node.servers.iter().enumerate() {
            let at = at.below(&format!(".servers[{index}]"));
            let name = self.service(&at, &server.service_name, &server.rest, namespace)?;
            draft.silent.services.push(name);
        }
        Ok(draft)
    }

    /// The topic of an endpoint. Its quality of service is that of the endpoint that stands first.
    fn topic(
        &mut self,
        at: &At<'_>,
        name: &str,
        rest: &Rest,
        bytes: String,
    ) -> Result<&mut Topic, ImportError> {
        let mut rest = rest.clone();
        let qos = qos::taken(at, &mut rest, &mut self.warnings)?;
        self.unknown(at, &rest);
        let topic = self.topics.entry(name.to_owned());
        let topic = topic.or_insert_with(|| Topic {
            draft: DraftTopic {
                qos: (qos != QOS).then_some(qos),
                ..DraftTopic::new(name, bytes)
            },
            qos,
            publishers: BTreeSet::new(),
            subscribers: BTreeSet::new(),
            subscribed: None,
        });
        if topic.qos != qos {
            self.warnings.add(at.says(format!(
                "a stack has one quality of service for '{name}', that of the endpoint that stands first: this one's is left out"
            )));
        }
        Ok(topic)
    }

    fn service(
        &mut self,
        at: &At<'_>,
        name: &str,
        rest: &Rest,
        namespace: &str,
    ) -> Result<String, ImportError> {
        let mut rest = rest.clone();
        if qos::taken(at, &mut rest, &mut self.warnings)? != QOS {
            let message = "the quality of service of a service is left out";
            self.warnings.add(at.says(message));
        }
        self.unknown(at, &rest);
        ros_name(&at.below(".service_name"), name, namespace)
    }

    /// As the framework, by the rate where both are there.
    fn period(
        &mut self,
        at: &At<'_>,
        period_ms: Option<f64>,
        freq_hz: Option<f64>,
    ) -> Result<u64, ImportError> {
        let ms = match (period_ms, freq_hz) {
            (None, None) => return Err(at.says("needs either 'period_ms' or 'freq_hz'")),
            (Some(ms), None) => ms,
            (both, Some(hz)) => {
                if both.is_some() {
                    self.warnings
                        .add(at.says("'period_ms' is left out: 'freq_hz' counts"));
                }
                1e3 / hz
            }
        };
        // From 100 kHz, which no timer of ROS 2 reaches, to a day.
        if !(0.01..=86_400_000.0).contains(&ms) {
            let message = format!("a period of {ms} ms is none that a timer can have");
            return Err(at.says(message));
        }
        Ok((ms * 1e6).round() as u64)
    }

    /// The size of a topic's messages: bytes, or the name of an assumed size.
    fn bytes(&mut self, msg_type: Option<&str>, msg_size: Option<u64>) -> String {
        let msg_type = msg_type.unwrap_or("unknown");
        if let Some(bytes) = msg_size.or_else(|| size_of(msg_type)) {
            return format!("{bytes}B");
        }
        // A size is told from a number by its first character.
        let size = format!("of_{}", names::clean(msg_type));
        let because = "the name of the type does not tell its size";
        self.sizes
            .entry(size.clone())
            .or_insert_with(|| Figure::assumed(1_000, 8, 1_000_000, because));
        size
    }

    fn unknown(&mut self, at: &At<'_>, rest: &Rest) {
        for field in rest.keys() {
            let message = format!("unknown field '{field}' is left out");
            self.warnings.add(at.says(message));
        }
    }

    /// Topics that nobody publishes on: a file may be one of several that run together. Nothing can come from
    /// such a subscription.
    fn unpublished(&mut self) {
        let topics = self.topics.iter();
        let alone = topics.filter(|(_, topic)| topic.publishers.is_empty());
        let alone: BTreeSet<String> = alone.map(|(name, _)| name.clone()).collect();
        for name in &alone {
            if let Some((file, path)) = &self.topics[name].subscribed {
                let message = format!(
                    "no node publishes on '{name}'; give all files that run together to one command"
                );
                self.warnings.add(ImportError::at(file, path, message));
            }
        }
        for node in &mut self.nodes {
            node.callbacks.retain(|callback| match &callback.trigger {
                DraftTrigger::Subscription(topic) if alone.contains(topic) => {
                    node.silent.subscriptions.push(topic.clone());
                    false
                }
                _ => true,
            });
        }
    }

    /// Endpoints of one process hand messages over by pointer where they are volatile, as in rclcpp.
    fn hand_over(&mut self) {
        for topic in self.topics.values_mut() {
            let inside = topic.publishers.intersection(&topic.subscribers).next();
            topic.draft.intra_process = inside.is_some() && !topic.qos.transient_local;
        }
    }
}

/// What stands after the names of a node's copies.
fn copies(at: &At<'_>, number: Option<u64>) -> Result<Vec<String>, ImportError> {
    match number {
        None => Ok(vec![String::new()]),
        Some(number) if number > MOST_NODES => Err(at
            .below(".number")
            .says(format!("more than {MOST_NODES} nodes"))),
        Some(number) => Ok((1..=number).map(|copy| format!("_{copy}")).collect()),
    }
}

/// The executor of a process whose nodes are on these, and what there is to say about it.
fn executor(ids: &BTreeSet<i64>, nodes: usize) -> (Executor, String) {
    if ids.len() == 1 {
        return (Executor::Single, String::new());
    }
    if ids.len() == nodes {
        let comment = "each node has an executor of its own".to_owned();
        return (Executor::Isolated, comment);
    }
    let threads = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let comment = format!("{threads} executors become one with {threads} threads");
    (Executor::Multi { threads }, comment)
}

/// The full name of a topic or service that a node names.
fn ros_name(at: &At<'_>, name: &str, namespace: &str) -> Result<String, ImportError> {
    let full = if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    };
    if names::is_topic(&full) {
        return Ok(full);
    }
    Err(at.says(format!("'{name}' is not a name of ROS")))
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

/// Bytes of a type's data, as its name says: `stamped4_int32`, `stamped_int64`, `stamped250kb`; the package
/// of the type may stand before it, as `irobot_interfaces_plugin::`.
fn size_of(msg_type: &str) -> Option<u64> {
    let name = msg_type.rsplit("::").next()?;
    let rest = name.strip_prefix("stamped")?;
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
mod tests;
