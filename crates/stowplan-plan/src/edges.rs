//! Edges: from a publishing callback to a subscription, with class and rate.

use std::collections::{BTreeSet, HashMap};

use stowplan_model::{Stack, Trigger};

use crate::rates::{Rates, topic_positions};
use crate::split::Seats;

/// How a message gets from publisher to subscriber (docs/measuring.md §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeClass {
    /// By pointer inside a process.
    IntraProcess,
    /// Through DDS inside a process.
    SameProcess,
    /// Through DDS over loopback.
    Loopback,
    /// Through DDS into another network namespace.
    OtherNamespace,
}

impl EdgeClass {
    /// All classes, from the cheapest.
    pub const ALL: [Self; 4] = [
        Self::IntraProcess,
        Self::SameProcess,
        Self::Loopback,
        Self::OtherNamespace,
    ];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IntraProcess => "intra_process",
            Self::SameProcess => "same_process",
            Self::Loopback => "loopback",
            Self::OtherNamespace => "other_namespace",
        }
    }
}

/// What flows over some edges. Rates are those offered; where real programs publish, less than the truth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Number of edges.
    pub edges: usize,
    /// Messages a second, counted once per subscription.
    pub messages_per_s: f64,
    /// Payload bytes a second, counted once per subscription.
    pub bytes_per_s: f64,
}

impl Flow {
    fn add(&mut self, per_s: f64, bytes: f64) {
        self.edges += 1;
        self.messages_per_s += per_s;
        self.bytes_per_s += per_s * bytes;
    }
}

/// Messages of one topic from one node to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The topic.
    pub topic: String,
    /// The node that publishes.
    pub from: String,
    /// The node that subscribes.
    pub to: String,
    /// How they travel.
    pub class: EdgeClass,
}

/// Edges of one topic between two services.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossing {
    /// The topic.
    pub topic: String,
    /// The service of the publisher.
    pub from: String,
    /// The service of the subscriber.
    pub to: String,
    /// What flows.
    pub flow: Flow,
}

/// All edges of a stack in a partition.
pub(crate) struct Edges {
    /// Every edge once, by topic and nodes.
    pub all: BTreeSet<Edge>,
    /// Flow by class; only classes that occur.
    pub by_class: Vec<(EdgeClass, Flow)>,
    /// Edges between services, those with most bytes first.
    pub crossings: Vec<Crossing>,
    /// The sum of the crossings.
    pub crossing: Flow,
}

/// A publishing callback or a subscription: its node, and the messages a second that it sends.
struct End {
    node: usize,
    per_s: f64,
}

/// Finds all edges; `services` are the names by position, `own_network` that each has its own
/// network namespace.
pub(crate) fn edges(
    stack: &Stack,
    seats: &Seats,
    rates: &Rates,
    services: &[&str],
    own_network: bool,
) -> Edges {
    let topics = topic_positions(stack);
    let mut publishers: Vec<Vec<End>> = stack.topics.iter().map(|_| Vec::new()).collect();
    let mut subscribers: Vec<Vec<usize>> = vec![Vec::new(); stack.topics.len()];
    for (position, node) in stack.nodes.iter().enumerate() {
        for (callback, rate) in node.callbacks.iter().zip(&rates.callbacks[position]) {
            for topic in callback
                .publishes
                .iter()
                .filter_map(|t| topics.get(t.as_str()))
            {
                publishers[*topic].push(End {
                    node: position,
                    per_s: rate.per_s,
                });
            }
            if let Trigger::Subscription { topic } = &callback.trigger
                && let Some(topic) = topics.get(topic.as_str())
            {
                subscribers[*topic].push(position);
            }
        }
    }
    let mut all = BTreeSet::new();
    let mut by_class = [Flow::default(); EdgeClass::ALL.len()];
    let mut between: HashMap<(usize, usize, usize), Flow> = HashMap::new();
    let mut crossing = Flow::default();
    for (index, topic) in stack.topics.iter().enumerate() {
        let bytes = topic.bytes.mean();
        for from in &publishers[index] {
            for to in &subscribers[index] {
                let (here, there) = (seats.service[from.node], seats.service[*to]);
                let class = if seats.part[from.node] == seats.part[*to] {
                    if topic.intra_process {
                        EdgeClass::IntraProcess
                    } else {
                        EdgeClass::SameProcess
                    }
                } else if own_network && here != there {
                    EdgeClass::OtherNamespace
                } else {
                    EdgeClass::Loopback
                };
                all.insert(Edge {
                    topic: topic.name.clone(),
                    from: stack.nodes[from.node].name.to_string(),
                    to: stack.nodes[*to].name.to_string(),
                    class,
                });
                by_class[class as usize].add(from.per_s, bytes);
                if here != there {
                    crossing.add(from.per_s, bytes);
                    between
                        .entry((index, here, there))
                        .or_default()
                        .add(from.per_s, bytes);
                }
            }
        }
    }
    Edges {
        all,
        by_class: EdgeClass::ALL
            .into_iter()
            .zip(by_class)
            .filter(|(_, f)| f.edges > 0)
            .collect(),
        crossings: crossings(stack, services, between),
        crossing,
    }
}

/// Kernel iterations a second that each service spends on serialising: once for each message that somebody
/// outside its process gets, and for each on a topic without hand-over by pointer.
pub(crate) fn serialisation_per_s(
    stack: &Stack,
    rates: &Rates,
    seats: &Seats,
    services: usize,
) -> Vec<f64> {
    let mut sending = vec![0.0; services];
    if stack.topics.iter().all(|t| t.serialisation.is_none()) {
        return sending;
    }
    let topics = topic_positions(stack);
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); stack.topics.len()];
    for (position, node) in stack.nodes.iter().enumerate() {
        for callback in &node.callbacks {
            if let Trigger::Subscription { topic } = &callback.trigger
                && let Some(topic) = topics.get(topic.as_str())
            {
                parts[*topic].push(seats.part[position]);
            }
        }
    }
    let real = |topic: &str| {
        let mut services = stack.services.iter();
        services.any(|s| s.subscribes.iter().any(|t| t == topic))
    };
    for (position, node) in stack.nodes.iter().enumerate() {
        for (callback, rate) in node.callbacks.iter().zip(&rates.callbacks[position]) {
            for index in callback
                .publishes
                .iter()
                .filter_map(|t| topics.get(t.as_str()))
            {
                let topic = &stack.topics[*index];
                let leaves = !topic.intra_process
                    || parts[*index].iter().any(|p| *p != seats.part[position])
                    || real(&topic.name);
                if let Some(cost) = topic.serialisation.filter(|_| leaves) {
                    let iterations = cost.iterations(topic.bytes.mean());
                    sending[seats.service[position]] += rate.per_s * iterations;
                }
            }
        }
    }
    sending
}

fn crossings(
    stack: &Stack,
    services: &[&str],
    between: HashMap<(usize, usize, usize), Flow>,
) -> Vec<Crossing> {
    let mut keyed: Vec<_> = between.into_iter().collect();
    keyed.sort_by(|(a, x), (b, y)| y.bytes_per_s.total_cmp(&x.bytes_per_s).then(a.cmp(b)));
    keyed
        .into_iter()
        .map(|((topic, from, to), flow)| Crossing {
            topic: stack.topics[topic].name.clone(),
            from: services[from].to_owned(),
            to: services[to].to_owned(),
            flow,
        })
        .collect()
}
