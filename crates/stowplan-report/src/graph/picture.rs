//! What of a node graph is drawn: boxes and arrows, before they have a place.

use std::collections::{BTreeMap, BTreeSet};

use super::node_graph::{GraphEdge, NodeGraph, rate_and_latency};

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// Every node that sends or takes anything.
    Nodes,
    /// A box per module.
    Modules,
    /// The nodes of a module; what they speak to elsewhere as a box per module.
    Module(String),
    /// These nodes, by full name, and what they send each other.
    Only(BTreeSet<String>),
}

/// How much can be read in one picture.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most nodes.
    pub nodes: usize,
    /// Most arrows.
    pub arrows: usize,
}

impl Default for Limits {
    /// What fits a page at a size that can be read: found by looking at pictures of real stacks.
    fn default() -> Self {
        Self {
            nodes: 32,
            arrows: 60,
        }
    }
}

pub(super) fn readable(graph: &NodeGraph, limits: Limits) -> View {
    let pairs: BTreeSet<(usize, usize)> = graph.ways.iter().map(|w| (w.from, w.to)).collect();
    let few = graph.connected().len() <= limits.nodes && pairs.len() <= limits.arrows;
    if few { View::Nodes } else { View::Modules }
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub name: String,
    pub note: Option<String>,
    /// Drawn as a neighbour, not as what the picture is about.
    pub aside: bool,
    /// A chain goes through it.
    pub chain: bool,
    /// Index of its frame.
    pub frame: Option<usize>,
}

/// An arrow with what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrow {
    pub from: usize,
    pub to: usize,
    /// Name, then figures.
    pub lines: Vec<String>,
    /// All of it.
    pub title: String,
    /// How messages travel; that of most of them where topics differ.
    pub class: Option<String>,
    /// A chain goes this way.
    pub chain: bool,
}

/// Boxes and arrows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Picture {
    pub frames: Vec<String>,
    pub blocks: Vec<Block>,
    pub arrows: Vec<Arrow>,
    /// What is not drawn.
    pub note: Option<String>,
}

/// What a node is drawn as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Node(usize),
    Module(String),
}

impl Picture {
    pub fn of(graph: &NodeGraph, view: &View) -> Self {
        let key = |node: usize| -> Option<Key> {
            let of = &graph.nodes[node];
            match view {
                View::Nodes => Some(Key::Node(node)),
                View::Modules => Some(Key::Module(of.module.clone())),
                View::Module(module) if of.module == *module => Some(Key::Node(node)),
                View::Module(_) => Some(Key::Module(of.module.clone())),
                View::Only(names) => names.contains(&of.name).then_some(Key::Node(node)),
            }
        };
        let mut ways: BTreeMap<(Key, Key), Vec<&GraphEdge>> = BTreeMap::new();
        let mut inside: BTreeMap<Key, usize> = BTreeMap::new();
        for way in &graph.ways {
            let (Some(from), Some(to)) = (key(way.from), key(way.to)) else {
                continue;
            };
            match (&from, &to) {
                (Key::Module(a), Key::Module(b)) if a == b => {
                    *inside.entry(from).or_default() += 1;
                }
                // What neighbours send each other is not this picture's.
                (Key::Module(_), Key::Module(_)) if matches!(view, View::Module(_)) => {}
                _ => ways.entry((from, to)).or_default().push(way),
            }
        }
        let keys = keys(graph, view, &ways);
        let mut picture = Self::default();
        for key in &keys {
            let block = block(graph, view, key, &mut picture.frames, inside.get(key));
            picture.blocks.push(block);
        }
        let at = |key: &Key| keys.binary_search(key);
        for ((from, to), ways) in &ways {
            if let (Ok(from), Ok(to)) = (at(from), at(to)) {
                let mut arrow = arrow(from, to, ways);
                let [a, b] = [from, to].map(|end| &picture.blocks[end].name);
                arrow.title = format!("{a} → {b}\n{}", arrow.title);
                for end in [from, to] {
                    picture.blocks[end].chain |= arrow.chain;
                }
                picture.arrows.push(arrow);
            }
        }
        picture.note = note(graph, view);
        picture.frame_several();
        picture
    }
}

impl Picture {
    /// A frame around one box tells nothing: its name goes into the box.
    fn frame_several(&mut self) {
        let mut holds = vec![0; self.frames.len()];
        for frame in self.blocks.iter().filter_map(|block| block.frame) {
            holds[frame] += 1;
        }
        for block in &mut self.blocks {
            if let Some(frame) = block.frame.filter(|&frame| holds[frame] < 2) {
                block.note = Some(self.frames[frame].clone());
                block.frame = None;
            }
        }
    }
}

