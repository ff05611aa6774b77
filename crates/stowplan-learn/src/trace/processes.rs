//! Processes: component containers, and which executor fits the threads that ran callbacks.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_model::Executor;
use stowplan_trace::{Analysis, CallbackId, Id, NodeId, Owner, ProcessId, ThreadId};

use super::observe::Observed;

/// How the service ends that loads components into a container.
const LOAD_SERVICE: &str = "/_container/load_node";

/// The time source of rclcpp may run on a thread of its own, whatever executor a node has.
const CLOCK: &str = "/clock";

/// Processes that are component containers, with the node that is the container's own.
pub(super) fn containers(analysis: &Analysis) -> BTreeMap<ProcessId, NodeId> {
    let graph = &analysis.graph;
    let services = graph.services.iter().map(|(_, service)| service);
    services
        .filter(|service| service.name.ends_with(LOAD_SERVICE))
        .map(|service| (graph.nodes[service.node].process, service.node))
        .collect()
}

/// The executor of a process, and why.
pub(super) fn executor(
    observed: &Observed<'_>,
    process: ProcessId,
    callbacks: &BTreeMap<NodeId, Vec<CallbackId>>,
) -> (Executor, String) {
    let graph = &observed.analysis.graph;
    let clock = |id: CallbackId| match graph.callbacks[id].owner {
        Owner::Subscription(s) => graph.topics[graph.subscriptions[s].topic] == CLOCK,
        _ => false,
    };
    let mut by_node: BTreeMap<NodeId, BTreeSet<ThreadId>> = BTreeMap::new();
    for (&node, callbacks) in callbacks {
        if graph.nodes[node].process != process {
            continue;
        }
        for &callback in callbacks.iter().filter(|&&id| !clock(id)) {
            let threads = &observed.calls[callback.index()].threads;
            if !threads.is_empty() {
                by_node.entry(node).or_default().extend(threads);
            }
        }
    }
    choose(&by_node)
}

fn choose(by_node: &BTreeMap<NodeId, BTreeSet<ThreadId>>) -> (Executor, String) {
    let all: BTreeSet<&ThreadId> = by_node.values().flatten().collect();
    let threads = u32::try_from(all.len()).unwrap_or(u32::MAX);
    if threads <= 1 {
        return (Executor::Single, String::new());
    }
    let each_its_own = by_node.values().all(|threads| threads.len() == 1);
    if each_its_own && all.len() == by_node.len() {
        let why = format!("callbacks of {threads} nodes ran on a thread each");
        return (Executor::Isolated, why);
    }
    let why = format!("callbacks ran on {threads} threads");
    (Executor::Multi { threads }, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(nodes: &[&[usize]]) -> Executor {
        let by_node = nodes
            .iter()
            .enumerate()
            .map(|(node, threads)| {
                let threads = threads.iter().map(|t| ThreadId::new(*t)).collect();
                (NodeId::new(node), threads)
            })
            .collect();
        choose(&by_node).0
    }

    #[test]
    fn executors_follow_the_threads() {
        assert_eq!(chosen(&[]), Executor::Single);
        assert_eq!(chosen(&[&[1], &[1]]), Executor::Single);
        assert_eq!(chosen(&[&[1], &[2]]), Executor::Isolated);
        assert_eq!(chosen(&[&[1], &[1], &[2]]), Executor::Multi { threads: 2 });
        assert_eq!(chosen(&[&[1, 2, 3]]), Executor::Multi { threads: 3 });
    }
}
