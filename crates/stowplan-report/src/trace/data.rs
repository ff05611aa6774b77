//! The data of the page of a trace; its shape in the page is `web/src/trace/data.ts`.

use serde::Serialize;
use stowplan_trace::Overview;

use super::TraceReport;
use super::callbacks::{Callback, SHARES};
use super::chains::{self, Measured};
use super::startup::{self, Started};
use crate::error::ReportError;
use crate::graph::{Form, Limits, NodeGraph, View};
use crate::page::not_json;

#[derive(Serialize)]
struct Page<'a> {
    schema: &'static str,
    name: &'a str,
    version: &'static str,
    facts: Facts,
    missing: &'a [String],
    shares: &'static [f64],
    callbacks: Vec<Callback>,
    parts: Vec<[&'static str; 2]>,
    chains: Vec<Measured<'a>>,
    startup: Started,
    links: Links,
    topics: Vec<Topic>,
    graphs: Vec<Drawing>,
}

#[derive(Serialize)]
struct Facts {
    events: u64,
    duration_ns: i64,
    discarded: u64,
    /// Distributions, or why none is known.
    distribution: String,
    tracetools: String,
    hosts: usize,
    processes: usize,
    nodes: usize,
    publishers: usize,
    subscriptions: usize,
    timers: usize,
    services: usize,
    clients: u64,
}

#[derive(Serialize)]
struct Links {
    takes: u64,
    unlinked: u64,
    methods: Vec<(&'static str, u64)>,
    confidences: Vec<(&'static str, u64)>,
}

#[derive(Serialize)]
struct Topic {
    name: String,
    publishers: u64,
    subscriptions: u64,
    publications: u64,
    takes: u64,
    linked: u64,
}

#[derive(Serialize)]
struct Drawing {
    label: String,
    svg: String,
}

pub(super) fn json(report: &TraceReport<'_>) -> Result<String, ReportError> {
    let overview = report.overview;
    let figures = chains::figures(report)?;
    let page = Page {
        schema: "stowplan.trace-page/1",
        name: report.name,
        version: env!("CARGO_PKG_VERSION"),
        facts: facts(overview),
        missing: report.missing,
        shares: &SHARES,
        callbacks: super::callbacks::all(overview),
        parts: chains::parts(),
        chains: figures.iter().map(chains::measured).collect(),
        startup: startup::started(overview),
        links: links(overview),
        topics: topics(overview),
        graphs: graphs(report),
    };
    serde_json::to_string(&page).map_err(not_json)
}

fn facts(overview: &Overview) -> Facts {
    let graph = &overview.graph;
    let mut versions: Vec<&str> = Vec::new();
    let mut hosts: Vec<&str> = Vec::new();
    for (_, process) in graph.processes.iter() {
        versions.extend(process.tracetools_version.as_deref());
        hosts.push(&process.key.host);
    }
    for list in [&mut versions, &mut hosts] {
        list.sort_unstable();
        list.dedup();
    }
    let duration = overview.extent.map(|extent| extent.to_ns - extent.from_ns);
    Facts {
        events: overview.events + overview.gaps.unreadable_events,
        duration_ns: duration.unwrap_or(0),
        discarded: overview.contents.discarded_events,
        distribution: match overview.distributions() {
            Ok(names) => names.join(", "),
            Err(reason) => format!("not known: {reason}"),
        },
        tracetools: versions.join(", "),
        hosts: hosts.len(),
        processes: graph.processes.len(),
        nodes: graph.nodes.iter().filter(|n| n.1.name.is_some()).count(),
        publishers: graph.publishers.len(),
        subscriptions: graph.subscriptions.len(),
        timers: graph.timers.len(),
        services: graph.services.len(),
        clients: graph.clients.len() as u64,
    }
}

fn links(overview: &Overview) -> Links {
    let links = overview.link_summary();
    let methods = links.by_method.iter();
    let confidences = links.by_confidence.iter();
    Links {
        takes: links.takes,
        unlinked: links.unlinked,
        methods: methods.map(|(of, n)| (of.name(), *n)).collect(),
        confidences: confidences.map(|(of, n)| (of.name(), *n)).collect(),
    }
}

fn topics(overview: &Overview) -> Vec<Topic> {
    let topics = overview.topic_summaries().into_iter().map(|topic| Topic {
        name: topic.name,
        publishers: topic.publishers,
        subscriptions: topic.subscriptions,
        publications: topic.publications,
        takes: topic.takes,
        linked: topic.linked,
    });
    topics.collect()
}

/// The nodes of the chains, the whole graph as far as it can be read, and its modules.
fn graphs(report: &TraceReport<'_>) -> Vec<Drawing> {
    let graph = NodeGraph::of(report.overview, false);
    if graph.ways.is_empty() {
        return Vec::new();
    }
    let draw = |label: String, view: &View| Drawing {
        label,
        svg: graph.svg(view, Form::Page),
    };
    let whole = graph.readable(Limits::default());
    let mut drawings = vec![match whole {
        View::Nodes => draw("All nodes".to_owned(), &whole),
        _ => draw("All modules".to_owned(), &whole),
    }];
    let of_chains = chains::nodes(report);
    if !of_chains.is_empty() {
        drawings.push(draw(
            "Nodes of the chains".to_owned(),
            &View::Only(of_chains),
        ));
    }
    if whole == View::Modules {
        let modules = graph.modules().into_iter();
        drawings.extend(modules.map(|module| {
            let view = View::Module(module.to_owned());
            draw(format!("Module {module}"), &view)
        }));
    }
    drawings
}
