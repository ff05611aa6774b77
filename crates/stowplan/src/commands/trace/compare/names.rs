//! Names of callbacks that are the same in both traces.

use std::collections::HashMap;

use stowplan_model::units::show_ns;
use stowplan_trace::{CallbackId, Graph, Id as _, Overview, Trigger, lasting_name};

/// Names of the callbacks of a trace: node and trigger, where these do not tell them apart the process too, and
/// where that does not either a number in order of creation.
pub struct Names(Vec<String>);

impl Names {
    pub fn of(overview: &Overview) -> Self {
        let graph = &overview.graph;
        let plain: Vec<String> = graph
            .callbacks
            .ids()
            .map(|id| in_words(graph, id))
            .collect();
        let placed = tell_apart(plain, |id| {
            let process = &graph.processes[graph.callbacks[id].process];
            let name = process
                .name
                .as_deref()
                .map(|name| lasting_name(name, Some(process.key.vpid)));
            name.map(|name| format!(" in {name}"))
        });
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let numbered = placed.clone().into_iter().zip(placed).map(|(name, of)| {
            let number = numbers.entry(of).or_default();
            *number += 1;
            if *number > 1 {
                format!("{name} #{number}")
            } else {
                name
            }
        });
        Self(numbered.collect())
    }

    pub fn callback(&self, id: CallbackId) -> &str {
        &self.0[id.index()]
    }

    pub fn edge(&self, from: CallbackId, to: CallbackId) -> String {
        format!("{} → {}", self.callback(from), self.callback(to))
    }
}

/// Adds something to names that several have.
fn tell_apart(names: Vec<String>, add: impl Fn(CallbackId) -> Option<String>) -> Vec<String> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for name in &names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    let all = names.into_iter().enumerate();
    all.map(|(index, name)| match counts[&name] {
        1 => name,
        _ => name + &add(CallbackId::new(index)).unwrap_or_default(),
    })
    .collect()
}

fn in_words(graph: &Graph, callback: CallbackId) -> String {
    let (node, trigger) = graph.lasting_identity(callback);
    match trigger {
        Trigger::Timer(ns) => format!("{node} timer {}", show_ns(ns as f64)),
        Trigger::Subscription(topic) => format!("{node} subscription {topic}"),
        Trigger::Service(name) => format!("{node} service {name}"),
        Trigger::Client(name) => format!("{node} client of {name}"),
        Trigger::Unknown => format!("{node} callback"),
    }
}
