//! Systems of autowarefoundation/autoware_system_designer: `X.system.yaml` with the modules and nodes that
//! it is made of (format versions up to 0.5, keys of 0.1 to 0.3 too).
//!
//! A publisher's topic is `/NAMESPACE/NODE/PORT`, or its `global` name; a subscriber has a subscription to
//! the topic of each publisher that is connected with it. `processes` become callbacks: `periodic` is a
//! timer, `on_input` a subscription; of several inputs that all have to be there (`and`) the first starts
//! the callback and the others are stored. Parameters, services, actions, variants (`base`) and what modes
//! override are left out or refused.

mod behaviour;
mod files;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use stowplan_model::{Executor, Profile, SilentEndpoints};

use crate::draft::{Draft, DraftModule, DraftNode, DraftProcess, DraftQos, DraftTopic, Figure};
use crate::error::ImportError;
use crate::names;
use behaviour::Wired;
use files::{Group, Node, Port, Qos, System, read, wrong};
use tree::{PortId, Tree};

/// Deepest folder below a design that is looked into.
const DEEPEST_FOLDER: usize = 12;

/// Texts of modules and nodes by the name of their entity, as `Lidar.module`.
#[derive(Debug, Clone, Default)]
pub struct Sources(BTreeMap<String, (String, String)>);

impl Sources {
    /// Every `*.module.yaml` and `*.node.yaml` in a folder and below it.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn of_folder(folder: &Path) -> std::io::Result<Self> {
        let mut sources = Self::default();
        sources.look_into(folder, 0)?;
        Ok(sources)
    }

    /// Adds the text of an entity's file.
    pub fn add(&mut self, entity: &str, file: &str, text: &str) {
        self.0
            .insert(entity.to_owned(), (file.to_owned(), text.to_owned()));
    }

    fn look_into(&mut self, folder: &Path, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if entry.file_type()?.is_dir() {
                if depth < DEEPEST_FOLDER {
                    self.look_into(&path, depth + 1)?;
                }
            } else if let Some(entity) = name.strip_suffix(".yaml")
                && (entity.ends_with(".module") || entity.ends_with(".node"))
            {
                let text = std::fs::read_to_string(&path)?;
                self.add(entity, &path.display().to_string(), &text);
            }
        }
        Ok(())
    }

    fn get(&self, entity: &str) -> Option<&(String, String)> {
        self.0.get(entity)
    }
}

/// The stack of a system. `file` is its name in errors; `mode` one of its modes, the default one where
/// `None`.
///
/// # Errors
/// When a file of the design is wrong or missing, with its place.
pub fn import(
    text: &str,
    file: &str,
    mode: Option<&str>,
    sources: &Sources,
) -> Result<Draft, ImportError> {
    let system: System = read(text, file)?;
    tree::not_derived(file, system.base.as_ref())?;
    let mode = mode_of(&system, file, mode)?;
    let tree = Tree::new(&system, file, mode.as_deref(), sources)?;
    let wiring = Wiring::new(&tree);
    let mut builder = Builder::new(&tree, &wiring, &system.node_groups);
    for (at, place) in tree.places.iter().enumerate() {
        if let Some(node) = &place.node {
            builder.node(at, node)?;
        }
    }
    if builder.modules.is_empty() {
        let message = "the system has no node in this mode";
        return Err(wrong(file, &system.name, message));
    }
    Ok(builder.draft(&system, mode.as_deref()))
}

fn mode_of(
    system: &System,
    file: &str,
    asked: Option<&str>,
) -> Result<Option<String>, ImportError> {
    if let Some(asked) = asked {
        if system.modes.iter().any(|mode| mode.name == asked) {
            return Ok(Some(asked.to_owned()));
        }
        let known: Vec<&str> = system.modes.iter().map(|m| m.name.as_str()).collect();
        let message = format!(
            "the system has no mode '{asked}', its modes are: {}",
            known.join(", ")
        );
        return Err(wrong(file, &system.name, message));
    }
    let default = system.modes.iter().find(|mode| mode.default);
    Ok(default
        .or_else(|| system.modes.first())
        .map(|mode| mode.name.clone()))
}

