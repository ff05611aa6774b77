//! Nodes and their callbacks: what starts each, what it publishes, how much it works.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stowplan_model::Profile;
use stowplan_trace::{Analysis, CallbackId, Graph, Id, NodeId, Owner, ProcessId, TopicId};

use super::endpoints;
use super::observe::{Calls, Observed, Stream, is_implicit, is_modelled, median_shares};
use crate::draft::{DraftCallback, DraftNode, DraftTrigger, Figure, LogNormal};
use crate::names::{self, free};

/// What never fires while anybody looks.
const NEVER_NS: u64 = 1000 * 3600 * 1_000_000_000;

/// A rate this near to another is the same.
pub(super) const SAME_RATE: f64 = 0.02;

/// Times that one call may publish on a topic and still be a regular publisher of it.
const MOST_PER_CALL: f64 = 4.0;

/// Fewer calls have no tenth percentile: one of them would lie below it.
const FEW: usize = 10;

/// A tenth percentile that is at least this share of the median stands for all calls.
const MUCH_OF_MEDIAN: f64 = 0.9;

/// A hundredth percentile that is at least this share of the tenth is a sharp edge: nothing took less, so that
/// all work is that, and what took longer was kept waiting,
const SHARP: f64 = 0.95;

/// unless more than half of the calls took so many times as long.
const KEPT_WAITING: f64 = 1.5;

/// A node of the stack.
pub(super) struct NodeEntry {
    pub id: NodeId,
    /// Name in the stack.
    pub name: String,
    pub draft: DraftNode,
    /// Of the draft's callbacks those that the trace has, by their position.
    pub callbacks: Vec<(usize, CallbackId)>,
}

/// Makes the entries of nodes.
pub(super) struct Nodes<'a> {
    pub observed: &'a Observed<'a>,
    pub ns_per_iteration: f64,
    pub profile: Profile,
    /// The own nodes of component containers.
    pub containers: &'a BTreeMap<ProcessId, NodeId>,
}

/// Publications that do not follow the calls of a callback.
#[derive(Default)]
struct Irregular {
    stream: Stream,
    from: BTreeSet<String>,
}

