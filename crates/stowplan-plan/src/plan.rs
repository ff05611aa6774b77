//! What a partition of a stack amounts to on a machine, before anything is started.

use std::borrow::Cow;
use std::collections::HashMap;

use stowplan_model::{Endpoints, Launch, Launching, Name, Node, Partition, Stack, WorkSpeed};

use crate::apart;
use crate::edges::{edges, serialisation_per_s};
use crate::error::PlanError;
use crate::limits::{refusals, warnings};
use crate::planned::{
    Duration, MachineFacts, NOT_SCALED, Plan, PlanOptions, SCALED_CAVEAT, Scaling, ServicePlan,
    TopicRate,
};
use crate::rates::{Rates, rates};
use crate::split::split_with_seats;

/// The stack with what starting its processes costs.
fn launched(stack: &Stack, launching: Launching) -> Cow<'_, Stack> {
    match launching {
        Launching::Ros2 => Cow::Borrowed(stack),
        Launching::Native => Cow::Owned(Stack {
            launch: Launch {
                start_iterations: 0,
                entity_iterations: 0,
                read_bytes: 0,
                memory_bytes: 0,
            },
            ..stack.clone()
        }),
    }
}

/// DDS participants of the real programs of a stack.
fn real_participants(stack: &Stack) -> usize {
    stack.services.iter().map(|s| s.participants as usize).sum()
}

/// Works out what `partition` of `stack` amounts to.
///
/// # Errors
/// When the partition is not one of this stack.
pub fn plan(
    stack: &Stack,
    partition: &Partition,
    machine: &MachineFacts,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let (splits, seats) = split_with_seats(stack, partition)?;
    let stack = &launched(stack, options.launching);
    let launchers = match options.launching {
        Launching::Ros2 => splits.len(),
        Launching::Native => 0,
    };
    let rates = rates(stack);
    let names: Vec<&str> = splits.iter().map(|s| s.service.as_str()).collect();
    let edges = edges(stack, &seats, &rates, &names, options.own_network);
    let sending = serialisation_per_s(stack, &rates, &seats, splits.len());
    let needed = machine.speed.as_ref().map(|speed| Needed {
        work: work_cpus(stack, &rates, &seats.service, splits.len(), speed),
        sending: sending.iter().map(|i| i * speed.ns() / 1e9).collect(),
    });
    let cpus = f64::from(machine.cpus.max(1));
    let shares = needed.as_ref().map(|needed| needed.shares(cpus));
    // Serialising is not scaled: callback work gets what it leaves.
    let factor = match (options.utilisation, shares) {
        (Some(asked), Some((work, sent))) if work > 0.0 => Some((asked - sent).max(0.0) / work),
        _ => None,
    };
    let scale = factor.unwrap_or(1.0);
    let alone = options
        .own_network
        .then(|| apart::refusal(stack, &seats, &names));
    let memory = memory(stack, &seats.service, splits.len());
    let services: Vec<ServicePlan> = splits
        .into_iter()
        .enumerate()
        .map(|(i, split)| ServicePlan {
            name: split.service.to_string(),
            processes: split.processes,
            cpus: needed.as_ref().map(|n| n.work[i] * scale + n.sending[i]),
            memory_bytes: memory[i],
        })
        .collect();
    let processes: usize = services.iter().map(|s| s.processes.len()).sum();
    let mut plan = Plan {
        stack: stack.name.to_string(),
        partition: partition.name.clone(),
        nodes: stack.nodes.len(),
        processes,
        participants: processes + launchers + real_participants(stack),
        endpoints: Endpoints::of_stack(stack),
        cut_processes: cut(&services),
        edges: edges.all.into_iter().collect(),
        edges_by_class: edges.by_class,
        crossings: edges.crossings,
        crossing: edges.crossing,
        topics: topic_rates(stack, &rates),
        face_utilisation: shares.map(|(work, sent)| work + sent),
        serialisation_utilisation: shares.map(|(_, sent)| sent),
        utilisation: shares.map(|(work, sent)| work * scale + sent),
        scaling: factor.map(|factor| Scaling {
            factor,
            caveat: SCALED_CAVEAT,
            not_scaled: not_scaled(stack),
        }),
        duration: Duration::expected(stack, &services, machine, options.schedule.as_ref()),
        services,
        refusals: Vec::new(),
        warnings: Vec::new(),
        notes: partition.notes.clone(),
    };
    plan.refusals = refusals(stack, &plan, machine, options);
    plan.refusals.extend(alone.flatten());
    plan.warnings = warnings(stack, &plan, machine, options);
    plan.notes.extend(uncounted(stack));
    plan.warnings
        .extend(cut_dependencies(stack, &seats.service));
    Ok(plan)
}

