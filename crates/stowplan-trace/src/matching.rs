//! Which callback of one trace is which of another: two starts of one system.
//!
//! A callback is matched by what it is (its node's name without what belongs to one start only, see [`lasting_name`], and
//! what starts it) and where (its process, by name). Where several of a trace are the same by that, they are told apart
//! by the process's other nodes, by the endpoints of their node and of themselves, and by their function.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Graph, Trigger};
use crate::ids::{CallbackId, NodeId, ProcessId};
use crate::lasting::{is_shortened, lasting_name};
use crate::overview::Overview;

/// What tells which of several callbacks is which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// Node and trigger: there is one such callback in either trace.
    Name,
    /// The process, by its name or its other nodes.
    Process,
    /// Topics, services and periods of the node, or what the callback publishes.
    Endpoints,
    /// The callback's function.
    Symbol,
    /// Nothing but that all others of the name were told apart.
    Remainder,
    /// Nothing but the order of creation.
    Order,
}

impl MatchedBy {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Process => "process",
            Self::Endpoints => "endpoints",
            Self::Symbol => "symbol",
            Self::Remainder => "remainder",
            Self::Order => "order",
        }
    }
}

/// Callbacks of a trace that are the same by all that is known of them, or were left over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// In the first trace.
    pub a: Vec<CallbackId>,
    /// In the second trace.
    pub b: Vec<CallbackId>,
}

/// Callbacks of two traces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matching {
    /// Callbacks of both.
    pub both: Vec<(CallbackId, CallbackId, MatchedBy)>,
    /// Callbacks that only the first trace has.
    pub only_in_a: Vec<CallbackId>,
    /// Callbacks that only the second trace has.
    pub only_in_b: Vec<CallbackId>,
    /// Callbacks of which nothing tells which is which.
    pub undecided: Vec<Undecided>,
}

impl Matching {
    /// Matches the callbacks of two traces.
    #[must_use]
    pub fn between(a: &Overview, b: &Overview) -> Self {
        let mut matching = Self::default();
        let mut groups: BTreeMap<(String, Trigger), Group> = BTreeMap::new();
        for traits in all_traits(a) {
            groups
                .entry(traits.what.clone())
                .or_default()
                .a
                .push(traits);
        }
        for traits in all_traits(b) {
            groups
                .entry(traits.what.clone())
                .or_default()
                .b
                .push(traits);
        }
        for group in groups.into_values() {
            matching.group(group);
        }
        matching.both.sort_unstable();
        matching
    }

    /// Callbacks of one name and trigger.
    fn group(&mut self, group: Group) {
        let mut all = group.a.iter().chain(&group.b);
        let in_one_place = all.clone().any(|of| of.only_in_its_process());
        let places_known = all.all(|of| of.process.is_some());
        if group.a.len() == 1 && group.b.len() == 1 && !(in_one_place && places_known) {
            return self.pair(&group, MatchedBy::Name);
        }
        if !places_known {
            return self.tell_apart(group, &TELLING, MatchedBy::Name);
        }
        // What runs in another process is another one.
        for group in group
            .split(&|of| of.process.clone().unwrap_or_default())
            .into_values()
        {
            let telling = if group.names_last() {
                &TELLING[..]
            } else {
                &TELLING[1..]
            };
            self.tell_apart(group, telling, MatchedBy::Process);
        }
    }

    /// Tells callbacks apart by what is left of `telling`; `by` told them from others of their name.
    fn tell_apart(&mut self, group: Group, telling: &[Telling], by: MatchedBy) {
        if group.a.is_empty() || group.b.is_empty() {
            self.only_in_a.extend(group.a.iter().map(|of| of.callback));
            self.only_in_b.extend(group.b.iter().map(|of| of.callback));
            return;
        }
        if group.a.len() == 1 && group.b.len() == 1 {
            return self.pair(&group, by);
        }
        let Some((&(next_by, key), telling)) = telling.split_first() else {
            return self.by_order(group, by);
        };
        let parts: Vec<Group> = group.split(&key).into_values().collect();
        let (both, one): (Vec<Group>, Vec<Group>) = parts
            .into_iter()
            .partition(|part| !part.a.is_empty() && !part.b.is_empty());
        let told = both.len() + one.len() > 1;
        if both.is_empty() {
            // It is another one in every case: it says nothing here.
            return self.tell_apart(Group::join(one), telling, by);
        }
        for part in both {
            self.tell_apart(part, telling, if told { next_by } else { by });
        }
        let rest = Group::join(one);
        if !rest.a.is_empty() || !rest.b.is_empty() {
            self.tell_apart(rest, telling, MatchedBy::Remainder);
        }
    }