/// Topics of all ports of nodes.
struct Wiring {
    topic_of: BTreeMap<PortId, String>,
    global: BTreeSet<String>,
}

impl Wiring {
    fn new(tree: &Tree<'_>) -> Self {
        let mut topic_of = BTreeMap::new();
        let mut global = BTreeSet::new();
        for (at, place) in tree.places.iter().enumerate() {
            let Some(node) = &place.node else { continue };
            for port in &node.publishers {
                let topic = if let Some(name) = &port.global {
                    let topic = topic_name(name);
                    global.insert(topic.clone());
                    topic
                } else {
                    topic_name(&format!("{}/{}", place.path, port.name.value))
                };
                topic_of.insert((at, true, port.name.value.clone()), topic);
            }
        }
        Self { topic_of, global }
    }

    fn wired(&self, tree: &Tree<'_>, at: usize, node: &Node) -> Wired {
        let sources = |port: &Port| -> Vec<String> {
            if let Some(name) = &port.global {
                let topic = topic_name(name);
                return self.global.get(&topic).cloned().into_iter().collect();
            }
            let publishers = tree.publishers(&(at, false, port.name.value.clone()));
            let topics: BTreeSet<String> = publishers
                .iter()
                .filter_map(|id| self.topic_of.get(id).cloned())
                .collect();
            topics.into_iter().collect()
        };
        Wired {
            subscribers: node
                .subscribers
                .iter()
                .map(|port| (port.name.value.clone(), sources(port)))
                .collect(),
            publishers: node
                .publishers
                .iter()
                .filter_map(|port| {
                    let name = port.name.value.clone();
                    let topic = self.topic_of.get(&(at, true, name.clone()))?;
                    Some((name, topic.clone()))
                })
                .collect(),
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

struct Builder<'a> {
    tree: &'a Tree<'a>,
    wiring: &'a Wiring,
    groups: &'a [Group],
    names: BTreeMap<usize, String>,
    topics: BTreeMap<String, DraftTopic>,
    processes: Vec<DraftProcess>,
    modules: Vec<DraftModule>,
    unconnected: usize,
}

impl<'a> Builder<'a> {
    fn new(tree: &'a Tree<'a>, wiring: &'a Wiring, groups: &'a [Group]) -> Self {
        let places = tree.places.iter().enumerate();
        let nodes: Vec<usize> = places
            .filter(|(_, p)| p.node.is_some())
            .map(|(at, _)| at)
            .collect();
        let full: Vec<String> = nodes
            .iter()
            .map(|&at| tree.places[at].path.clone())
            .collect();
        Self {
            tree,
            wiring,
            groups,
            names: nodes.into_iter().zip(names::unique(&full)).collect(),
            topics: BTreeMap::new(),
            processes: Vec::new(),
            modules: Vec::new(),
            unconnected: 0,
        }
    }

    fn node(&mut self, at: usize, node: &Node) -> Result<(), ImportError> {
        let place = &self.tree.places[at];
        let wired = self.wiring.wired(self.tree, at, node);
        self.unconnected += wired.subscribers.values().filter(|t| t.is_empty()).count();
        let callbacks = behaviour::callbacks(node, &place.file, &wired)?;
        for port in &node.publishers {
            if let Some(topic) = wired.publishers.get(&port.name.value) {
                let entry = topic_of(topic, port);
                self.topics.entry(topic.clone()).or_insert(entry);
            }
        }
        let name = self.names[&at].clone();
        let process = self.process(&place.path, &name, node);
        let unit = place.compute_unit.as_ref();
        let unit = unit.map_or_else(String::new, |unit| format!(", on {unit}"));
        let entry = DraftNode {
            process,
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

    /// The process of a node: its group's container, the container that it names, or its own.
    fn process(&mut self, path: &str, own: &str, node: &Node) -> String {
        let group = self
            .groups
            .iter()
            .find(|group| group.nodes.iter().any(|pattern| matches(pattern, path)));
        let named = node.launch.container_name.as_deref();
        let (name, container, several) = match (group, named) {
            (Some(group), _) => {
                let several = group.kind.as_deref().is_some_and(|k| k.ends_with("_mt"));
                (group.name.value.as_str(), true, several)
            }
            (None, Some(name)) if node.launch.use_container => (name, true, false),
            _ => (own, false, false),
        };
        let name = names::clean(name);
        if !self.processes.iter().any(|process| process.name == name) {
            self.processes.push(DraftProcess {
                name: name.clone(),
                executor: if several {
                    Executor::Multi { threads: 2 }
                } else {
                    Executor::Single
                },
                component_container: container,
                comment: if several {
                    "threads are assumed: a design does not say how many".to_owned()
                } else {
                    String::new()
                },
            });
        }
        name
    }

    fn draft(self, system: &System, mode: Option<&str>) -> Draft {
        let name = system.name.value.trim_end_matches(".system");
        let nodes: usize = self.modules.iter().map(|m| m.nodes.len()).sum();
        let of_mode = mode.map_or_else(String::new, |mode| format!(" in mode {mode}"));
        let used = used_topics(&self.modules);
        Draft {
            head: head(name, &of_mode, self.unconnected),
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
}

fn used_topics(modules: &[DraftModule]) -> HashSet<String> {
    let nodes = modules.iter().flat_map(|module| &module.nodes);
    nodes.flat_map(DraftNode::topics).cloned().collect()
}

fn head(name: &str, of_mode: &str, unconnected: usize) -> Vec<String> {
    let mut head = vec![
        format!("{name}: from its system design by `stowplan import designer`."),
        String::new(),
        format!("From the design{of_mode}: nodes, containers, topics, periods, what starts what."),
        "Assumed: execution times and message sizes, with ranges; reliable, depth 1, where a port does not say; launching costs nothing; a timer uses what its node stores; of inputs that all have to be there the first starts the callback.".to_owned(),
        "Left out: parameters, services, actions, overrides of modes.".to_owned(),
    ];
    if unconnected > 0 {
        head.push(format!(
            "{unconnected} subscribers are connected with no publisher and are left out."
        ));
    }
    head
}

/// The size of a message of this type.
fn size_of(message_type: Option<&str>) -> (&'static str, u64, u64, u64) {
    match message_type.and_then(|t| t.rsplit('/').next()) {
        Some("PointCloud2") => ("cloud", 500_000, 10_000, 5_000_000),
        Some("Image") => ("image", 1_000_000, 100_000, 8_000_000),
        _ => ("message", 1_000, 64, 100_000),
    }
}

fn sizes(topics: &BTreeMap<String, DraftTopic>) -> Vec<(String, Figure)> {
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

fn topic_of(name: &str, port: &Port) -> DraftTopic {
    DraftTopic {
        qos: port.qos.as_ref().map(qos_of),
        comment: port.message_type.clone().unwrap_or_default(),
        ..DraftTopic::new(name, size_of(port.message_type.as_deref()).0)
    }
}

fn qos_of(qos: &Qos) -> DraftQos {
    DraftQos {
        reliable: qos.reliability.as_deref() != Some("best_effort"),
        depth: qos.depth.unwrap_or(1).max(1),
        transient_local: qos.durability.as_deref() == Some("transient_local"),
    }
}

/// Whether a pattern of a group means a node: its path or a folder above it; `*` and `?` are any text and
/// any character.
fn matches(pattern: &str, path: &str) -> bool {
    fn glob(pattern: &[u8], text: &[u8]) -> bool {
        // The last star and where its text ends so far; one step back is enough.
        let (mut p, mut t, mut star) = (0, 0, None);
        while t < text.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(&c) if c == b'?' || c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, from)) => {
                        (p, t) = (at + 1, from + 1);
                        star = Some((at, from + 1));
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == b'*')
    }
    let pattern = pattern.trim_end_matches('/');
    let below = path.strip_prefix(pattern);
    !pattern.is_empty()
        && (below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || glob(pattern.as_bytes(), path.as_bytes()))
}

#[cfg(test)]
mod tests;