/// What keeps its size in this stack.
fn not_scaled(stack: &Stack) -> Vec<&'static str> {
    let mut all = NOT_SCALED.to_vec();
    if images(stack).next().is_some() {
        all.push("drawing images and looking for tags in them");
    }
    all
}

/// Topics whose messages are images.
fn images(stack: &Stack) -> impl Iterator<Item = &str> {
    let topics = stack.topics.iter();
    let topics = topics.filter(|topic| topic.frames.is_some());
    topics.map(|topic| topic.name.as_str())
}

/// What needs CPU time and is not counted.
fn uncounted(stack: &Stack) -> impl Iterator<Item = String> {
    background(stack).into_iter().chain(unknown_work(stack))
}

/// What is known of the CPU time that images need.
fn unknown_work(stack: &Stack) -> Option<String> {
    let images: Vec<&str> = images(stack).collect();
    let topics = images.join(", ");
    (!images.is_empty()).then(|| {
        format!("drawing the images of {topics} and looking for tags in them is not part of the utilisation")
    })
}

/// What keeps CPUs busy without having to fit into them.
fn background(stack: &Stack) -> Option<String> {
    let of_nodes = stack.nodes.iter().filter_map(|node| node.background);
    let threads: u32 = of_nodes.map(|of| of.threads).sum();
    (threads > 0).then(|| {
        format!("background threads keep CPUs busy from the start of their process to the end of the window: {threads}; utilisation does not count them")
    })
}

/// The stack with the work of every callback multiplied by `factor`; nothing else changes.
#[must_use]
pub fn scale_work(stack: &Stack, factor: f64) -> Stack {
    let mut scaled = stack.clone();
    for callback in scaled.nodes.iter_mut().flat_map(|n| &mut n.callbacks) {
        callback.work.iterations = callback.work.iterations.scaled(factor);
    }
    scaled
}

/// CPUs that services need, each.
struct Needed {
    /// For callback work as the stack says.
    work: Vec<f64>,
    /// For serialising.
    sending: Vec<f64>,
}

impl Needed {
    /// Shares of so many CPUs that all work and all serialising need.
    fn shares(&self, cpus: f64) -> (f64, f64) {
        let share = |of: &[f64]| of.iter().sum::<f64>() / cpus;
        (share(&self.work), share(&self.sending))
    }
}

/// CPUs that the callback work of each service needs.
fn work_cpus(
    stack: &Stack,
    rates: &Rates,
    service: &[usize],
    services: usize,
    speed: &WorkSpeed,
) -> Vec<f64> {
    let mut cpus = vec![0.0; services];
    for (position, node) in stack.nodes.iter().enumerate() {
        for (callback, rate) in node.callbacks.iter().zip(&rates.callbacks[position]) {
            let work = &callback.work;
            let ns = work.iterations.mean() * speed.ns_of(work.working_set_bytes);
            cpus[service[position]] += rate.per_s * ns / 1e9;
        }
    }
    cpus
}

fn memory(stack: &Stack, service: &[usize], services: usize) -> Vec<u64> {
    let mut memory = vec![stack.launch.memory_bytes; services];
    for (node, service) in stack.nodes.iter().zip(service) {
        memory[*service] = memory[*service].saturating_add(node.start_up.memory_bytes);
    }
    memory
}

fn cut(services: &[ServicePlan]) -> Vec<(String, usize)> {
    let mut parts = std::collections::BTreeMap::new();
    for part in services.iter().flat_map(|s| &s.processes) {
        *parts.entry(part.process.name.to_string()).or_insert(0) += 1;
    }
    parts.into_iter().filter(|(_, n)| *n > 1).collect()
}

/// What `depends_on` asks for and no launcher of one service can keep: that a node of another one is loaded first.
fn cut_dependencies(stack: &Stack, service: &[usize]) -> Option<String> {
    let service_of: HashMap<&Name, usize> = stack
        .nodes
        .iter()
        .zip(service)
        .map(|(node, service)| (&node.name, *service))
        .collect();
    let apart = |node: &Node, other: &Name| {
        let other = service_of.get(other);
        other.is_some_and(|other| *other != service_of[&node.name])
    };
    let cut: Vec<String> = stack
        .nodes
        .iter()
        .flat_map(|node| node.depends_on.iter().map(move |other| (node, other)))
        .filter(|(node, other)| apart(node, other))
        .map(|(node, other)| format!("{} on {other}", node.name))
        .collect();
    (!cut.is_empty()).then(|| {
        format!(
            "nodes do not wait for nodes of other services that they depend on: {}",
            cut.join(", ")
        )
    })
}

fn topic_rates(stack: &Stack, rates: &Rates) -> Vec<TopicRate> {
    stack
        .topics
        .iter()
        .zip(&rates.topics)
        .map(|(topic, rate)| TopicRate {
            topic: topic.name.clone(),
            messages_per_s: (!rate.unknown).then_some(rate.per_s),
            circular: rate.circular,
        })
        .collect()
}