impl Nodes<'_> {
    fn analysis(&self) -> &Analysis {
        self.observed.analysis
    }

    /// The node of a callback; the first of its process where the trace does not link its timer.
    fn node_of(&self, callback: CallbackId) -> Option<NodeId> {
        let graph = &self.analysis().graph;
        graph.node_of(callback).or_else(|| {
            let process = graph.callbacks[callback].process;
            let mut nodes = graph.nodes.iter();
            nodes
                .find(|(_, node)| node.process == process && node.name.is_some())
                .map(|(id, _)| id)
        })
    }

    /// Callbacks by node, in the order of their registration.
    pub fn callbacks(&self) -> BTreeMap<NodeId, Vec<CallbackId>> {
        let mut by_node: BTreeMap<NodeId, Vec<CallbackId>> = BTreeMap::new();
        for id in self.analysis().graph.callbacks.ids() {
            if let (true, Some(node)) = (is_modelled(self.analysis(), id), self.node_of(id)) {
                by_node.entry(node).or_default().push(id);
            }
        }
        by_node
    }

    /// The entry of a node.
    pub fn entry(
        &self,
        id: NodeId,
        name: &str,
        process: &str,
        callbacks: &[CallbackId],
    ) -> NodeEntry {
        let graph = &self.analysis().graph;
        let options = endpoints::options(graph, id, self.profile);
        let mut taken = HashSet::new();
        let mut entry = NodeEntry {
            id,
            name: name.to_owned(),
            draft: DraftNode {
                process: process.to_owned(),
                is_own: self.containers.values().any(|own| *own == id),
                silent: endpoints::silent(graph, id, options),
                options,
                comment: graph.nodes[id].full_name(),
                ..DraftNode::new(name)
            },
            callbacks: Vec::new(),
        };
        let mut irregular: BTreeMap<TopicId, Irregular> = BTreeMap::new();
        let mut regular: BTreeSet<TopicId> = BTreeSet::new();
        for &callback in callbacks {
            if let Some(topic) = self.silent_topic(callback) {
                entry.draft.silent.subscriptions.push(topic);
                continue;
            }
            let Some(mut draft) = self.callback(callback, &mut taken) else {
                continue;
            };
            let calls = &self.observed.calls[callback.index()];
            for (&topic, stream) in &calls.published {
                let each = stream.count as f64 / calls.stream.count.max(1) as f64;
                let times = each.round();
                if (1.0..=MOST_PER_CALL).contains(&times) && (each / times - 1.0).abs() <= SAME_RATE
                {
                    let name = &graph.topics[topic];
                    draft.publishes.extend(vec![name.clone(); times as usize]);
                    regular.insert(topic);
                } else {
                    let other = irregular.entry(topic).or_default();
                    other.stream.merge(stream);
                    other.from.insert(draft.name.clone());
                }
            }
            entry
                .callbacks
                .push((entry.draft.callbacks.len(), callback));
            entry.draft.callbacks.push(draft);
        }
        self.without_callback(&mut entry, &mut taken);
        for (&(node, topic), stream) in &self.observed.loose {
            if node == id {
                irregular.entry(topic).or_default().stream.merge(stream);
            }
        }
        self.timers_use(&mut entry);
        self.sources(&mut entry, &mut taken, irregular, &mut regular);
        silent(graph, &mut entry, &regular);
        entry
    }

    /// Subscriptions whose callback the trace does not have, as those of rclpy.
    fn without_callback(&self, entry: &mut NodeEntry, taken: &mut HashSet<String>) {
        let graph = &self.analysis().graph;
        for (_, subscription) in graph.subscriptions.iter() {
            let topic = &graph.topics[subscription.topic];
            let here = subscription.node == entry.id && subscription.callback.is_none();
            if !(here && !is_implicit(topic) && names::is_topic(topic)) {
                continue;
            }
            if self.is_published(subscription.topic) {
                entry.draft.callbacks.push(DraftCallback {
                    name: free(taken, &on_topic(topic)),
                    trigger: DraftTrigger::Subscription(topic.clone()),
                    publishes: Vec::new(),
                    uses: Vec::new(),
                    work: None,
                    comment: "the trace has no callback of it".to_owned(),
                });
            } else {
                entry.draft.silent.subscriptions.push(topic.clone());
            }
        }
    }

    /// What a callback is, without its publications; `None` where a stack cannot have its topic.
    fn callback(&self, callback: CallbackId, taken: &mut HashSet<String>) -> Option<DraftCallback> {
        let graph = &self.analysis().graph;
        let calls = &self.observed.calls[callback.index()];
        let (trigger, wish, remark) = match graph.callbacks[callback].owner {
            Owner::Timer(timer) => {
                let nominal = u64::try_from(graph.timers[timer].period_ns).unwrap_or(0);
                let (period, remark) = self.timer(nominal, &calls.stream);
                (DraftTrigger::Timer(period), "timer".to_owned(), remark)
            }
            Owner::Subscription(id) => {
                let topic = &graph.topics[graph.subscriptions[id].topic];
                if !names::is_topic(topic) {
                    return None;
                }
                let trigger = DraftTrigger::Subscription(topic.clone());
                (trigger, on_topic(topic), String::new())
            }
            Owner::Service(_) | Owner::Client(_) | Owner::Unknown => return None,
        };
        let wish = self.recorded_name(callback).unwrap_or(wish);
        let comment = match self.heard(calls) {
            heard if remark.is_empty() => heard,
            heard => format!("{heard}; {remark}"),
        };
        Some(DraftCallback {
            name: free(taken, &wish),
            trigger,
            publishes: Vec::new(),
            uses: Vec::new(),
            work: self.work(callback),
            comment,
        })
    }

    /// The name of the callback where the trace is one of a stack: its symbol is NODE::CALLBACK.
    fn recorded_name(&self, callback: CallbackId) -> Option<String> {
        let graph = &self.analysis().graph;
        let node = graph.nodes[graph.node_of(callback)?].name.as_deref()?;
        let symbol = graph.callbacks[callback].symbol.as_deref()?;
        let name = symbol.strip_prefix(node)?.strip_prefix("::")?;
        stowplan_model::Name::new(name).ok().map(|n| n.to_string())
    }

    /// The period of a timer: the nominal one unless its calls had another rate.
    fn timer(&self, nominal_ns: u64, stream: &Stream) -> (u64, String) {
        let Some(measured) = stream.period_ns(self.observed.window) else {
            return (
                NEVER_NS,
                format!("its period is {}", shown(nominal_ns as f64)),
            );
        };
        if (measured / nominal_ns as f64 - 1.0).abs() <= SAME_RATE {
            return (nominal_ns, String::new());
        }
        (
            rounded(measured),
            format!("as called; its period is {}", shown(nominal_ns as f64)),
        )
    }

    fn heard(&self, calls: &Calls) -> String {
        match calls.stream.per_s(self.observed.window) {
            None if calls.stream.count == 0 => "never called".to_owned(),
            None => "called once".to_owned(),
            Some(per_s) => {
                let median = Calls::quantile(&calls.wall_ns, 0.5);
                let median = median.map_or_else(String::new, |ns| {
                    format!(", median {}", stowplan_model::units::show_ns(ns))
                });
                format!("{} calls, {per_s:.4}/s{median}", calls.stream.count)
            }
        }
    }

    /// Nanoseconds of work of a call: CPU time where the trace has it, else the tenth percentile of the
    /// wall durations, which leaves preemption out for the most part but not for certain.
    pub fn work_ns(&self, callback: CallbackId) -> Option<f64> {
        let calls = &self.observed.calls[callback.index()];
        if let Some(cpu) = self.cpu_ns(callback) {
            let sending = mean(&calls.wall_ns)? - mean(&calls.work_ns)?;
            return Some((cpu - sending).max(0.0));
        }
        Calls::quantile(
            &calls.work_ns,
            if calls.work_ns.len() < FEW { 0.0 } else { 0.1 },
        )
    }

    fn cpu_ns(&self, callback: CallbackId) -> Option<f64> {
        let cpu = self.analysis().marks.callback_cpu.get(&callback)?;
        (cpu.calls > 0).then(|| cpu.cpu_ns as f64 / cpu.calls as f64)
    }

    /// CPU times of a call at these shares of all calls.
    pub fn cpu_quantiles(&self, callback: CallbackId, shares: &[f64]) -> Option<Vec<f64>> {
        let cpu = self.analysis().marks.callback_cpu.get(&callback)?;
        cpu.quantiles(shares)
    }

    /// A 95 % interval of the median CPU time.
    pub fn cpu_median_range(&self, callback: CallbackId) -> Option<(f64, f64)> {
        let cpu = self.analysis().marks.callback_cpu.get(&callback)?;
        let shares = median_shares(usize::try_from(cpu.calls).ok()?)?;
        let range = cpu.quantiles(&shares)?;
        Some((range[0], range[1]))
    }

    /// The work of a callback. Where the tenth percentile stands for all calls, all have that; else it is
    /// spread so that tenth percentile and median are those of the trace. The upper half of the durations,
    /// where preemption would be, has no say.
    fn work(&self, callback: CallbackId) -> Option<Figure> {
        let sample = &self.observed.calls[callback.index()].work_ns;
        let iterations = |ns: f64| (ns / self.ns_per_iteration).round() as u64;
        let p10 = self.work_ns(callback)?;
        if self.cpu_ns(callback).is_some() {
            return Some(Figure::known(iterations(p10)));
        }
        let quantile = |q| Calls::quantile(sample, q);
        let (least, median) = (quantile(0.0)?, quantile(0.5)?);
        let (p90, greatest) = (quantile(0.9)?, quantile(1.0)?);
        let what = if sample.len() < FEW { "least" } else { "P10" };
        let of = format!("of {} wall durations: an upper bound", sample.len());
        let (low, high) = (iterations(least), iterations(p90));
        let scaled = |ns: f64| ns / self.ns_per_iteration;
        let spread = LogNormal::through(scaled(p10), scaled(median), scaled(greatest))
            .filter(|_| !stands_for_all(quantile(0.01).unwrap_or(0.0), p10, median));
        Some(match spread {
            Some(spread) => Figure::spread(spread, low, high, format!("{what} and median {of}")),
            None => Figure::assumed(iterations(p10), low, high, format!("{what} {of}")),
        })
    }

    /// A timer that publishes uses what the node stores: nothing in a trace says which of it.
    fn timers_use(&self, entry: &mut NodeEntry) {
        let stored: Vec<String> = entry
            .callbacks
            .iter()
            .filter(|(_, id)| self.observed.calls[id.index()].stream.count > 0)
            .map(|(at, _)| &entry.draft.callbacks[*at])
            .filter(|callback| matches!(callback.trigger, DraftTrigger::Subscription(_)))
            .filter(|callback| callback.publishes.is_empty())
            .map(|callback| callback.name.clone())
            .collect();
        for callback in &mut entry.draft.callbacks {
            if matches!(callback.trigger, DraftTrigger::Timer(_)) && !callback.publishes.is_empty()
            {
                callback.uses.clone_from(&stored);
            }
        }
    }

    /// Timers for publications that do not follow the calls of a callback.
    fn sources(
        &self,
        entry: &mut NodeEntry,
        taken: &mut HashSet<String>,
        irregular: BTreeMap<TopicId, Irregular>,
        regular: &mut BTreeSet<TopicId>,
    ) {
        let graph = &self.analysis().graph;
        for (topic, Irregular { stream, from }) in irregular {
            let Some(period) = stream.period_ns(self.observed.window) else {
                continue;
            };
            let name = &graph.topics[topic];
            if !names::is_topic(name) {
                continue;
            }
            let comment = if from.is_empty() {
                format!("{} messages, published outside of callbacks", stream.count)
            } else {
                format!("{} messages: not with each call", stream.count)
            };
            regular.insert(topic);
            entry.draft.callbacks.push(DraftCallback {
                name: free(taken, &format!("publish_{}", last_part(name))),
                trigger: DraftTrigger::Timer(rounded(period)),
                publishes: vec![name.clone()],
                uses: from.into_iter().collect(),
                work: None,
                comment,
            });
        }
    }

    /// The topic of a subscription on which nothing came and that nobody in the trace publishes on.
    fn silent_topic(&self, callback: CallbackId) -> Option<String> {
        let graph = &self.analysis().graph;
        let topic = graph.topic_of(callback)?;
        let calls = self.observed.calls[callback.index()].stream;
        let came = calls.period_ns(self.observed.window).is_some();
        (!came && !self.is_published(topic)).then(|| graph.topics[topic].clone())
    }

    fn is_published(&self, topic: TopicId) -> bool {
        let mut publishers = self.analysis().graph.publishers.iter();
        publishers.any(|(_, publisher)| publisher.topic == Some(topic))
    }
}

