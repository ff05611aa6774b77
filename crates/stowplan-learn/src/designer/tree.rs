//! From entities to the instances of a system and the ports that are connected.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::files::{Connection, Instance, Launch, Module, Node, Port, System};
use super::yaml::Text;
use super::{Sources, variant, wildcard};
use crate::error::{ImportError, Warnings};

/// More instances than any vehicle has: a design that contains itself many times is refused.
const MOST_INSTANCES: usize = 10_000;

/// Deepest nesting of modules.
const DEEPEST: usize = 24;

/// A port of an instance, as `(instance, is a publisher, name)`; the instance is its place in the tree.
pub(super) type PortId = (usize, bool, String);

/// An instance of a node or module, or the system itself, which is the first.
#[derive(Default)]
pub(super) struct Place {
    /// Full ROS name, as `/sensing/lidar/driver`.
    pub path: String,
    /// Name of the component that it belongs to; empty for the system itself.
    pub component: String,
    /// Compute unit of that component.
    pub compute_unit: Option<String>,
    /// The definition, for a node.
    pub node: Option<Rc<Node>>,
    /// How it is started, where that differs from the definition.
    pub launch: Launch,
    children: HashMap<String, usize>,
    ports: BTreeSet<(bool, String)>,
}

/// All instances and what is connected.
pub(super) struct Tree<'a> {
    sources: &'a Sources,
    warnings: &'a mut Warnings,
    nodes: HashMap<String, Rc<Node>>,
    modules: HashMap<String, Rc<Module>>,
    pub places: Vec<Place>,
    /// For each port, those that feed it.
    fed_by: BTreeMap<PortId, Vec<PortId>>,
    /// Names of topics by the nodes' ports that publish on them.
    pub topics: BTreeMap<PortId, String>,
}

fn ports(publishers: &[Port], subscribers: &[Port]) -> BTreeSet<(bool, String)> {
    let publishers = publishers
        .iter()
        .map(|port| (true, port.name.value.clone()));
    let subscribers = subscribers
        .iter()
        .map(|port| (false, port.name.value.clone()));
    publishers.chain(subscribers).collect()
}

impl<'a> Tree<'a> {
    /// Builds the tree of the system's components in this mode.
    pub fn new(
        system: &System,
        mode: Option<&str>,
        sources: &'a Sources,
        warnings: &'a mut Warnings,
    ) -> Result<Self, ImportError> {
        let mut tree = Self {
            sources,
            warnings,
            nodes: HashMap::new(),
            modules: HashMap::new(),
            places: vec![Place::default()],
            fed_by: BTreeMap::new(),
            topics: BTreeMap::new(),
        };
        for component in &system.components {
            let of = &component.mode;
            if of.is_empty() || mode.is_some_and(|mode| of.iter().any(|m| m == mode)) {
                tree.add(0, component, &mut Vec::new())?;
            }
        }
        tree.connect(0, &system.connections)?;
        for remap in &system.remaps {
            if let Some(port) = tree.publisher(&remap.source)? {
                for publisher in tree.publishers(&port) {
                    tree.topics.insert(publisher, remap.topic.value.clone());
                }
            }
        }
        Ok(tree)
    }

    fn node(&mut self, entity: &Text) -> Result<Rc<Node>, ImportError> {
        if let Some(node) = self.nodes.get(&entity.value) {
            return Ok(Rc::clone(node));
        }
        let file = variant::resolved(entity, self.sources, self.warnings)?;
        let node = Rc::new(Node::of(&file, self.warnings)?);
        self.nodes.insert(entity.value.clone(), Rc::clone(&node));
        Ok(node)
    }

    fn module(&mut self, entity: &Text) -> Result<Rc<Module>, ImportError> {
        if let Some(module) = self.modules.get(&entity.value) {
            return Ok(Rc::clone(module));
        }
        let file = variant::resolved(entity, self.sources, self.warnings)?;
        let module = Rc::new(Module::of(&file, self.warnings)?);
        self.modules
            .insert(entity.value.clone(), Rc::clone(&module));
        Ok(module)
    }

    fn add(
        &mut self,
        parent: usize,
        instance: &Instance,
        above: &mut Vec<String>,
    ) -> Result<(), ImportError> {
        let entity = &instance.entity;
        if above.contains(&entity.value) || above.len() >= DEEPEST {
            let message = format!("'{}' contains itself", entity.value);
            return Err(entity.place.says(message));
        }
        if self.places.len() >= MOST_INSTANCES {
            let message = format!("more than {MOST_INSTANCES} instances");
            return Err(entity.place.says(message));
        }
        let at = self.places.len();
        let name = &instance.name;
        let children = &mut self.places[parent].children;
        if children.insert(name.value.clone(), at).is_some() {
            let message = format!("a second instance is called '{}'", name.value);
            return Err(name.place.says(message));
        }
        let is_node = entity.value.ends_with(".node");
        let mut place = Place {
            path: self.path(parent, instance, is_node)?,
            launch: instance.launch.clone(),
            ..self.below(parent, instance)
        };
        if is_node {
            let node = self.node(entity)?;
            place.ports = ports(&node.publishers, &node.subscribers);
            for port in &node.publishers {
                let id = (at, true, port.name.value.clone());
                let own = || format!("{}/{}", place.path, port.name.value);
                self.topics
                    .insert(id, port.global.clone().unwrap_or_else(own));
            }
            place.node = Some(node);
            self.places.push(place);
            return Ok(());
        }
        if !entity.value.ends_with(".module") {
            let message = format!("'{}' is neither X.node nor X.module", entity.value);
            return Err(entity.place.says(message));
        }
        let module = self.module(entity)?;
        place.ports = ports(&module.publishers, &module.subscribers);
        self.places.push(place);
        above.push(entity.value.clone());
        for child in &module.instances {
            self.add(at, child, above)?;
        }
        above.pop();
        self.connect(at, &module.connections)
    }

