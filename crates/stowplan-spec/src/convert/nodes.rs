//! Nodes: module and function defaults, the one-line shapes, and callbacks written out.

use std::collections::HashSet;

use stowplan_model::{
    Callback, Distribution, Executor, Name, Node, NodeOptions, Process, SilentEndpoints, Trigger,
    Work,
};
use stowplan_plan::Subject;

use super::kinds::{Kinds, NO_WORK};
use super::{background, profile};
use crate::at::{At, Entries, OneOrMany};
use crate::context::Context;
use crate::elements::module::{FunctionSpec, ModuleSpec};
use crate::elements::node::{CallbackSpec, NodeSpec, TimerSpec};
use crate::elements::stack::StackSpec;
use crate::elements::start_up::StartUpSpec;
use crate::elements::work::WorkSpec;
use crate::kind::KindOr;

/// What module and function give to their nodes.
#[derive(Clone, Copy)]
struct Defaults<'a> {
    module: &'a Name,
    function: Option<&'a Name>,
    attributed: Option<bool>,
    process: Option<&'a At<String>>,
    start_up: Option<&'a At<KindOr<StartUpSpec>>>,
    work: Option<&'a At<KindOr<WorkSpec>>>,
    /// Processes that are component containers.
    containers: &'a HashSet<Name>,
}

/// Converts all nodes; processes of nodes that do not name one are added to `processes`.
pub(super) fn convert(
    context: &mut Context,
    kinds: &Kinds,
    spec: &StackSpec,
    processes: &mut Vec<Process>,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    let containers = processes.iter().filter(|p| p.component_container);
    let containers: HashSet<Name> = containers.map(|p| p.name.clone()).collect();
    for (key, module) in &spec.modules.0 {
        let Some(name) = context.name(key) else {
            continue;
        };
        let defaults = module_defaults(&name, module, &containers);
        group(context, kinds, defaults, &module.nodes, &mut nodes);
        for (key, function) in &module.functions.0 {
            let Some(name) = context.name(key) else {
                continue;
            };
            let defaults = function_defaults(defaults, &name, function);
            group(context, kinds, defaults, &function.nodes, &mut nodes);
        }
    }
    let declared: HashSet<Name> = processes.iter().map(|p| p.name.clone()).collect();
    let mut own = HashSet::new();
    for (node, has_own) in &nodes {
        if *has_own && !declared.contains(&node.process) && own.insert(node.process.clone()) {
            processes.push(Process {
                name: node.process.clone(),
                executor: Executor::Single,
                profile: profile(spec.profile),
                component_container: false,
            });
        }
    }
    nodes.into_iter().map(|(node, _)| node).collect()
}

fn module_defaults<'a>(
    name: &'a Name,
    module: &'a ModuleSpec,
    containers: &'a HashSet<Name>,
) -> Defaults<'a> {
    Defaults {
        module: name,
        function: None,
        attributed: module.attributed,
        process: module.process.as_ref(),
        start_up: module.start_up.as_ref(),
        work: module.work.as_ref(),
        containers,
    }
}

fn function_defaults<'a>(
    module: Defaults<'a>,
    name: &'a Name,
    function: &'a FunctionSpec,
) -> Defaults<'a> {
    Defaults {
        module: module.module,
        function: Some(name),
        attributed: function.attributed.or(module.attributed),
        process: function.process.as_ref().or(module.process),
        start_up: function.start_up.as_ref().or(module.start_up),
        work: function.work.as_ref().or(module.work),
        containers: module.containers,
    }
}

