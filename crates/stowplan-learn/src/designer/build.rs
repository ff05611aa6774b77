//! From the instances of a system to the elements of a stack.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stowplan_model::{Executor, NodeOptions, Profile, SilentEndpoints};

use super::behaviour;
use super::containers::{Container, Groups};
use super::files::{Group, Node, System};
use super::topics::{Wiring, sizes, topic_of};
use super::tree::Place;
use crate::draft::{
    Draft, DraftModule, DraftNode, DraftProcess, DraftQos, DraftTopic, DraftTrigger,
};
use crate::error::{ImportError, Warnings};
use crate::names;

pub(super) struct Builder<'a> {
    places: &'a [Place],
    wiring: &'a Wiring,
    groups: Groups<'a>,
    names: BTreeMap<usize, String>,
    topics: BTreeMap<String, DraftTopic>,
    processes: Vec<DraftProcess>,
    /// Names of those whose nodes hand messages over by pointer.
    intra_process: BTreeSet<String>,
    modules: Vec<DraftModule>,
    /// Subscribers that no publisher is connected with, as `PATH PORT`.
    unconnected: Vec<String>,
}

impl<'a> Builder<'a> {
    pub fn new(
        places: &'a [Place],
        wiring: &'a Wiring,
        groups: &'a [Group],
    ) -> Result<Self, ImportError> {
        let nodes = places.iter().enumerate();
        let nodes: Vec<usize> = nodes
            .filter(|(_, place)| place.node.is_some())
            .map(|(at, _)| at)
            .collect();
        let full: Vec<String> = nodes.iter().map(|&at| places[at].path.clone()).collect();
        Ok(Self {
            places,
            wiring,
            groups: Groups::new(groups)?,
            names: nodes.into_iter().zip(names::unique(&full)).collect(),
            topics: BTreeMap::new(),
            processes: Vec::new(),
            intra_process: BTreeSet::new(),
            modules: Vec::new(),
            unconnected: Vec::new(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    pub fn node(&mut self, at: usize, node: &Node) -> Result<(), ImportError> {
        let place = &self.places[at];
        let wired = self.wiring.wired(at, node);
        let subscribers = wired.subscribers.iter();
        let unconnected = subscribers.filter(|(_, topics)| topics.is_empty());
        self.unconnected
            .extend(unconnected.map(|(port, _)| format!("{} {port}", place.path)));
        let callbacks = behaviour::callbacks(node, &wired)?;
        for port in &node.publishers {
            if let Some(topic) = wired.publishers.get(&port.name.value) {
                let entry = topic_of(topic, port);
                self.topics.entry(topic.clone()).or_insert(entry);
            }
        }
        let name = self.names[&at].clone();
        let process = self.process(place, &name);
        let is_own = process == name && self.is_container(&process);
        let unit = place.compute_unit.as_ref();
        let unit = unit.map_or_else(String::new, |unit| format!(", on {unit}"));
        let entry = DraftNode {
            process,
            is_own,
            options: if is_own {
                NodeOptions::of_container()
            } else {
                NodeOptions::default()
            },
            silent: SilentEndpoints {
                publishers: behaviour::silent(&wired, &callbacks),
                ..SilentEndpoints::default()
            },
            callbacks,
            comment: format!("{}{unit}", place.path),
            ..DraftNode::new(&name)
        };
        let module = names::clean(&place.component);
        match self.modules.iter_mut().find(|m| m.name == module) {
            Some(module) => module.nodes.push(entry),
            None => self.modules.push(DraftModule {
                name: module,
                nodes: vec![entry],
            }),
        }
        Ok(())
    }

    fn is_container(&self, name: &str) -> bool {
        let mut processes = self.processes.iter();
        processes.any(|process| process.name == name && process.component_container)
    }

    fn process(&mut self, place: &Place, own: &str) -> String {
        let nodes = self.names.iter();
        let named = nodes.map(|(at, name)| (self.places[*at].path.as_str(), name));
        let container = self.groups.container(place, own, &named.collect());
        let process = Container::process(container.as_ref(), own);
        let name = process.name.clone();
        if container.is_some_and(|container| container.intra_process) {
            self.intra_process.insert(name.clone());
        }
        match self.processes.iter_mut().find(|known| known.name == name) {
            // Its components may stand before the container, which knows its executor.
            Some(known) if process.executor != Executor::Single => *known = process,
            Some(_) => {}
            None => self.processes.push(process),
        }
        name
    }

    pub fn draft(mut self, system: &System, mode: Option<&str>, warnings: &mut Warnings) -> Draft {
        self.groups.check(self.places, warnings);
        self.hand_over(system, warnings);
        let name = system.name.value.trim_end_matches(".system");
        let nodes: usize = self.modules.iter().map(|m| m.nodes.len()).sum();
        let of_mode = mode.map_or_else(String::new, |mode| format!(" in mode {mode}"));
        let used = used_topics(&self.modules);
        Draft {
            head: head(name, &of_mode, &self.unconnected),
            name: names::clean(name),
            description: format!("{nodes} nodes of the system {name}{of_mode}."),
            profile: Profile::Humble,
            ns_per_iteration: None,
            launch: None,
            sizes: sizes(&self.topics),
            start_ups: Vec::new(),
            qos: DraftQos {
                reliable: true,
                depth: 1,
                transient_local: false,
            },
            topics: self
                .topics
                .into_values()
                .filter(|topic| used.contains(&topic.name))
                .collect(),
            processes: self.processes,
            modules: self.modules,
            chains: Vec::new(),
        }
    }

    /// Marks the topics whose messages a container hands over by pointer. rclcpp does so for publishers and
    /// subscriptions of one process that are volatile.
    fn hand_over(&mut self, system: &System, warnings: &mut Warnings) {
        let mut ends: BTreeMap<&str, Ends<'_>> = BTreeMap::new();
        for node in self.modules.iter().flat_map(|module| &module.nodes) {
            let process = node.process.as_str();
            let callbacks = node.callbacks.iter();
            let published = callbacks.clone().flat_map(|callback| &callback.publishes);
            for topic in published.chain(&node.silent.publishers) {
                ends.entry(topic).or_default().publishers.insert(process);
            }
            for callback in callbacks {
                if let DraftTrigger::Subscription(topic) = &callback.trigger {
                    ends.entry(topic).or_default().subscribers.insert(process);
                }
            }
        }
        for (topic, ends) in ends {
            let both = ends.publishers.intersection(&ends.subscribers);
            let (by_pointer, by_dds): (Vec<&str>, Vec<&str>) =
                both.partition(|process| self.intra_process.contains(**process));
            let Some(entry) = self
                .topics
                .get_mut(topic)
                .filter(|_| !by_pointer.is_empty())
            else {
                continue;
            };
            let mut say = |message: String| warnings.add(system.name.place.says(message));
            if entry.qos.is_some_and(|qos| qos.transient_local) {
                say(format!(
                    "'{topic}' is transient local, which rclcpp does not hand over inside a process: it is not in '{}' either",
                    by_pointer.join("', '")
                ));
                continue;
            }
            entry.intra_process = true;
            if !by_dds.is_empty() {
                say(format!(
                    "'{topic}' is handed over inside '{}' too: a stack says so of a topic, not of a container",
                    by_dds.join("', '")
                ));
            }
        }
    }
}

/// Processes of a topic's endpoints.
#[derive(Default)]
struct Ends<'a> {
    publishers: BTreeSet<&'a str>,
    subscribers: BTreeSet<&'a str>,
}

fn used_topics(modules: &[DraftModule]) -> HashSet<String> {
    let nodes = modules.iter().flat_map(|module| &module.nodes);
    nodes.flat_map(DraftNode::topics).cloned().collect()
}

fn head(name: &str, of_mode: &str, unconnected: &[String]) -> Vec<String> {
    let mut head = vec![
        format!("{name}: from its system design by `stowplan import designer`."),
        String::new(),
        format!("From the design{of_mode}: nodes, containers, topics, periods, what starts what."),
        "Assumed: execution times and message sizes, with ranges; reliable, depth 1, where a port does not say; launching costs nothing; a timer uses what its node stores; of inputs that all have to be there the first starts the callback.".to_owned(),
        "Left out: parameters, services, actions.".to_owned(),
    ];
    if !unconnected.is_empty() {
        head.push(format!(
            "{} subscribers are connected with no publisher and are left out: {}.",
            unconnected.len(),
            unconnected.join(", ")
        ));
    }
    head
}
