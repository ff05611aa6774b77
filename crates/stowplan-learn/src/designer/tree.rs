//! From entities to the instances of a system and the ports that are connected.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Sources;
use super::files::{Connection, Instance, Module, Node, Port, System, Text, read, wrong};
use crate::error::ImportError;

/// More instances than any vehicle has: a design that contains itself many times is refused.
const MOST_INSTANCES: usize = 10_000;

/// Deepest nesting of modules.
const DEEPEST: usize = 24;

/// A port of an instance, as `(instance, is a publisher, name)`; the instance is its place in the tree.
pub(super) type PortId = (usize, bool, String);

/// An instance of a node or module, or the system itself, which is the first.
pub(super) struct Place {
    /// Full ROS name, as `/sensing/lidar/driver`.
    pub path: String,
    /// Name of the component that it belongs to; empty for the system itself.
    pub component: String,
    /// Compute unit of that component.
    pub compute_unit: Option<String>,
    /// The definition, for a node.
    pub node: Option<Node>,
    /// File that defines it.
    pub file: String,
    children: HashMap<String, usize>,
    ports: BTreeSet<(bool, String)>,
}

/// All instances and what is connected.
pub(super) struct Tree<'a> {
    sources: &'a Sources,
    pub places: Vec<Place>,
    /// For each port, those that feed it.
    pub fed_by: BTreeMap<PortId, Vec<PortId>>,
}

fn ports(publishers: &[Port], subscribers: &[Port]) -> BTreeSet<(bool, String)> {
    let of = |ports: &[Port], out: bool| {
        let names = ports.iter().map(|port| (out, port.name.value.clone()));
        names.collect::<Vec<_>>()
    };
    of(publishers, true)
        .into_iter()
        .chain(of(subscribers, false))
        .collect()
}

impl<'a> Tree<'a> {
    /// Builds the tree of the system's components in this mode.
    pub fn new(
        system: &System,
        file: &str,
        mode: Option<&str>,
        sources: &'a Sources,
    ) -> Result<Self, ImportError> {
        let mut tree = Self {
            sources,
            places: vec![Place {
                path: String::new(),
                component: String::new(),
                compute_unit: None,
                node: None,
                file: file.to_owned(),
                children: HashMap::new(),
                ports: BTreeSet::new(),
            }],
            fed_by: BTreeMap::new(),
        };
        for component in &system.components {
            let of = &component.mode.0;
            if of.is_empty() || mode.is_some_and(|mode| of.iter().any(|m| m == mode)) {
                tree.add(0, component, &mut Vec::new())?;
            }
        }
        tree.connect(0, &system.connections)?;
        Ok(tree)
    }

    fn add(
        &mut self,
        parent: usize,
        instance: &Instance,
        above: &mut Vec<String>,
    ) -> Result<(), ImportError> {
        let file = self.places[parent].file.clone();
        let entity = &instance.entity;
        if above.contains(&entity.value) || above.len() >= DEEPEST {
            let message = format!("'{}' contains itself", entity.value);
            return Err(wrong(&file, entity, message));
        }
        if self.places.len() >= MOST_INSTANCES {
            let message = format!("more than {MOST_INSTANCES} instances");
            return Err(wrong(&file, entity, message));
        }
        let Some((own_file, text)) = self.sources.get(&entity.value) else {
            let message = format!(
                "there is no file '{}.yaml' in the folder of the design",
                entity.value
            );
            return Err(wrong(&file, entity, message));
        };
        let at = self.places.len();
        let name = &instance.name;
        if self.places[parent]
            .children
            .insert(name.value.clone(), at)
            .is_some()
        {
            let message = format!("a second instance is called '{}'", name.value);
            return Err(wrong(&file, name, message));
        }
        let path = self.path(parent, instance, entity.value.ends_with(".node"));
        let above_it = &self.places[parent];
        let mut place = Place {
            component: if parent == 0 {
                name.value.clone()
            } else {
                above_it.component.clone()
            },
            compute_unit: instance
                .compute_unit
                .clone()
                .or_else(|| above_it.compute_unit.clone()),
            path,
            node: None,
            file: own_file.clone(),
            children: HashMap::new(),
            ports: BTreeSet::new(),
        };
        if entity.value.ends_with(".node") {
            let node: Node = read(text, own_file)?;
            not_derived(own_file, node.base.as_ref())?;
            place.ports = ports(&node.publishers, &node.subscribers);
            place.node = Some(node);
            self.places.push(place);
            return Ok(());
        }
        if !entity.value.ends_with(".module") {
            let message = format!("'{}' is neither X.node nor X.module", entity.value);
            return Err(wrong(&file, entity, message));
        }
        let module: Module = read(text, own_file)?;
        not_derived(own_file, module.base.as_ref())?;
        place.ports = ports(&module.publishers, &module.subscribers);
        self.places.push(place);
        above.push(entity.value.clone());
        for child in &module.instances {
            self.add(at, child, above)?;
        }
        above.pop();
        self.connect(at, &module.connections)
    }

