//! Callbacks of a node from its `processes`: triggers and outcomes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::files::{Node, Port, Process, Trigger};
use super::yaml::Text;
use crate::draft::{DraftCallback, DraftTrigger, Figure};
use crate::error::ImportError;
use crate::names::free;

/// Topics of a node's ports.
pub(super) struct Wired {
    /// For each subscriber, the topics that feed it.
    pub subscribers: BTreeMap<String, Vec<String>>,
    /// For each publisher, its topic.
    pub publishers: BTreeMap<String, String>,
}

/// What starts what in a node.
#[derive(Default)]
struct Starts {
    /// Inputs that start something, with the outputs that it leads to.
    inputs: BTreeMap<String, BTreeSet<String>>,
    /// Periods in nanoseconds, with the outputs.
    timers: Vec<(String, u64, BTreeSet<String>)>,
}

/// The callbacks of a node: one for each topic of a subscriber, one for each period.
pub(super) fn callbacks(node: &Node, wired: &Wired) -> Result<Vec<DraftCallback>, ImportError> {
    let starts = starts(node)?;
    let topics = |outputs: &BTreeSet<String>| -> Vec<String> {
        let mut topics: Vec<String> = outputs
            .iter()
            .filter_map(|port| wired.publishers.get(port).cloned())
            .collect();
        topics.dedup();
        topics
    };
    let mut taken = HashSet::new();
    let mut callbacks = Vec::new();
    let mut stored = Vec::new();
    for (port, sources) in &wired.subscribers {
        let outputs = starts.inputs.get(port);
        for topic in sources {
            let name = free(&mut taken, &format!("on_{port}"));
            if outputs.is_none() {
                stored.push(name.clone());
            }
            let publishes = outputs.map(&topics).unwrap_or_default();
            let trigger = DraftTrigger::Subscription(topic.clone());
            callbacks.push(callback(name, trigger, publishes, outputs.is_some()));
        }
    }
    for (name, period, outputs) in &starts.timers {
        let name = free(&mut taken, name);
        let trigger = DraftTrigger::Timer(*period);
        let mut timer = callback(name, trigger, topics(outputs), true);
        timer.uses.clone_from(&stored);
        callbacks.push(timer);
    }
    Ok(callbacks)
}

/// Topics of publishers that no process of the node uses.
pub(super) fn silent(wired: &Wired, callbacks: &[DraftCallback]) -> Vec<String> {
    let published: BTreeSet<&String> = callbacks.iter().flat_map(|c| &c.publishes).collect();
    let topics = wired.publishers.values();
    topics
        .filter(|topic| !published.contains(topic))
        .cloned()
        .collect()
}

fn callback(
    name: String,
    trigger: DraftTrigger,
    publishes: Vec<String>,
    works: bool,
) -> DraftCallback {
    let work = works.then(|| {
        Figure::assumed(
            1_000_000,
            10_000,
            50_000_000,
            "a design has no execution times",
        )
    });
    DraftCallback {
        name,
        trigger,
        publishes,
        uses: Vec::new(),
        work,
        comment: String::new(),
    }
}

fn starts(node: &Node) -> Result<Starts, ImportError> {
    let known = |ports: &[Port], port: &Text, what: &str| {
        if ports.iter().any(|p| p.name.value == port.value) {
            return Ok(());
        }
        let message = format!("the node has no {what} '{}'", port.value);
        Err(port.place.says(message))
    };
    let mut starts = Starts::default();
    for process in &node.processes {
        let mut outputs = BTreeMap::new();
        reached(node, process, &mut BTreeSet::new(), &mut outputs)?;
        for output in outputs.values() {
            known(&node.publishers, output, "publisher")?;
        }
        let outputs: BTreeSet<String> = outputs.into_keys().map(str::to_owned).collect();
        let mut triggers = Vec::new();
        for trigger in &process.trigger_conditions {
            starting(trigger, &mut triggers);
        }
        for trigger in triggers {
            if let Some(input) = &trigger.on_input {
                known(&node.subscribers, input, "subscriber")?;
                let entry = starts.inputs.entry(input.value.clone()).or_default();
                entry.extend(outputs.iter().cloned());
            }
            if let Some(hz) = trigger.periodic {
                let period = 1e9 / hz;
                // From 100 kHz, which no timer of ROS 2 reaches, to a day.
                if !(1e4..=86_400e9).contains(&period) {
                    let message = format!("a timer cannot have {hz} Hz");
                    return Err(process.name.place.says(message));
                }
                let name = process.name.value.clone();
                starts
                    .timers
                    .push((name, period.round() as u64, outputs.clone()));
            }
        }
    }
    Ok(starts)
}

/// The triggers that start a process by themselves: every one of `or`, of `and` the first, as the others
/// only have to be there.
fn starting<'a>(trigger: &'a Trigger, found: &mut Vec<&'a Trigger>) {
    if trigger.on_input.is_some() || trigger.periodic.is_some() {
        found.push(trigger);
    }
    for inner in trigger.or.iter().chain(trigger.and.first()) {
        starting(inner, found);
    }
}

/// The outputs of a process and of those that it triggers.
fn reached<'a>(
    node: &'a Node,
    process: &'a Process,
    seen: &mut BTreeSet<&'a str>,
    outputs: &mut BTreeMap<&'a str, &'a Text>,
) -> Result<(), ImportError> {
    if !seen.insert(&process.name.value) {
        return Ok(());
    }
    for outcome in &process.outcomes {
        outputs.extend(outcome.to_output.as_ref().map(|o| (o.value.as_str(), o)));
        let Some(next) = &outcome.to_trigger else {
            continue;
        };
        let Some(next) = node.processes.iter().find(|p| p.name.value == next.value) else {
            let message = format!("the node has no process '{}'", next.value);
            return Err(next.place.says(message));
        };
        reached(node, next, seen, outputs)?;
    }
    // What says itself that this process triggers it.
    for other in &node.processes {
        if other
            .trigger_conditions
            .iter()
            .any(|t| waits_for(t, &process.name.value))
        {
            reached(node, other, seen, outputs)?;
        }
    }
    Ok(())
}

fn waits_for(trigger: &Trigger, process: &str) -> bool {
    trigger
        .on_trigger
        .as_ref()
        .is_some_and(|t| t.value == process)
        || trigger
            .or
            .iter()
            .chain(&trigger.and)
            .any(|t| waits_for(t, process))
}
