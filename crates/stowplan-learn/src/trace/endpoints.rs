//! Endpoints beside those of callbacks: which a node has unasked, and which carry nothing.

use std::collections::BTreeMap;

use stowplan_model::{NodeOptions, Profile, SilentEndpoints};
use stowplan_trace::{Graph, NodeId, TopicId};

use super::observe::is_implicit;
use crate::names;

/// Services that rclcpp and rclpy give a node, as the last parts of their names.
const PARAMETER_SERVICES: [&str; 6] = [
    "get_parameters",
    "get_parameter_types",
    "set_parameters",
    "set_parameters_atomically",
    "describe_parameters",
    "list_parameters",
];
const TYPE_DESCRIPTION: &str = "get_type_description";
/// Services of a component container, below its name.
const CONTAINER_SERVICES: [&str; 3] = [
    "_container/load_node",
    "_container/unload_node",
    "_container/list_nodes",
];

/// What a node has unasked, in a trace of this release.
pub(super) fn options(graph: &Graph, node: NodeId, profile: Profile) -> NodeOptions {
    if profile == Profile::Minimal {
        return NodeOptions::default();
    }
    let name = graph.nodes[node].full_name();
    let serves = |part: &str| {
        let mut services = graph.services.iter();
        services.any(|(_, s)| s.node == node && own_part(&name, &s.name) == Some(part))
    };
    let publishes = |topic: &str| {
        let mut publishers = graph.publishers.iter();
        publishers
            .any(|(_, p)| p.node == Some(node) && p.topic.is_some_and(|t| graph.topics[t] == topic))
    };
    let mut subscriptions = graph.subscriptions.iter();
    NodeOptions {
        parameter_services: PARAMETER_SERVICES.iter().all(|part| serves(part)),
        parameter_event_publisher: publishes("/parameter_events"),
        rosout: publishes("/rosout"),
        parameter_event_subscription: subscriptions
            .any(|(_, s)| s.node == node && graph.topics[s.topic] == "/parameter_events"),
        type_description_service: profile != Profile::Jazzy || serves(TYPE_DESCRIPTION),
    }
}

/// The end of a service's name that stands below the node's own name.
fn own_part<'a>(node: &str, service: &'a str) -> Option<&'a str> {
    service.strip_prefix(node)?.strip_prefix('/')
}

/// What carries nothing: services, clients and subscriptions to topics that every node knows, beside those that the
/// node's options and its container give it.
pub(super) fn silent(graph: &Graph, node: NodeId, options: NodeOptions) -> SilentEndpoints {
    let name = graph.nodes[node].full_name();
    let given = |service: &str| match own_part(&name, service) {
        Some(TYPE_DESCRIPTION) => options.type_description_service,
        Some(part) if CONTAINER_SERVICES.contains(&part) => true,
        Some(part) => options.parameter_services && PARAMETER_SERVICES.contains(&part),
        None => false,
    };
    let services = graph.services.iter().map(|(_, service)| service);
    let services = services.filter(|s| s.node == node && !given(&s.name));
    let clients = graph.clients.iter().filter(|c| c.node == node);
    let ros_names = |names: Vec<&String>| -> Vec<String> {
        let names = names.into_iter();
        names.filter(|n| names::is_topic(n)).cloned().collect()
    };
    SilentEndpoints {
        subscriptions: more_subscriptions(graph, node, options),
        services: ros_names(services.map(|s| &s.name).collect()),
        clients: ros_names(clients.map(|c| &c.name).collect()),
        ..SilentEndpoints::default()
    }
}

/// Subscriptions of a node to topics that every node knows, beside the one that it has unasked.
fn more_subscriptions(graph: &Graph, node: NodeId, options: NodeOptions) -> Vec<String> {
    let subscriptions = graph.subscriptions.iter().map(|(_, s)| s);
    let of_node = subscriptions.filter(|s| s.node == node);
    let mut topics: Vec<String> = of_node
        .map(|s| graph.topics[s.topic].clone())
        .filter(|topic| is_implicit(topic))
        .collect();
    if options.parameter_event_subscription
        && let Some(own) = topics.iter().position(|t| t == "/parameter_events")
    {
        topics.remove(own);
    }
    topics
}

/// Publishers of a node on topics that a stack can have, by topic.
pub(super) fn publishers(graph: &Graph, node: NodeId) -> BTreeMap<TopicId, usize> {
    let mut by_topic = BTreeMap::new();
    for (_, publisher) in graph.publishers.iter() {
        let Some(topic) = publisher.topic.filter(|_| publisher.node == Some(node)) else {
            continue;
        };
        let name = &graph.topics[topic];
        if names::is_topic(name) && !is_implicit(name) {
            *by_topic.entry(topic).or_default() += 1;
        }
    }
    by_topic
}
