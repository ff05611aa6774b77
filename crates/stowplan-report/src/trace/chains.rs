//! The chains of a trace: where the time of their instances goes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stowplan_stats::{DEFAULT_POINTS, Sketch, Sorted, Summary};
use stowplan_trace::{Analysis, CallbackId, ChainInstance, ChainResult, Fate};

use super::TraceReport;
use super::over_time::{self, OverTime};
use super::timeline::{self, Timeline};
use crate::error::ReportError;
use crate::page::{Samples, of_sketch};
use stowplan_judge::Part;

/// Points per part of a chain.
const POINTS: usize = 500;

/// What a trace tells of an instance of a chain.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// A part that an experiment has, too.
    Part(Part),
    /// From the first publication to the output: what CARET and Trace Compass call end to end.
    FromPublication,
}

const TOLD: [Told; 10] = [
    Told::Part(Part::E2ePaper),
    Told::FromPublication,
    Told::Part(Part::Idle),
    Told::Part(Part::Send),
    Told::Part(Part::Transport),
    Told::Part(Part::Wait),
    Told::Part(Part::Communication),
    Told::Part(Part::Computation),
    Told::Part(Part::E2eFull),
    Told::Part(Part::DataAge),
];

impl Told {
    fn key(self) -> &'static str {
        match self {
            Self::Part(part) => part.key(),
            Self::FromPublication => "e2e_from_publication",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Part(Part::E2ePaper) => "E2E from start",
            Self::FromPublication => "E2E from publication",
            Self::Part(part) => part.label(),
        }
    }

    /// `None` where the trace does not tell it.
    fn value(self, analysis: &Analysis, instance: &ChainInstance, sends: bool) -> Option<i64> {
        match self {
            Self::Part(part) => value(part, instance, sends),
            Self::FromPublication => analysis.since_publication_ns(instance),
        }
    }

    fn lacking(self) -> &'static str {
        match self {
            Self::Part(part) => lacking(part),
            Self::FromPublication => {
                "the publication of a message that started the first callback was not found"
            }
        }
    }
}

/// The figures of a chain.
pub(super) struct Figures {
    label: String,
    path: Vec<String>,
    instances: u64,
    invalid: u64,
    left_out: u64,
    inputs: Inputs,
    surest: Option<&'static str>,
    parts: Vec<(Told, Summary, Sketch)>,
    reasons: BTreeMap<&'static str, &'static str>,
    over_time: OverTime,
    timeline: Option<Timeline>,
}

/// What became of the inputs of a chain.
#[derive(Serialize)]
struct Inputs {
    all: u64,
    used: u64,
    /// Those that gave no output: number of the last callback that they reached, why they went no further, how many.
    stopped: Vec<(usize, &'static str, u64)>,
    /// Outputs that cannot be followed back to an input.
    outputs_without: u64,
}

/// A chain in the page.
#[derive(Serialize)]
pub(super) struct Measured<'a> {
    label: &'a str,
    path: &'a [String],
    instances: u64,
    invalid: u64,
    left_out: u64,
    inputs: &'a Inputs,
    least_sure_link: Option<&'static str>,
    parts: BTreeMap<&'static str, Samples<'a>>,
    /// Why parts have no values.
    reasons: &'a BTreeMap<&'static str, &'static str>,
    over_time: &'a OverTime,
    timeline: Option<&'a Timeline>,
}

/// Keys and names of the parts.
pub(super) fn parts() -> Vec<[&'static str; 2]> {
    TOLD.map(|told| [told.key(), told.label()]).to_vec()
}

pub(super) fn figures(report: &TraceReport<'_>) -> Result<Vec<Figures>, ReportError> {
    let mut taken = BTreeSet::new();
    let chains = report.chains.iter();
    chains
        .map(|chain| figures_of(report, chain, &mut taken))
        .collect()
}

/// Full names of the nodes that the chains lead through.
pub(super) fn nodes(report: &TraceReport<'_>) -> BTreeSet<String> {
    let chains = report.chains.iter();
    let callbacks = chains.flat_map(|result| &result.chain.callbacks);
    let nodes = callbacks.filter_map(|&callback| node(report, callback));
    nodes.collect()
}

fn node(report: &TraceReport<'_>, callback: CallbackId) -> Option<String> {
    let graph = &report.analysis.graph;
    Some(graph.nodes[graph.node_of(callback)?].full_name())
}