    /// What an instance has of the one above it.
    fn below(&self, parent: usize, instance: &Instance) -> Place {
        let above = &self.places[parent];
        let unit = instance.compute_unit.clone();
        Place {
            component: if parent == 0 {
                instance.name.value.clone()
            } else {
                above.component.clone()
            },
            compute_unit: unit.or_else(|| above.compute_unit.clone()),
            ..Place::default()
        }
    }

    /// A component has the name that its `path` is, or in older formats its namespace; what is inside has
    /// names below.
    fn path(
        &self,
        parent: usize,
        instance: &Instance,
        is_node: bool,
    ) -> Result<String, ImportError> {
        let below = |path: &str| format!("{path}/{}", instance.name.value);
        if parent > 0 {
            return Ok(below(&self.places[parent].path));
        }
        let plain = |text: &str| -> String {
            let parts = text
                .split('/')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            parts.map(|part| format!("/{part}")).collect()
        };
        if let Some(path) = instance
            .path
            .as_ref()
            .filter(|path| !path.value.trim().is_empty())
        {
            let whole = plain(&path.value);
            if whole.is_empty() && is_node {
                return Err(path.place.says("a node needs a name in its path"));
            }
            return Ok(whole);
        }
        let namespace = instance.namespace.as_deref().map(plain).unwrap_or_default();
        Ok(if is_node || namespace.is_empty() {
            below(&namespace)
        } else {
            namespace
        })
    }

    fn connect(&mut self, at: usize, connections: &[Connection]) -> Result<(), ImportError> {
        let (sources, targets) = self.ends(at);
        for connection in connections {
            let Some((from, to)) = directed(connection)? else {
                continue;
            };
            let links: Vec<(PortId, PortId)> = if from.is_pattern() || to.is_pattern() {
                let patterns = (from.key.as_str(), to.key.as_str());
                let pairs = wildcard::pairs(patterns, &sources, &targets);
                pairs
                    .into_iter()
                    .map(|(from, to)| (from.clone(), to.clone()))
                    .collect()
            } else {
                let known = |end: &End<'_>, all: &BTreeMap<String, PortId>| {
                    let found = all.get(&end.key).cloned();
                    found.ok_or_else(|| self.missing(at, end))
                };
                vec![(known(&from, &sources)?, known(&to, &targets)?)]
            };
            if links.is_empty() {
                let message = format!(
                    "nothing is connected: no ports are '{}' and '{}'",
                    from.text.value, to.text.value
                );
                self.warnings.add(from.text.place.says(message));
            }
            for (from, to) in links {
                self.link(from, to);
            }
        }
        Ok(())
    }

    /// The ports that connections inside an instance can begin and end at, as `INSTANCE.PORT`; its own have
    /// no instance, and lead inwards where they are subscribers.
    fn ends(&self, at: usize) -> (BTreeMap<String, PortId>, BTreeMap<String, PortId>) {
        let (mut sources, mut targets) = (BTreeMap::new(), BTreeMap::new());
        let children = self.places[at].children.iter();
        let inner = children.map(|(name, &child)| (name.as_str(), child));
        for (name, place) in inner.chain([("", at)]) {
            for (publisher, port) in &self.places[place].ports {
                let is_source = *publisher == (place != at);
                let side = if is_source {
                    &mut sources
                } else {
                    &mut targets
                };
                side.insert(format!("{name}.{port}"), (place, *publisher, port.clone()));
            }
        }
        (sources, targets)
    }

    fn missing(&self, at: usize, end: &End<'_>) -> ImportError {
        let child = self.places[at].children.get(end.instance);
        if !end.instance.is_empty() && child.is_none() {
            let message = format!("no instance is called '{}' here", end.instance);
            return end.text.place.says(message);
        }
        let whose = match self.places[child.copied().unwrap_or(at)].path.as_str() {
            "" => "the system",
            path => path,
        };
        let message = format!("{whose} has no {} '{}'", end.kind, end.port);
        end.text.place.says(message)
    }

    /// A topic has the name of the last port that it is connected through, as the designer gives it.
    fn link(&mut self, from: PortId, to: PortId) {
        if from.1 {
            let named = if to.1 { &to } else { &from };
            let topic = format!("{}/{}", self.places[named.0].path, named.2);
            for publisher in self.publishers(&from) {
                if !self.is_global(&publisher) {
                    self.topics.insert(publisher, topic.clone());
                }
            }
        }
        self.fed_by.entry(to).or_default().push(from);
    }

    fn is_global(&self, (at, _, name): &PortId) -> bool {
        let node = self.places[*at].node.as_ref();
        let mut ports = node.iter().flat_map(|node| &node.publishers);
        ports.any(|port| port.name.value == *name && port.global.is_some())
    }

    /// The publisher of a component that a text names; `None` for a server.
    fn publisher(&self, text: &Text) -> Result<Option<PortId>, ImportError> {
        let end = End::of(text)?;
        match direction(end.kind) {
            Some(Some(true)) => {}
            Some(None) => return Ok(None),
            _ => {
                return Err(text
                    .place
                    .says("only a publisher or a server has another name"));
            }
        }
        let found = self.ends(0).0.remove(&end.key);
        found.map(Some).ok_or_else(|| self.missing(0, &end))
    }

    /// The publishers of nodes that feed a port.
    pub fn publishers(&self, port: &PortId) -> BTreeSet<PortId> {
        let mut seen = BTreeSet::from([port.clone()]);
        let mut open = vec![port.clone()];
        let mut found = BTreeSet::new();
        while let Some(port) = open.pop() {
            if port.1 && self.places[port.0].node.is_some() {
                found.insert(port);
                continue;
            }
            for from in self.fed_by.get(&port).into_iter().flatten() {
                if seen.insert(from.clone()) {
                    open.push(from.clone());
                }
            }
        }
        found
    }
}