    /// Nothing is left that tells them apart.
    fn by_order(&mut self, group: Group, by: MatchedBy) {
        let unknown = |of: &Traits| of.what.1 == Trigger::Unknown;
        let sure = by != MatchedBy::Remainder && !group.a.iter().any(unknown);
        if sure && group.a.len() == group.b.len() {
            let pairs = group.a.iter().zip(&group.b);
            let pairs = pairs.map(|(a, b)| (a.callback, b.callback, MatchedBy::Order));
            self.both.extend(pairs);
        } else {
            self.undecided.push(Undecided {
                a: group.a.iter().map(|of| of.callback).collect(),
                b: group.b.iter().map(|of| of.callback).collect(),
            });
        }
    }

    fn pair(&mut self, group: &Group, by: MatchedBy) {
        let pairs = group.a.iter().zip(&group.b);
        self.both
            .extend(pairs.map(|(a, b)| (a.callback, b.callback, by)));
    }
}

/// Something that tells callbacks of one name apart.
type Telling = (MatchedBy, fn(&Traits) -> String);

/// From what says most to what says least.
const TELLING: [Telling; 5] = [
    (MatchedBy::Name, |of| of.full_name.clone()),
    (MatchedBy::Process, |of| of.company.clone()),
    (MatchedBy::Endpoints, |of| of.endpoints.clone()),
    (MatchedBy::Endpoints, |of| of.publishes.clone()),
    (MatchedBy::Symbol, |of| of.symbol.clone()),
];

/// What is known of a callback that is the same at another start.
struct Traits {
    callback: CallbackId,
    /// Name of its node and what starts it.
    what: (String, Trigger),
    /// Its node's name as the trace has it.
    full_name: String,
    /// Name of its process.
    process: Option<String>,
    /// Nodes of its process.
    company: String,
    /// Endpoints of its node.
    endpoints: String,
    /// Topics that it publishes on.
    publishes: String,
    symbol: String,
}

impl Traits {
    /// Whether the name says what it is and not which: the process has to say that.
    fn only_in_its_process(&self) -> bool {
        is_shortened(&self.what.0) || self.what.1 == Trigger::Unknown
    }
}

/// Callbacks of both traces that may be each other, in order of creation.
#[derive(Default)]
struct Group {
    a: Vec<Traits>,
    b: Vec<Traits>,
}

impl Group {
    fn split(self, key: &dyn Fn(&Traits) -> String) -> BTreeMap<String, Self> {
        let mut parts: BTreeMap<String, Self> = BTreeMap::new();
        for of in self.a {
            parts.entry(key(&of)).or_default().a.push(of);
        }
        for of in self.b {
            parts.entry(key(&of)).or_default().b.push(of);
        }
        parts
    }

    /// Whether full names come again at another start: those of one trace are all in the other.
    fn names_last(&self) -> bool {
        let names = |of: &[Traits]| {
            of.iter()
                .map(|of| of.full_name.clone())
                .collect::<BTreeSet<_>>()
        };
        let (a, b) = (names(&self.a), names(&self.b));
        a.is_subset(&b) || b.is_subset(&a)
    }

    fn join(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.a.extend(part.a);
            all.b.extend(part.b);
        }
        all.a.sort_by_key(|of| of.callback);
        all.b.sort_by_key(|of| of.callback);
        all
    }
}