/// Converts the nodes of a group; the flag says that the node has a process of its own.
fn group(
    context: &mut Context,
    kinds: &Kinds,
    defaults: Defaults<'_>,
    specs: &Entries<At<NodeSpec>>,
    nodes: &mut Vec<(Node, bool)>,
) {
    for (key, spec) in &specs.0 {
        context.mark(Subject::Node(key.value.clone()), key.mark);
        let spec = &spec.value;
        let Some(name) = context.name(key) else {
            continue;
        };
        let named = spec.process.as_ref().or(defaults.process);
        let process = match named {
            Some(at) => {
                context.mark(Subject::NodeProcess(key.value.clone()), at.mark);
                context.name(at)
            }
            None => Some(name.clone()),
        };
        for other in &spec.depends_on.0 {
            context.mark(
                Subject::DependsOn(key.value.clone(), other.value.clone()),
                other.mark,
            );
        }
        let path = format!("nodes.{}", key.value);
        let start_up = spec.start_up.as_ref().or(defaults.start_up);
        let node = Node {
            module: defaults.module.clone(),
            function: defaults.function.cloned(),
            attributed: spec.attributed.or(defaults.attributed).unwrap_or(true),
            options: options(defaults, &name, process.as_ref(), spec),
            callbacks: callbacks(context, kinds, defaults, key, spec),
            silent: silent(spec),
            reentrant_groups: context.names(&spec.reentrant_groups),
            start_up: kinds.start_up(context, &format!("{path}.start_up"), start_up),
            depends_on: context.names(&spec.depends_on.0),
            background: background::convert(context, spec.background.as_ref()),
            process: process.unwrap_or_else(|| name.clone()),
            name,
        };
        let own = named.is_none_or(|at| at.value == key.value);
        nodes.push((node, own));
    }
}

/// A container's own node, which has its name, has other defaults.
fn options(
    defaults: Defaults<'_>,
    node: &Name,
    process: Option<&Name>,
    spec: &NodeSpec,
) -> NodeOptions {
    let own = process == Some(node) && defaults.containers.contains(node);
    let default = if own {
        NodeOptions::of_container()
    } else {
        NodeOptions::default()
    };
    spec.options.or(default, spec.client_library)
}

fn silent(spec: &NodeSpec) -> SilentEndpoints {
    let texts = |list: &OneOrMany| list.0.iter().map(|at| at.value.clone()).collect();
    SilentEndpoints {
        publishers: texts(&spec.publishers),
        subscriptions: texts(&spec.subscriptions),
        services: texts(&spec.services),
        clients: texts(&spec.clients),
    }
}

fn callbacks(
    context: &mut Context,
    kinds: &Kinds,
    defaults: Defaults<'_>,
    key: &At<String>,
    spec: &NodeSpec,
) -> Vec<Callback> {
    let short = spec.timer.is_some()
        || !spec.subscribes.0.is_empty()
        || !spec.publishes.0.is_empty()
        || spec.work.is_some()
        || spec.store.is_some();
    if short && !spec.callbacks.0.is_empty() {
        context.problem(
            key.mark,
            format!("node '{}' has 'callbacks' beside 'timer', 'subscribes', 'publishes', 'work' or 'store'", key.value),
            Some("move everything under callbacks, or leave callbacks out".into()),
        );
    }
    if spec.callbacks.0.is_empty() {
        return short_form(context, kinds, defaults, key, spec);
    }
    let mut converted = Vec::new();
    for (name, callback) in &spec.callbacks.0 {
        converted.extend(long_form(context, kinds, defaults, key, name, callback));
    }
    converted
}

fn short_form(
    context: &mut Context,
    kinds: &Kinds,
    defaults: Defaults<'_>,
    key: &At<String>,
    spec: &NodeSpec,
) -> Vec<Callback> {
    let path = format!("nodes.{}", key.value);
    let mut converted = Vec::new();
    if spec.timer.is_none() && spec.subscribes.0.is_empty() {
        if !spec.publishes.0.is_empty() {
            context.problem(
                key.mark,
                format!("node '{}' publishes, but nothing starts it", key.value),
                Some("give it a 'timer' or 'subscribes'".into()),
            );
        }
        return converted;
    }
    let work = spec.work.as_ref().or(defaults.work);
    let main = kinds.work(context, &format!("{path}.work"), work);
    let store = spec.store.as_ref().map_or(NO_WORK, |at| {
        kinds.work(context, &format!("{path}.store"), Some(at))
    });
    let publishes: Vec<String> = spec.publishes.0.iter().map(|t| t.value.clone()).collect();
    let mut taken = HashSet::new();
    for (index, topic) in spec.subscribes.0.iter().enumerate() {
        let is_main = index == 0 && spec.timer.is_none();
        let Some(name) = subscription_name(context, &mut taken, topic) else {
            continue;
        };
        context.mark(
            Subject::Subscription(key.value.clone(), name.to_string()),
            topic.mark,
        );
        if is_main {
            mark_publications(context, key, &name, &spec.publishes.0);
        }
        let trigger = Trigger::Subscription {
            topic: topic.value.clone(),
        };
        let work = if is_main { main } else { store };
        let publishes = if is_main {
            publishes.clone()
        } else {
            Vec::new()
        };
        converted.push(callback(name, trigger, work, publishes));
    }
    if let Some(timer) = &spec.timer
        && let Ok(name) = Name::new("timer")
    {
        mark_publications(context, key, &name, &spec.publishes.0);
        context.mark(
            Subject::Callback(key.value.clone(), name.to_string()),
            timer.mark,
        );
        let trigger = convert_timer(context, &format!("{path}.timer"), timer);
        let uses = converted.iter().map(|c| c.name.clone()).collect();
        converted.push(Callback {
            uses,
            ..callback(name, trigger, main, publishes)
        });
    }
    converted
}