/// Everything that gets a box: what has arrows, and modules and chosen nodes in any case.
fn keys(graph: &NodeGraph, view: &View, ways: &BTreeMap<(Key, Key), Vec<&GraphEdge>>) -> Vec<Key> {
    let mut keys: BTreeSet<Key> = ways
        .keys()
        .flat_map(|(a, b)| [a.clone(), b.clone()])
        .collect();
    match view {
        View::Modules => keys.extend(
            graph
                .modules()
                .into_iter()
                .map(|m| Key::Module(m.to_owned())),
        ),
        View::Only(names) => {
            let nodes = graph.nodes.iter().enumerate();
            let chosen = nodes.filter(|(_, node)| names.contains(&node.name));
            keys.extend(chosen.map(|(index, _)| Key::Node(index)));
        }
        View::Nodes | View::Module(_) => {}
    }
    keys.into_iter().collect()
}

fn block(
    graph: &NodeGraph,
    view: &View,
    key: &Key,
    frames: &mut Vec<String>,
    inside: Option<&usize>,
) -> Block {
    match key {
        Key::Node(node) => {
            let node = &graph.nodes[*node];
            let (name, frame) = match view {
                View::Module(module) => (within(&node.name, module), None),
                _ => (node.name.clone(), Some(&graph.processes[node.process])),
            };
            Block {
                name,
                note: None,
                aside: false,
                chain: false,
                frame: frame.map(|name| position(frames, name)),
            }
        }
        Key::Module(module) => {
            let nodes = graph.nodes.iter().filter(|node| node.module == *module);
            let mut note = plural(nodes.count(), "node");
            if let (View::Modules, Some(&ways)) = (view, inside) {
                note += &format!(", {} inside", plural(ways, "link"));
            }
            Block {
                name: module.clone(),
                note: Some(note),
                aside: matches!(view, View::Module(_)),
                chain: false,
                frame: None,
            }
        }
    }
}

fn position(frames: &mut Vec<String>, name: &str) -> usize {
    let found = frames.iter().position(|frame| frame == name);
    found.unwrap_or_else(|| {
        frames.push(name.to_owned());
        frames.len() - 1
    })
}

/// A node's name inside its module.
fn within(name: &str, module: &str) -> String {
    let rest = name
        .strip_prefix(module)
        .and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(name).to_owned()
}

fn arrow(from: usize, to: usize, ways: &[&GraphEdge]) -> Arrow {
    let mut ways = ways.to_vec();
    ways.sort_by(|a, b| b.messages.cmp(&a.messages).then(a.topic.cmp(&b.topic)));
    let topics: BTreeSet<&str> = ways.iter().map(|way| way.topic.as_str()).collect();
    let messages = ways.iter().map(|way| way.messages).sum();
    let hz = ways.iter().filter_map(|way| way.hz).reduce(|a, b| a + b);
    let slowest = ways
        .iter()
        .filter_map(|way| way.latency_ns)
        .reduce(f64::max);
    let name = match topics.first() {
        Some(one) if topics.len() == 1 => (*one).to_owned(),
        _ => plural(topics.len(), "topic"),
    };
    let all = ways.iter().map(|way| {
        let figures = rate_and_latency(way.messages, way.hz, way.latency_ns);
        let class = way.class.as_ref().map(|class| class.replace('_', " "));
        let class = class.map_or_else(String::new, |class| format!(", {class}"));
        format!("{}: {figures}{class}", way.topic)
    });
    Arrow {
        from,
        to,
        lines: vec![name, rate_and_latency(messages, hz, slowest)],
        title: all.collect::<Vec<_>>().join("\n"),
        class: ways.iter().find_map(|way| way.class.clone()),
        chain: ways.iter().any(|way| way.chain),
    }
}

/// What is not drawn, so that nobody takes it for missing.
fn note(graph: &NodeGraph, view: &View) -> Option<String> {
    let connected = graph.connected();
    let alone = |module: Option<&str>| {
        let nodes = graph.nodes.iter().enumerate();
        nodes
            .filter(|(index, node)| {
                !connected.contains(index) && module.is_none_or(|module| node.module == module)
            })
            .count()
    };
    let count = match view {
        View::Nodes => alone(None),
        View::Module(module) => alone(Some(module)),
        View::Modules | View::Only(_) => 0,
    };
    (count > 0).then(|| {
        format!(
            "{} without messages on these topics not drawn",
            plural(count, "node")
        )
    })
}

fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
