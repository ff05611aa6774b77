//! From the file's types to the model.

mod background;
pub(crate) mod experiment;
mod kinds;
mod nodes;
pub(crate) mod partition;
pub(crate) mod scenario;
mod services;

use std::collections::HashMap;

use stowplan_model::{
    CallbackRef, Chain, DdsContent, DdsTopic, Executor, ExecutorCost, Frames, Launch, Node,
    Process, Profile, Serialisation, Stack, Topic,
};
use stowplan_plan::Subject;

use crate::at::{At, Entries};
use crate::context::Context;
use crate::elements::chain::ChainSpec;
use crate::elements::launch::LaunchSpec;
use crate::elements::process::{ExecutorSpec, ProcessSpec, ProfileSpec};
use crate::elements::stack::StackSpec;
use crate::elements::topic::{DdsSpec, SendsSpec, TopicSpec};
use kinds::Kinds;

/// Converts a stack; problems stay in `context`, elements with problems are left out.
pub(crate) fn stack(context: &mut Context, spec: &StackSpec) -> Option<Stack> {
    context.mark(Subject::Stack, spec.name.mark);
    let kinds = Kinds::new(context, spec);
    // Converted once, so that its assumptions are noted once.
    let serialisation = spec
        .serialisation
        .as_ref()
        .and_then(|at| kinds.serialisation(context, "serialisation", at));
    let topics = spec
        .topics
        .0
        .iter()
        .map(|(name, topic)| convert_topic(context, &kinds, spec, serialisation, (name, topic)))
        .collect();
    let mut processes = convert_processes(context, spec);
    let mut nodes = nodes::convert(context, &kinds, spec, &mut processes);
    background::services(context, &spec.services, &mut nodes, &mut processes);
    let chains = convert_chains(context, &spec.chains, &nodes);
    let services = services::convert(context, &spec.services);
    Some(Stack {
        name: context.name(&spec.name)?,
        description: spec.description.trim_end().to_owned(),
        use_sim_time: spec.use_sim_time,
        ns_per_iteration: convert_speed(context, spec.ns_per_iteration.as_ref()),
        launch: convert_launch(context, &spec.launch),
        executor_cost: ExecutorCost {
            wait_iterations: context.fixed("executor.wait", spec.executor.wait.as_ref(), 0),
            entity_iterations: context.fixed("executor.entity", spec.executor.entity.as_ref(), 0),
        },
        topics,
        processes,
        nodes,
        chains,
        services,
    })
}

fn convert_speed(context: &mut Context, given: Option<&At<f64>>) -> Option<f64> {
    let given = given?;
    if given.value.is_finite() && given.value > 0.0 {
        return Some(given.value);
    }
    context.problem(
        given.mark,
        format!("an iteration cannot take {} ns", given.value),
        None,
    );
    None
}

fn convert_launch(context: &mut Context, spec: &LaunchSpec) -> Launch {
    Launch {
        start_iterations: context.fixed("launch.start", spec.start.as_ref(), 0),
        entity_iterations: context.fixed("launch.entity", spec.entity.as_ref(), 0),
        read_bytes: context.fixed("launch.read", spec.read.as_ref(), 0),
        memory_bytes: context.fixed("launch.memory", spec.memory.as_ref(), 0),
    }
}

fn convert_topic(
    context: &mut Context,
    kinds: &Kinds,
    spec: &StackSpec,
    default_serialisation: Option<Serialisation>,
    (name, topic): (&At<String>, &At<TopicSpec>),
) -> Topic {
    context.mark(Subject::Topic(name.value.clone()), name.mark);
    let mut bytes = topic.value.bytes.clone();
    if bytes.mark.line == 0 {
        bytes.mark = topic.mark;
    }
    let qos = topic.value.qos.as_ref().or(spec.qos.as_ref());
    let serialisation = topic.value.serialisation.as_ref();
    Topic {
        name: name.value.clone(),
        bytes: kinds.size(context, &format!("topics.{}.bytes", name.value), &bytes),
        qos: kinds.qos(context, qos),
        intra_process: topic.value.intra_process,
        serialisation: match serialisation {
            Some(at) => {
                let path = format!("topics.{}.serialisation", name.value);
                kinds.serialisation(context, &path, at)
            }
            None => default_serialisation,
        },
        dds: topic.value.dds.as_ref().map(|dds| convert_dds(name, dds)),
        frames: convert_frames(context, name, &topic.value),
    }
}

fn convert_frames(context: &mut Context, name: &At<String>, spec: &TopicSpec) -> Option<Frames> {
    let frames = spec.frames?.frames();
    if !frames.has_room() {
        let (side, tags) = (Frames::LEAST_SIDE, frames.tags);
        context.problem(
            name.mark,
            format!("images of '{}' have no room for {tags} tags", name.value),
            Some(format!(
                "take 1 tag or more, and {side} × {side} pixels or more for each"
            )),
        );
    }
    if !frames.has_whole_words() {
        context.problem(
            name.mark,
            format!(
                "images of '{}' are {} pixels wide, which is no multiple of 4",
                name.value, frames.width
            ),
            None,
        );
    }
    if spec.dds.is_some() {
        context.problem(
            name.mark,
            format!(
                "topic '{}' has 'frames' beside 'dds': images are messages of modelled nodes",
                name.value
            ),
            Some("leave one of them out".into()),
        );
    }
    Some(frames)
}