fn callback(name: Name, trigger: Trigger, work: Work, publishes: Vec<String>) -> Callback {
    Callback {
        name,
        trigger,
        group: None,
        work,
        publishes,
        uses: Vec::new(),
    }
}

/// `on_` and the last part of the topic, with as many parts before it as make the name new.
fn subscription_name(
    context: &mut Context,
    taken: &mut HashSet<String>,
    topic: &At<String>,
) -> Option<Name> {
    let parts: Vec<&str> = topic.value.split('/').filter(|p| !p.is_empty()).collect();
    let name = |from: usize| format!("on_{}", parts[from..].join("_"));
    let Some(text) = (0..parts.len())
        .rev()
        .map(name)
        .find(|n| !taken.contains(n))
    else {
        context.problem(
            topic.mark,
            format!("a second subscription to '{}'", topic.value),
            Some("name both under 'callbacks'".into()),
        );
        return None;
    };
    taken.insert(text.clone());
    context.name(&At {
        value: text,
        mark: topic.mark,
    })
}

fn mark_publications(
    context: &mut Context,
    node: &At<String>,
    callback: &Name,
    topics: &[At<String>],
) {
    for topic in topics {
        let subject = Subject::Publication(
            node.value.clone(),
            callback.to_string(),
            topic.value.clone(),
        );
        context.mark(subject, topic.mark);
    }
}

fn convert_timer(context: &mut Context, path: &str, timer: &At<TimerSpec>) -> Trigger {
    let period = At {
        value: timer.value.period.clone(),
        mark: timer.mark,
    };
    Trigger::Timer {
        period_ns: context.fixed(&format!("{path}.period"), Some(&period), 0),
        jitter_ns: timer
            .value
            .jitter
            .as_ref()
            .map_or(Distribution::Constant(0.0), |j| {
                context.spread(&format!("{path}.jitter"), j)
            }),
        rate_error: timer.value.rate_error,
    }
}

fn long_form(
    context: &mut Context,
    kinds: &Kinds,
    defaults: Defaults<'_>,
    node: &At<String>,
    key: &At<String>,
    spec: &At<CallbackSpec>,
) -> Option<Callback> {
    let path = format!("nodes.{}.callbacks.{}", node.value, key.value);
    let spec = &spec.value;
    context.mark(
        Subject::Callback(node.value.clone(), key.value.clone()),
        key.mark,
    );
    let trigger = match (&spec.timer, &spec.subscribes) {
        (Some(timer), None) => convert_timer(context, &format!("{path}.timer"), timer),
        (None, Some(topic)) => {
            context.mark(
                Subject::Subscription(node.value.clone(), key.value.clone()),
                topic.mark,
            );
            Trigger::Subscription {
                topic: topic.value.clone(),
            }
        }
        _ => {
            context.problem(
                key.mark,
                format!(
                    "callback '{}/{}' needs either 'timer' or 'subscribes'",
                    node.value, key.value
                ),
                None,
            );
            return None;
        }
    };
    let name = context.name(key)?;
    mark_publications(context, node, &name, &spec.publishes.0);
    for used in &spec.uses.0 {
        let subject = Subject::Use(node.value.clone(), key.value.clone(), used.value.clone());
        context.mark(subject, used.mark);
    }
    let work = match (&spec.work, defaults.work) {
        (None, default) if !spec.publishes.0.is_empty() => default,
        (work, _) => work.as_ref(),
    };
    Some(Callback {
        name,
        trigger,
        group: spec.group.as_ref().and_then(|g| context.name(g)),
        work: kinds.work(context, &format!("{path}.work"), work),
        publishes: spec.publishes.0.iter().map(|t| t.value.clone()).collect(),
        uses: context.names(&spec.uses.0),
    })
}
