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
mod tests {
    use super::*;
    use crate::event::ProcessKey;
    use crate::ids::Id as _;
    use crate::scripted::{At, Script};

    const SECOND: i64 = 1_000_000_000;

    fn process(script: &mut Script, vpid: i64, name: &str) -> At {
        let at = script.process_of(&ProcessKey {
            host: "host".into(),
            trace: "trace".into(),
            pid_namespace: None,
            vpid,
        });
        script
            .builder
            .describe_process(at.process, Some(name), None);
        at
    }

    /// Pairs by the names of their processes, and what matched them.
    fn matched(a: Script, b: Script) -> (Vec<(i64, i64, MatchedBy)>, Matching) {
        let (a, b) = (a.overview(), b.overview());
        let matching = Matching::between(&a, &b);
        let vpid = |of: &Overview, id| of.graph.processes[of.graph.callbacks[id].process].key.vpid;
        let pairs = matching.both.iter();
        let pairs = pairs.map(|&(x, y, by)| (vpid(&a, x), vpid(&b, y), by));
        (pairs.collect(), matching)
    }

    /// A listener of tf2 in each of these processes: number, name and address.
    fn listeners(of: &[(i64, &str, &'static str)]) -> Script {
        let mut script = Script::new();
        for &(vpid, name, node) in of {
            let at = process(&mut script, vpid, name);
            let node = script.node(at, node);
            script.subscription(node, "/tf", "f");
        }
        script
    }

    #[test]
    fn listeners_are_matched_by_their_process() {
        let a = listeners(&[
            (10, "planner", "transform_listener_impl_55d0c3a1b2f0"),
            (11, "rviz2", "transform_listener_impl_5581e00abc40"),
        ]);
        // The other way round, and one more.
        let b = listeners(&[
            (20, "rviz2", "transform_listener_impl_55aaaaaaaaa0"),
            (21, "planner", "transform_listener_impl_5581e00abc40"),
            (22, "new", "transform_listener_impl_5581e00abc41"),
        ]);
        let (pairs, matching) = matched(a, b);
        let by = MatchedBy::Process;
        assert_eq!(pairs, [(10, 21, by), (11, 20, by)]);
        assert_eq!((matching.only_in_a.len(), matching.only_in_b.len()), (0, 1));
    }

    #[test]
    fn a_listener_of_another_process_is_another_one() {
        let a = listeners(&[(10, "planner", "transform_listener_impl_55d0c3a1b2f0")]);
        let b = listeners(&[(20, "rviz2", "transform_listener_impl_55aaaaaaaaa0")]);
        let (pairs, matching) = matched(a, b);
        assert_eq!(pairs, []);
        assert_eq!((matching.only_in_a.len(), matching.only_in_b.len()), (1, 1));
        // A node with a name of its own is the same wherever it runs.
        let a = listeners(&[(10, "planner", "talker")]);
        let b = listeners(&[(20, "component_conta", "talker")]);
        assert_eq!(matched(a, b).0, [(10, 20, MatchedBy::Name)]);
    }

    /// Two containers of one name that are told apart by their nodes, though one has a node more in the second trace.
    #[test]
    fn containers_of_one_name_are_told_apart_by_their_nodes() {
        let containers = |of: &[(i64, &[&'static str])]| {
            let mut script = Script::new();
            for (vpid, nodes) in of {
                let at = process(&mut script, *vpid, "component_conta");
                for name in *nodes {
                    script.node(at, name);
                }
                let node = script.node(at, "transform_listener_impl_55d0c3a1b2f0");
                script.subscription(node, "/tf", "f");
            }
            script
        };
        let a = containers(&[(1, &["lidar"]), (2, &["camera"])]);
        let b = containers(&[(3, &["camera"]), (4, &["lidar", "more"])]);
        let (pairs, _) = matched(a, b);
        assert_eq!(
            pairs,
            [(1, 4, MatchedBy::Remainder), (2, 3, MatchedBy::Process)]
        );
    }

    /// Two nodes of one name in one process, made in another order: their topics tell which is which.
    #[test]
    fn equal_names_are_told_apart_by_their_endpoints() {
        let nodes = |topics: [&'static str; 2], periods: [i64; 2]| {
            let mut script = Script::new();
            let at = process(&mut script, 1, "filters");
            for (topic, period) in topics.into_iter().zip(periods) {
                let node = script.node(at, "filter");
                script.publisher(node, topic);
                script.timer(node, period, "tick");
                script.subscription(node, "/in", "on_in");
            }
            script
        };
        let a = nodes(["/left", "/right"], [SECOND, SECOND]);
        let b = nodes(["/right", "/left"], [SECOND, SECOND]);
        let (_, matching) = matched(a, b);
        let ids: Vec<[usize; 2]> = matching
            .both
            .iter()
            .map(|(a, b, by)| {
                assert_eq!(*by, MatchedBy::Endpoints);
                [a.index(), b.index()]
            })
            .collect();
        assert_eq!(ids, [[0, 2], [1, 3], [2, 0], [3, 1]]);
    }

    #[test]
    fn functions_tell_timers_of_one_node_apart() {
        let timers = |symbols: &[&'static str]| {
            let mut script = Script::new();
            let at = process(&mut script, 1, "node");
            let node = script.node(at, "node");
            for symbol in symbols {
                script.timer(node, SECOND, symbol);
            }
            script
        };
        let (_, matching) = matched(timers(&["f", "g"]), timers(&["g", "f"]));
        let by: Vec<_> = matching
            .both
            .iter()
            .map(|m| (m.0.index(), m.1.index(), m.2))
            .collect();
        assert_eq!(by, [(0, 1, MatchedBy::Symbol), (1, 0, MatchedBy::Symbol)]);
        // Lambdas share their symbol: nothing but their order is left, and that is said.
        let (_, matching) = matched(timers(&["f", "f"]), timers(&["f", "f"]));
        assert!(matching.both.iter().all(|m| m.2 == MatchedBy::Order));
        assert_eq!(matching.both.len(), 2);
        // Another number of them: which is which cannot be said at all.
        let (_, matching) = matched(timers(&["f", "f"]), timers(&["f", "f", "f"]));
        assert!(matching.both.is_empty());
        let undecided = &matching.undecided[0];
        assert_eq!((undecided.a.len(), undecided.b.len()), (2, 3));
    }

    /// Numbers that look like those of one start and are not: they come again.
    #[test]
    fn names_that_come_again_are_kept() {
        let cameras = |names: [&'static str; 2]| {
            let mut script = Script::new();
            let at = process(&mut script, 1, "cameras");
            for name in names {
                let node = script.node(at, name);
                script.subscription(node, "/trigger", "f");
            }
            script
        };
        let (first, second) = ("camera_1a2b3c4d", "camera_9f8e7d6c");
        let (_, matching) = matched(cameras([first, second]), cameras([second, first]));
        let by: Vec<_> = matching
            .both
            .iter()
            .map(|m| (m.0.index(), m.1.index(), m.2))
            .collect();
        assert_eq!(by, [(0, 1, MatchedBy::Name), (1, 0, MatchedBy::Name)]);
        let (_, matching) = matched(
            cameras([first, second]),
            cameras([second, "camera_0a0b0c0d"]),
        );
        assert!(matching.both.iter().all(|m| m.2 == MatchedBy::Order));
    }

    #[test]
    fn process_names_and_symbols_lose_what_belongs_to_one_start_too() {
        let start = |vpid, process_name, name, symbol| {
            let mut script = Script::new();
            let at = process(&mut script, vpid, process_name);
            let node = script.node(at, name);
            script.subscription(node, "/tf", symbol);
            script
        };
        let a = start(300, "launch_ros_300", "launch_ros_300", "launch_ros_300::f");
        let b = start(301, "launch_ros_301", "launch_ros_301", "launch_ros_301::f");
        assert_eq!(matched(a, b).0, [(300, 301, MatchedBy::Process)]);
    }
}