/// An end of a connection.
struct End<'a> {
    text: &'a Text,
    /// Empty for a port of the module or system itself.
    instance: &'a str,
    kind: &'a str,
    port: &'a str,
    /// `INSTANCE.PORT`
    key: String,
}

impl<'a> End<'a> {
    fn of(text: &'a Text) -> Result<Self, ImportError> {
        let value = text.value.as_str();
        let mut parts = value.splitn(3, '.');
        let (instance, kind, port) = match (parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(port), None) => ("", kind, port),
            // A port's name may hold a dot where it stands at the module's own edge.
            (Some(kind), Some(_), Some(_)) if direction(kind).is_some() => {
                ("", kind, &value[kind.len() + 1..])
            }
            (Some(instance), Some(kind), Some(port)) => (instance, kind, port),
            _ => {
                return Err(text.place.says(format!(
                    "'{value}' is not a port, write 'INSTANCE.publisher.PORT', 'INSTANCE.subscriber.PORT', 'publisher.PORT' or 'subscriber.PORT'"
                )));
            }
        };
        if direction(kind).is_none() {
            let message = format!("'{kind}' is neither publisher, subscriber, server nor client");
            return Err(text.place.says(message));
        }
        Ok(Self {
            text,
            instance,
            kind,
            port,
            key: format!("{instance}.{port}"),
        })
    }

    fn is_pattern(&self) -> bool {
        wildcard::is_pattern(&self.key)
    }
}

/// The ends of a connection, the one that messages come from first; `None` for services and actions.
///
/// Source: `Connection` in the designer's `links.py`: the kinds of the ports tell the direction, whatever
/// their order.
fn directed(connection: &Connection) -> Result<Option<(End<'_>, End<'_>)>, ImportError> {
    let [a, b] = &connection.ends;
    let (a, b) = (End::of(a)?, End::of(b)?);
    let (Some(of_a), Some(of_b)) = (direction(a.kind), direction(b.kind)) else {
        return Ok(None);
    };
    let wrong = |what: &str| {
        let message = format!("'{}' and '{}' {what}", a.text.value, b.text.value);
        Err(a.text.place.says(message))
    };
    let (of_a, of_b) = match (of_a, of_b) {
        (None, None) => return Ok(None),
        (Some(of_a), Some(of_b)) => (of_a, of_b),
        _ => return wrong("are a topic's and a service's"),
    };
    let from_a = match (a.instance.is_empty(), b.instance.is_empty()) {
        (true, true) => return wrong("are both ports of the same module"),
        (false, false) if of_a == of_b => return wrong("do not send to each other"),
        (false, false) => of_a,
        _ if of_a != of_b => return wrong("lead past the edge of a module"),
        // Publishers lead outwards, subscribers inwards.
        (a_is_edge, _) => of_a != a_is_edge,
    };
    Ok(Some(if from_a { (a, b) } else { (b, a) }))
}

/// Whether a word says publisher (`Some(Some(true))`), subscriber, or something that is no topic.
#[expect(clippy::option_option, reason = "no direction is not an unknown word")]
fn direction(word: &str) -> Option<Option<bool>> {
    match word {
        "publisher" | "output" => Some(Some(true)),
        "subscriber" | "input" => Some(Some(false)),
        "server" | "client" => Some(None),
        _ => None,
    }
}