/// Publishers that do not publish exist all the same. A node's callbacks share one for each topic.
fn silent(graph: &Graph, entry: &mut NodeEntry, regular: &BTreeSet<TopicId>) {
    for (topic, count) in endpoints::publishers(graph, entry.id) {
        let silent = count - usize::from(regular.contains(&topic));
        let names = std::iter::repeat_n(graph.topics[topic].clone(), silent);
        entry.draft.silent.publishers.extend(names);
    }
}

/// Whether all calls had the work of the tenth percentile.
fn stands_for_all(p01: f64, p10: f64, median: f64) -> bool {
    p10 >= MUCH_OF_MEDIAN * median || (p01 >= SHARP * p10 && median <= KEPT_WAITING * p10)
}

fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

fn last_part(topic: &str) -> &str {
    names::parts(topic).last().copied().unwrap_or("topic")
}

fn on_topic(topic: &str) -> String {
    format!("on_{}", last_part(topic))
}

fn shown(ns: f64) -> String {
    stowplan_model::units::show_ns(ns)
}

/// A measured period in whole nanoseconds, not below what a stack can have.
pub(super) fn rounded(period_ns: f64) -> u64 {
    const SHORTEST_NS: u64 = 10_000;
    // Four digits more than a rate is known to.
    let unit = 10_f64.powi((period_ns.log10().floor() as i32 - 5).max(0));
    (((period_ns / unit).round() * unit) as u64).max(SHORTEST_NS)
}