    /// A component has its namespace and, where it is a node, its name; what is inside has names below.
    fn path(&self, parent: usize, instance: &Instance, is_node: bool) -> String {
        let above = &self.places[parent].path;
        let namespace = instance.namespace.as_deref().map(|n| n.trim_matches('/'));
        match namespace {
            Some(namespace) if parent == 0 && !namespace.is_empty() => {
                if is_node {
                    format!("/{namespace}/{}", instance.name.value)
                } else {
                    format!("/{namespace}")
                }
            }
            _ => format!("{above}/{}", instance.name.value),
        }
    }

    fn connect(&mut self, at: usize, connections: &[Connection]) -> Result<(), ImportError> {
        for connection in connections {
            let ends = (
                self.end(at, &connection.from)?,
                self.end(at, &connection.to)?,
            );
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            for (from, to) in self.expand(from, to) {
                self.fed_by.entry(to).or_default().push(from);
            }
        }
        Ok(())
    }

    /// The port that a text names inside an instance; `None` for services and actions.
    fn end(&self, at: usize, text: &Text) -> Result<Option<PortId>, ImportError> {
        let file = &self.places[at].file;
        let mut parts = text.value.splitn(3, '.');
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        let (instance, kind, port) = match (first, second, third) {
            (Some(kind), Some(port), None) => (at, kind, port),
            // A port's name may hold a dot where it stands at the module's own edge.
            (Some(kind), Some(_), Some(_)) if direction(kind).is_some() => {
                (at, kind, &text.value[kind.len() + 1..])
            }
            (Some(name), Some(kind), Some(port)) => {
                let Some(&child) = self.places[at].children.get(name) else {
                    let message = format!("no instance is called '{name}' here");
                    return Err(wrong(file, text, message));
                };
                (child, kind, port)
            }
            _ => {
                let message = format!(
                    "'{}' is not a port, write 'INSTANCE.publisher.PORT', 'INSTANCE.subscriber.PORT', 'publisher.PORT' or 'subscriber.PORT'",
                    text.value
                );
                return Err(wrong(file, text, message));
            }
        };
        let publisher = match direction(kind) {
            Some(Some(publisher)) => publisher,
            Some(None) => return Ok(None),
            None => {
                let message =
                    format!("'{kind}' is neither publisher, subscriber, server nor client");
                return Err(wrong(file, text, message));
            }
        };
        let id = (instance, publisher, port.to_owned());
        let known = &self.places[instance].ports;
        if !is_wildcard(port) && !known.contains(&(publisher, port.to_owned())) {
            let whose = match self.places[instance].path.as_str() {
                "" => "the system",
                path => path,
            };
            let message = format!("{whose} has no {kind} '{port}'");
            return Err(wrong(file, text, message));
        }
        Ok(Some(id))
    }

    /// The pairs that a connection with wildcards means: ports of one name.
    fn expand(&self, from: PortId, to: PortId) -> Vec<(PortId, PortId)> {
        let names = |id: &PortId| -> BTreeSet<String> {
            if is_wildcard(&id.2) {
                let ports = self.places[id.0].ports.iter();
                ports
                    .filter(|(out, _)| *out == id.1)
                    .map(|(_, name)| name.clone())
                    .collect()
            } else {
                BTreeSet::from([id.2.clone()])
            }
        };
        if !is_wildcard(&from.2) && !is_wildcard(&to.2) {
            return vec![(from, to)];
        }
        let (out, into) = (names(&from), names(&to));
        out.intersection(&into)
            .map(|name| ((from.0, from.1, name.clone()), (to.0, to.1, name.clone())))
            .collect()
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

fn is_wildcard(port: &str) -> bool {
    matches!(port, "*" | "^")
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

pub(super) fn not_derived(file: &str, base: Option<&Text>) -> Result<(), ImportError> {
    match base {
        None => Ok(()),
        Some(base) => Err(wrong(
            file,
            base,
            format!(
                "a variant of '{}': variants are not read, write it out in full",
                base.value
            ),
        )),
    }
}