fn convert_dds(topic: &At<String>, spec: &DdsSpec) -> DdsTopic {
    DdsTopic {
        name: spec
            .topic
            .clone()
            .unwrap_or_else(|| format!("rt{}", topic.value)),
        type_name: spec.type_name.clone(),
        partition: spec.partition.clone(),
        user_data: spec.user_data.clone(),
        sends: spec.sends.map(|SendsSpec::Sequence| DdsContent::Sequence),
    }
}

fn profile(spec: ProfileSpec) -> Profile {
    match spec {
        ProfileSpec::Minimal => Profile::Minimal,
        ProfileSpec::Galactic => Profile::Galactic,
        ProfileSpec::Humble => Profile::Humble,
        ProfileSpec::Jazzy => Profile::Jazzy,
    }
}

fn executor(context: &mut Context, name: &At<String>, spec: &ProcessSpec) -> Executor {
    let threads = match (spec.executor, spec.threads) {
        (ExecutorSpec::Multi, Some(threads)) => return Executor::Multi { threads },
        (ExecutorSpec::Multi, None) => Some("is multi-threaded and does not say how many threads"),
        (_, Some(_)) => Some("has 'threads', but its executor is not multi"),
        (_, None) => None,
    };
    if let Some(what) = threads {
        context.problem(
            name.mark,
            format!("process '{}' {what}", name.value),
            Some("write for example '{ executor: multi, threads: 2 }'".into()),
        );
    }
    match spec.executor {
        ExecutorSpec::Single | ExecutorSpec::Multi => Executor::Single,
        ExecutorSpec::Static => Executor::Static,
        ExecutorSpec::Isolated => Executor::Isolated,
    }
}

fn convert_processes(context: &mut Context, spec: &StackSpec) -> Vec<Process> {
    let mut processes = Vec::new();
    for (key, process) in &spec.processes.0 {
        context.mark(Subject::Process(key.value.clone()), key.mark);
        let executor = executor(context, key, process);
        let Some(name) = context.name(key) else {
            continue;
        };
        processes.push(Process {
            name,
            executor,
            profile: profile(process.profile.unwrap_or(spec.profile)),
            component_container: process.component_container,
        });
    }
    processes
}

fn convert_chains(
    context: &mut Context,
    chains: &Entries<ChainSpec>,
    nodes: &[Node],
) -> Vec<Chain> {
    let nodes: HashMap<&str, &Node> = nodes.iter().map(|n| (n.name.as_str(), n)).collect();
    let mut converted = Vec::new();
    for (key, chain) in &chains.0 {
        context.mark(Subject::Chain(key.value.clone()), key.mark);
        let path = format!("chains.{}.deadline", key.value);
        let deadline_ns = chain
            .deadline
            .as_ref()
            .map(|d| context.fixed(&path, Some(d), 0));
        let mut callbacks = Vec::new();
        for (index, link) in chain.callbacks.iter().enumerate() {
            context.mark(Subject::Link(key.value.clone(), index), link.mark);
            callbacks.extend(callback_ref(context, &nodes, link));
        }
        if let Some(name) = context.name(key) {
            converted.push(Chain {
                name,
                callbacks,
                deadline_ns,
            });
        }
    }
    converted
}

/// `NODE/CALLBACK`, or `NODE` where the node has one callback.
fn callback_ref(
    context: &mut Context,
    nodes: &HashMap<&str, &Node>,
    link: &At<String>,
) -> Option<CallbackRef> {
    let (node, callback) = match link.value.split_once('/') {
        Some((node, callback)) => (node, callback.to_owned()),
        None => {
            let node = link.value.as_str();
            let Some(found) = nodes.get(node) else {
                context.problem(
                    link.mark,
                    format!("no node is called '{node}'"),
                    stowplan_plan::nearest::hint(node, nodes.keys().copied()),
                );
                return None;
            };
            match found.callbacks.as_slice() {
                [only] => (node, only.name.to_string()),
                several => {
                    let names: Vec<String> = several
                        .iter()
                        .map(|c| format!("'{node}/{}'", c.name))
                        .collect();
                    context.problem(
                        link.mark,
                        format!(
                            "node '{node}' has {} callbacks, say which one the chain goes through",
                            several.len()
                        ),
                        (!names.is_empty()).then(|| format!("write one of {}", names.join(", "))),
                    );
                    return None;
                }
            }
        }
    };
    let part = |value: &str| At {
        value: value.to_owned(),
        mark: link.mark,
    };
    Some(CallbackRef {
        node: context.name(&part(node))?,
        callback: context.name(&part(&callback))?,
    })
}