/// A short name: the nodes at both ends; numbered where that is taken.
fn label(report: &TraceReport<'_>, chain: &ChainResult, taken: &mut BTreeSet<String>) -> String {
    let callbacks = &chain.chain.callbacks;
    let end = |callback: Option<&CallbackId>| {
        let name = callback.and_then(|&callback| node(report, callback));
        let name = name.unwrap_or_else(|| "(unknown node)".to_owned());
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let plain = match &*chain.chain.name {
        "" => format!("{} → {}", end(callbacks.first()), end(callbacks.last())),
        name => name.to_owned(),
    };
    let mut label = plain.clone();
    let mut number = 1;
    while !taken.insert(label.clone()) {
        number += 1;
        label = format!("{plain} ({number})");
    }
    label
}

fn figures_of(
    report: &TraceReport<'_>,
    chain: &ChainResult,
    taken: &mut BTreeSet<String>,
) -> Result<Figures, ReportError> {
    let sends = report.analysis.records_send(&chain.chain);
    let mut parts = Vec::new();
    let mut reasons = BTreeMap::new();
    let label = label(report, chain, taken);
    for told in TOLD {
        let values: Option<Vec<f64>> = chain
            .instances
            .iter()
            .map(|instance| {
                let ns = told.value(report.analysis, instance, sends);
                ns.map(|ns| ns as f64)
            })
            .collect();
        match values {
            Some(values) if !values.is_empty() => {
                let what = || ReportError::stats(format!("{} of {label}", told.label()));
                let sorted = Sorted::new(values).map_err(what())?;
                let sketch = Sketch::new(&sorted, DEFAULT_POINTS).map_err(what())?;
                parts.push((told, Summary::of_sorted(&sorted), sketch));
            }
            Some(_) => {
                reasons.insert(told.key(), "the trace has no whole instance of the chain");
            }
            None => {
                reasons.insert(told.key(), told.lacking());
            }
        }
    }
    let confidence = chain.instances.iter().map(|i| i.confidence).min();
    let callbacks = chain.chain.callbacks.iter();
    let origin_ns = report.overview.extent.map_or(0, |extent| extent.from_ns);
    Ok(Figures {
        label,
        path: callbacks
            .map(|&callback| report.analysis.graph.describe(callback))
            .collect(),
        instances: chain.instances.len() as u64,
        invalid: chain.invalid.len() as u64,
        left_out: chain.left_out_ns.len() as u64,
        inputs: inputs(chain),
        surest: confidence.map(stowplan_trace::Confidence::name),
        parts,
        reasons,
        over_time: over_time::of(report.analysis, chain, origin_ns),
        timeline: timeline::of(report.analysis, chain, origin_ns),
    })
}

fn inputs(chain: &ChainResult) -> Inputs {
    let used = chain.inputs.iter().filter(|i| i.fate == Fate::Used);
    let stopped = chain.stopped().into_iter();
    Inputs {
        all: chain.inputs.len() as u64,
        used: used.count() as u64,
        stopped: stopped
            .map(|of| (of.after, of.cause.in_words(), of.inputs))
            .collect(),
        outputs_without: chain.broken.len() as u64,
    }
}

/// `None` where the trace does not tell it.
fn value(part: Part, instance: &ChainInstance, sends: bool) -> Option<i64> {
    let parts = &instance.parts;
    match part {
        Part::E2ePaper => Some(instance.e2e_ns),
        Part::Idle => Some(parts.idle_ns),
        Part::Send => sends.then_some(parts.send_ns),
        Part::Transport => parts.transport_ns,
        Part::Wait => parts.wait_ns,
        Part::Communication => Some(parts.communication_ns()),
        Part::Computation => Some(parts.computation_ns),
        Part::E2eFull => instance.e2e_full_ns,
        Part::DataAge => Some(instance.age_ns),
        Part::AgeUntilNext => instance.age_until_next_ns,
        Part::Reaction | Part::MeanOverOutputs => None,
    }
}

fn lacking(part: Part) -> &'static str {
    match part {
        Part::Send => {
            "this distribution has no event for the entry of a publication into the middleware"
        }
        Part::E2eFull => "the trace has no release of the chain's sensor",
        Part::AgeUntilNext => "no output of the chain follows another",
        _ => "the trace has no arrival of a message of the chain",
    }
}

pub(super) fn measured(figures: &Figures) -> Measured<'_> {
    let parts = figures.parts.iter();
    Measured {
        label: &figures.label,
        path: &figures.path,
        instances: figures.instances,
        invalid: figures.invalid,
        left_out: figures.left_out,
        inputs: &figures.inputs,
        least_sure_link: figures.surest,
        parts: parts
            .map(|(told, summary, sketch)| (told.key(), of_sketch(summary, sketch, POINTS)))
            .collect(),
        reasons: &figures.reasons,
        over_time: &figures.over_time,
        timeline: figures.timeline.as_ref(),
    }
}
