//! What a partition of a stack amounts to on a machine, before anything is started.

use std::borrow::Cow;
use std::collections::HashMap;

use stowplan_model::{
    DdsProfile, Endpoints, Launch, Launching, Name, Node, Partition, Stack, WorkSpeed,
};

use crate::apart;
use crate::duration::{Duration, Schedule};
use crate::edges::{Crossing, Edge, EdgeClass, Flow, edges, serialisation_per_s};
use crate::error::PlanError;
use crate::limits::{refusals, warnings};
use crate::rates::{Rates, rates};
use crate::split::{ProcessPart, split_with_seats};

/// What is known about the machine; `None` is not known, never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineFacts {
    /// Number of CPUs that the stack may use.
    pub cpus: u32,
    /// Time of an iteration of the work kernel by working set, from calibration.
    pub speed: Option<WorkSpeed>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Whether DDS can use multicast where the services run.
    pub multicast: bool,
}

/// What the user asks for beside stack and partition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// Share of the machine's CPUs to which callback work is scaled.
    pub utilisation: Option<f64>,
    /// Whether each service has a network namespace of its own.
    pub own_network: bool,
    /// What starts the processes of services.
    pub launching: Launching,
    /// Where the configuration of DDS is from.
    pub dds: DdsProfile,
    /// How often and how long it is measured; `None` plans one run without a window.
    pub schedule: Option<Schedule>,
}

/// One service of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ServicePlan {
    /// Its name.
    pub name: String,
    /// Its processes with their nodes.
    pub processes: Vec<ProcessPart>,
    /// CPUs that its callback work, after scaling, and its serialising keep busy; `None` without calibration.
    pub cpus: Option<f64>,
    /// Private memory in bytes that its nodes and its launcher keep, as the stack says.
    pub memory_bytes: u64,
}

impl ServicePlan {
    /// Names of its nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.processes
            .iter()
            .flat_map(|p| &p.nodes)
            .map(|n| n.as_str())
    }
}

/// The rate of a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicRate {
    /// The topic.
    pub topic: String,
    /// Messages a second that all its publishers offer; `None` where a real program publishes.
    pub messages_per_s: Option<f64>,
    /// Whether messages on it trigger each other in a circle: each is counted once.
    pub circular: bool,
}

/// How callback work is scaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Factor on the iterations of every callback.
    pub factor: f64,
    /// What every result must carry beside it.
    pub caveat: &'static str,
    /// What keeps its size.
    pub not_scaled: &'static [&'static str],
}

/// What a scaled experiment does not scale (docs/measuring.md §1).
pub const NOT_SCALED: &[&str] = &[
    "rates of timers and messages",
    "sizes of messages and the cost of serialising and sending them",
    "numbers of nodes, processes, participants and endpoints",
    "cost of executors, DDS and the kernel",
    "start-up cost: launch, files, constructors, discovery",
    "memory and working sets",
];

/// The words that stand beside every scaled result.
pub const SCALED_CAVEAT: &str = "scaled: not a prediction for the vehicle";

/// What a partition of a stack amounts to on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the stack.
    pub stack: String,
    /// Name of the partition.
    pub partition: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of processes, launchers not counted.
    pub processes: usize,
    /// Number of DDS participants: one per process, one per service's launcher, and those of real programs.
    pub participants: usize,
    /// Endpoints of the modelled nodes, with those that rclcpp gives them; launchers not counted.
    pub endpoints: Endpoints,
    /// Names of processes that the partition cuts, each into how many.
    pub cut_processes: Vec<(String, usize)>,
    /// The services.
    pub services: Vec<ServicePlan>,
    /// Every edge between modelled nodes, by topic and nodes.
    pub edges: Vec<Edge>,
    /// What flows, by class of edge; classes that do not occur are left out.
    pub edges_by_class: Vec<(EdgeClass, Flow)>,
    /// What flows between services, by topic and services.
    pub crossings: Vec<Crossing>,
    /// What flows between services, in all.
    pub crossing: Flow,
    /// Rates of all topics.
    pub topics: Vec<TopicRate>,
    /// Share of the machine's CPUs that callback work and serialising need as the stack says; above 1
    /// it cannot keep up. `None` without calibration.
    pub face_utilisation: Option<f64>,
    /// The part of it that serialising needs, which is not scaled.
    pub serialisation_utilisation: Option<f64>,
    /// The same after scaling.
    pub utilisation: Option<f64>,
    /// How work is scaled, where asked for.
    pub scaling: Option<Scaling>,
    /// Expected durations; `None` without calibration.
    pub duration: Option<Duration>,
    /// Why this cannot be run; empty when it can.
    pub refusals: Vec<String>,
    /// What makes results doubtful.
    pub warnings: Vec<String>,
    /// What the partition says about itself.
    pub notes: Vec<String>,
}

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
            not_scaled: NOT_SCALED,
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
    plan.warnings
        .extend(cut_dependencies(stack, &seats.service));
    Ok(plan)
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
