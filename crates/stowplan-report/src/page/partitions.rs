//! A picture of each partition: services, their nodes, and the edges between these.

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_judge::{DeploymentEdges, Judgement};
use stowplan_results::PartitionRecord;

use super::hops::Hops;
use crate::graph::{Form, GraphEdge, GraphNode, Limits, NodeGraph, View};

/// Services that get a picture of their own where all nodes do not fit one.
const OWN_PICTURES: usize = 30;

#[derive(Serialize)]
pub(super) struct Partition<'a> {
    partition: &'a str,
    /// Label of the deployment whose edges these are.
    deployment: &'a str,
    services: usize,
    nodes: usize,
    pictures: Vec<Picture>,
    edges: Vec<Edge<'a>>,
}

#[derive(Serialize)]
struct Picture {
    label: String,
    svg: String,
}

#[derive(Serialize)]
struct Edge<'a> {
    topic: &'a str,
    from: Option<&'a str>,
    to: &'a str,
    from_service: Option<&'a str>,
    to_service: Option<&'a str>,
    class: Option<&'a str>,
    hz: Option<f64>,
    lost: Option<f64>,
    chain: bool,
}

pub(super) fn all<'a>(report: &'a Judgement, hops: &Hops<'_>) -> Vec<Partition<'a>> {
    let partitions = &report.figures.experiment.partitions;
    partitions
        .iter()
        .filter_map(|of| one(report, of, hops))
        .collect()
}

/// Nothing of a partition that never ran, or of which the result has no nodes.
fn one<'a>(
    report: &'a Judgement,
    of: &'a PartitionRecord,
    hops: &Hops<'_>,
) -> Option<Partition<'a>> {
    if of.nodes.is_empty() {
        return None;
    }
    let ran = report.figures.deployments().into_iter();
    let mut of_partition = ran.filter(|d| d.partition == of.name);
    let travelled = |id: &str| report.figures.edges.iter().find(|e| e.deployment == id);
    let found = of_partition.find_map(|d| travelled(&d.id))?;
    let graph = graph(of, found, hops);
    let service = |node: &str| of.nodes.get(node).map(String::as_str);
    let edges = found.edges.iter().map(|edge| Edge {
        topic: &edge.topic,
        from: edge.from.as_deref(),
        to: &edge.to,
        from_service: edge.from.as_deref().and_then(service),
        to_service: service(&edge.to),
        class: edge.class.as_deref(),
        hz: edge.hz().map(|hz| (hz * 1e3).round() / 1e3),
        lost: edge.lost_share().map(|share| (share * 1e4).round() / 1e4),
        chain: hops.rank(edge.from.as_deref(), &edge.to).is_some(),
    });
    Some(Partition {
        partition: &of.name,
        deployment: report.figures.label(&found.deployment),
        services: of.services.len(),
        nodes: of.nodes.len(),
        pictures: pictures(of, &graph),
        edges: edges.collect(),
    })
}

/// Services stand where a trace has processes, and for modules.
fn graph(of: &PartitionRecord, found: &DeploymentEdges, hops: &Hops<'_>) -> NodeGraph {
    let order: BTreeMap<&str, usize> = of.services.iter().map(String::as_str).zip(0..).collect();
    let nodes: Vec<GraphNode> = of
        .nodes
        .iter()
        .filter_map(|(node, service)| {
            Some(GraphNode {
                name: node.clone(),
                process: *order.get(&**service)?,
                module: service.clone(),
            })
        })
        .collect();
    let index: BTreeMap<&str, usize> = nodes.iter().map(|n| &*n.name).zip(0..).collect();
    let ways = found.edges.iter().filter_map(|edge| {
        Some(GraphEdge {
            from: *index.get(edge.from.as_deref()?)?,
            to: *index.get(&*edge.to)?,
            topic: edge.topic.clone(),
            messages: edge.published,
            hz: edge.hz(),
            latency_ns: edge.mean_ns,
            class: edge.class.clone(),
            chain: hops.rank(edge.from.as_deref(), &edge.to).is_some(),
        })
    });
    NodeGraph {
        processes: of.services.clone(),
        ways: ways.collect(),
        nodes,
    }
}

/// All nodes in one picture while they are few; else the services, and each with its nodes.
fn pictures(of: &PartitionRecord, graph: &NodeGraph) -> Vec<Picture> {
    let draw = |label: &str, view: &View| Picture {
        label: label.to_owned(),
        svg: graph.svg(view, Form::Page),
    };
    if graph.readable(Limits::default()) == View::Nodes
        && graph.nodes.len() <= Limits::default().nodes
    {
        let all = graph.nodes.iter().map(|node| node.name.clone()).collect();
        return vec![draw("All services", &View::Only(all))];
    }
    let mut pictures = vec![draw("All services", &View::Modules)];
    for service in of.services.iter().take(OWN_PICTURES) {
        let view = View::Module(service.clone());
        pictures.push(draw(&format!("Service {service}"), &view));
    }
    pictures
}
