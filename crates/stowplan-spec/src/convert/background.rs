//! Threads that only keep CPUs busy: of nodes, and of services that are nothing else.

use stowplan_model::{Background, Node, Process, background_service};
use stowplan_plan::Subject;

use crate::at::{At, Entries};
use crate::context::Context;
use crate::elements::node::BackgroundSpec;
use crate::elements::service::ServiceSpec;

/// More threads than a machine has CPUs by far; each has memory of its own.
const MOST_THREADS: u32 = 1024;

/// The threads of a node.
pub(super) fn convert(
    context: &mut Context,
    at: Option<&At<BackgroundSpec>>,
) -> Option<Background> {
    let at = at?;
    let threads = at.value.threads;
    if !(1..=MOST_THREADS).contains(&threads) {
        context.problem(
            at.mark,
            format!("{threads} threads cannot keep CPUs busy"),
            Some(format!(
                "write 1 to {MOST_THREADS}, or leave 'background' out"
            )),
        );
        return None;
    }
    Some(Background {
        threads,
        own_service: false,
    })
}

/// Adds a node for each service that only keeps CPUs busy.
pub(super) fn services(
    context: &mut Context,
    services: &Entries<ServiceSpec>,
    nodes: &mut Vec<Node>,
    processes: &mut Vec<Process>,
) {
    for (key, spec) in &services.0 {
        let Some(background) = convert(context, spec.background.as_ref()) else {
            continue;
        };
        context.mark(Subject::Node(key.value.clone()), key.mark);
        if spec.has_program() {
            context.problem(
                key.mark,
                format!("service '{}' has 'background' beside a program", key.value),
                Some("a service keeps CPUs busy or runs a program: make two of it".into()),
            );
        }
        let Some(name) = context.name(key) else {
            continue;
        };
        if nodes.iter().any(|node| node.module == name) {
            context.problem(
                key.mark,
                format!("'{name}' is a service of its own and a module"),
                Some("rename one of them".into()),
            );
            continue;
        }
        let (process, node) = background_service(background.threads, name);
        processes.push(process);
        nodes.push(node);
    }
}