fn all_traits(overview: &Overview) -> Vec<Traits> {
    let graph = &overview.graph;
    let endpoints = endpoints(graph);
    let company = company(graph);
    let mut publishes: BTreeMap<CallbackId, BTreeSet<String>> = BTreeMap::new();
    for &(callback, topic) in &overview.counted.publishes {
        let topic = lasting_name(&graph.topics[topic], None);
        publishes.entry(callback).or_default().insert(topic);
    }
    let joined = |set: Option<&BTreeSet<String>>| set.map(joined).unwrap_or_default();
    let traits = |id: CallbackId| {
        let callback = &graph.callbacks[id];
        let process = &graph.processes[callback.process];
        let vpid = Some(process.key.vpid);
        let lasting = |name: &String| lasting_name(name, vpid);
        let symbol = callback.symbol.as_ref().map(lasting).unwrap_or_default();
        let mut what = graph.lasting_identity(id);
        if what.1 == Trigger::Unknown {
            // Of these nothing else says what they are.
            what.0 = format!("{} {symbol}", what.0);
        }
        Traits {
            callback: id,
            what,
            full_name: graph
                .node_of(id)
                .map_or_else(String::new, |id| graph.nodes[id].full_name()),
            process: process.name.as_ref().map(lasting),
            company: joined(company.get(&callback.process)),
            endpoints: joined(graph.node_of(id).and_then(|node| endpoints.get(&node))),
            publishes: joined(publishes.get(&id)),
            symbol,
        }
    };
    graph.callbacks.ids().map(traits).collect()
}

fn joined(set: &BTreeSet<String>) -> String {
    let all: Vec<&str> = set.iter().map(String::as_str).collect();
    all.join("\n")
}

/// Names of the nodes of each process.
fn company(graph: &Graph) -> BTreeMap<ProcessId, BTreeSet<String>> {
    let mut company: BTreeMap<ProcessId, BTreeSet<String>> = BTreeMap::new();
    for id in graph.nodes.ids() {
        let names = company.entry(graph.nodes[id].process).or_default();
        names.insert(graph.lasting_node(id));
    }
    company
}

/// Endpoints and timers of each node.
fn endpoints(graph: &Graph) -> BTreeMap<NodeId, BTreeSet<String>> {
    let mut all: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
    let mut add = |node: Option<NodeId>, kind: &str, name: String| {
        if let Some(node) = node {
            all.entry(node)
                .or_default()
                .insert(format!("{kind} {name}"));
        }
    };
    for (_, publisher) in graph.publishers.iter() {
        if let Some(topic) = publisher.topic {
            let topic = lasting_name(&graph.topics[topic], None);
            add(publisher.node, "publishes", topic);
        }
    }
    for (_, subscription) in graph.subscriptions.iter() {
        let topic = lasting_name(&graph.topics[subscription.topic], None);
        add(Some(subscription.node), "subscribes", topic);
    }
    for (_, service) in graph.services.iter() {
        let vpid = graph.processes[graph.nodes[service.node].process].key.vpid;
        let name = lasting_name(&service.name, Some(vpid));
        add(Some(service.node), "serves", name);
    }
    for client in &graph.clients {
        add(Some(client.node), "calls", lasting_name(&client.name, None));
    }
    for (_, timer) in graph.timers.iter() {
        add(timer.node, "every", timer.period_ns.to_string());
    }
    all
}

impl Graph {
    /// A node's full name without what belongs to one start only.
    #[must_use]
    pub fn lasting_node(&self, node: NodeId) -> String {
        let node = &self.nodes[node];
        let vpid = self.processes[node.process].key.vpid;
        lasting_name(&node.full_name(), Some(vpid))
    }

    /// A callback's node and trigger in names that last from start to start. Several callbacks may share them.
    #[must_use]
    pub fn lasting_identity(&self, callback: CallbackId) -> (String, Trigger) {
        let process = self.callbacks[callback].process;
        let vpid = Some(self.processes[process].key.vpid);
        let node = self.node_of(callback);
        let node = node.map_or_else(|| "(unknown node)".to_owned(), |id| self.lasting_node(id));
        let trigger = match self.trigger_of(callback) {
            Trigger::Subscription(topic) => Trigger::Subscription(lasting_name(&topic, vpid)),
            Trigger::Service(name) => Trigger::Service(lasting_name(&name, vpid)),
            other => other,
        };
        (node, trigger)
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
