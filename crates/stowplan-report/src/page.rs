//! The data of the page: as small as the figures allow.

mod callbacks;
mod edges;
mod hops;
mod partitions;
mod startup;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use stowplan_judge::conclusion::Conclusion;
use stowplan_judge::memory::FIGURES;
use stowplan_judge::places::{self, AtPartition};
use stowplan_judge::{
    ChainLatency, DeploymentMemory, DeploymentUsage, Instant, Judgement, Part, Series, TimerPhases,
    differing_settings,
};
use stowplan_results::{Ablation, Comparison, Comparisons, EdgeCount, Ranking, Slower};
use stowplan_stats::{Sketch, SketchPoint, Summary};

use crate::configured;
use crate::error::ReportError;
use crate::phase_tables;
use crate::slower_tables::regression_lines;
use crate::text_table::TextTable;

/// Points of all sketches together. About eleven bytes each, so they stay under 3.5 MB.
const POINTS: usize = 300_000;
/// A sketch with fewer points than this tells too little to be drawn.
const MIN_POINTS: usize = 120;

#[derive(Serialize)]
pub(crate) struct Page<'a> {
    schema: &'static str,
    experiment: Value,
    reference: Option<&'a str>,
    deployments: Vec<Deployment<'a>>,
    blocks: u32,
    startup: Vec<startup::Startup<'a>>,
    instants: Vec<[&'static str; 2]>,
    chains: Vec<Chain<'a>>,
    parts: Vec<[&'static str; 2]>,
    usage: Vec<Usage<'a>>,
    memory: Vec<SharedMemory<'a>>,
    losses: Vec<Loss<'a>>,
    partitions: Vec<partitions::Partition<'a>>,
    edges: Vec<edges::Edge<'a>>,
    callbacks: Vec<callbacks::Callback<'a>>,
    /// Timers whose phases nobody set.
    phases: Vec<&'a TimerPhases>,
    conclusion: Conclusion,
    comparisons: &'a [Comparison],
    /// Each place beside `bare:flat` and its control, by partition.
    places: Vec<AtPartition<'a>>,
    configured: TextTable,
    slower: &'a [Slower],
    against: Option<&'a Comparisons>,
    /// What got worse against the earlier result, a line each.
    regressions: Vec<String>,
    ablations: &'a [Ablation],
    rankings: &'a [Ranking],
    instrument: String,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Deployment<'a> {
    id: &'a str,
    label: &'a str,
    place: &'a str,
    partition: &'a str,
    services: u64,
    processes: u64,
    participants: u64,
    edges: &'a BTreeMap<String, EdgeCount>,
    runs: usize,
    finished: usize,
    refused: Option<&'a str>,
    /// Whether it is there for the steps of an ablation alone.
    step: bool,
    /// Settings that differ from a deployment that it is compared with: that one's label, name, its value, own value.
    differences: Vec<[String; 4]>,
}

#[derive(Serialize)]
struct Chain<'a> {
    chain: &'a str,
    deadline_ns: Option<u64>,
    deployments: Vec<ChainDeployment<'a>>,
}

#[derive(Serialize)]
struct ChainDeployment<'a> {
    deployment: &'a str,
    inputs: u64,
    overwritten: u64,
    without_output: u64,
    left_out: u64,
    parts: BTreeMap<&'static str, Samples<'a>>,
}

/// Samples of one part: their figures, and order statistics as differences from point to point.
#[derive(Serialize)]
pub(crate) struct Samples<'a> {
    summary: &'a Summary,
    /// Mean over the blocks, ns; nothing where there are no blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_mean: Option<f64>,
    /// Largest error in rank of a quantile that is read off, 0 to 1.
    rank_error: f64,
    /// Index among the sorted samples, each less the one before.
    index: Vec<u64>,
    /// Value in ns, each less the one before.
    ns: Vec<i64>,
}

#[derive(Serialize)]
struct Usage<'a> {
    deployment: &'a str,
    cpus: BTreeMap<&'a str, f64>,
    memory: BTreeMap<&'a str, f64>,
    series: Vec<TimeSeries<'a>>,
}

/// Memory by share after the window, mean bytes.
#[derive(Serialize)]
struct SharedMemory<'a> {
    deployment: &'a str,
    bytes: Vec<(&'static str, Option<f64>)>,
}

#[derive(Serialize)]
struct TimeSeries<'a> {
    subject: &'a str,
    from_s: f64,
    step_s: f64,
    cpus: Vec<Option<f64>>,
    mib: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Loss<'a> {
    deployment: &'a str,
    causes: BTreeMap<&'static str, Option<u64>>,
    worst: Vec<(&'a str, &'a str, &'static str, u64, Option<u64>)>,
}

/// The data of the page as JSON.
pub(crate) fn json(report: &Judgement) -> Result<String, ReportError> {
    let points = points_per_sketch(report);
    let mut chains: Vec<Chain<'_>> = Vec::new();
    for view in &report.figures.latency {
        if chains.last().is_none_or(|c| c.chain != view.chain) {
            let deadlines = &report.figures.experiment.stack.deadlines_ns;
            chains.push(Chain {
                chain: &view.chain,
                deadline_ns: deadlines.get(&view.chain).copied(),
                deployments: Vec::new(),
            });
        }
        if let Some(chain) = chains.last_mut() {
            chain.deployments.push(chain_deployment(view, points));
        }
    }
    let hops = hops::Hops::of(&report.figures.experiment.stack);
    let page = Page {
        schema: "stowplan.page/1",
        experiment: experiment(report)?,
        reference: report.figures.experiment.reference_id(),
        deployments: deployments(report),
        blocks: report
            .figures
            .runs
            .iter()
            .map(|r| r.block)
            .max()
            .unwrap_or(0),
        startup: report
            .figures
            .startup
            .iter()
            .map(|view| startup::one(view, &report.figures.usage))
            .collect(),
        instants: Instant::ALL.map(|i| [i.key(), i.label()]).to_vec(),
        chains,
        parts: Part::ALL.map(|p| [p.key(), p.label()]).to_vec(),
        usage: report.figures.usage.iter().map(usage).collect(),
        memory: report.figures.memory.iter().map(shared_memory).collect(),
        losses: losses(report),
        partitions: partitions::all(report, &hops),
        edges: edges::all(report, &hops),
        callbacks: callbacks::all(report),
        phases: phase_tables::shown(report),
        conclusion: report.conclusion(),
        comparisons: &report.comparisons,
        places: places::all(report),
        configured: configured::table(report),
        slower: &report.slower,
        against: report.against.as_ref(),
        regressions: report
            .against
            .as_ref()
            .map(regression_lines)
            .unwrap_or_default(),
        ablations: &report.ablations,
        rankings: &report.rankings,
        instrument: report.figures.instrument(),
        warnings: report.figures.warnings(),
    };
    serde_json::to_string(&page).map_err(not_json)
}

pub(crate) fn not_json(source: serde_json::Error) -> ReportError {
    ReportError::Page { source }
}

/// The experiment without what is long and shown otherwise.
fn experiment(report: &Judgement) -> Result<Value, ReportError> {
    let mut value = serde_json::to_value(&report.figures.experiment).map_err(not_json)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("schedule");
        object.remove("warnings");
        let partitions = object.get_mut("partitions").and_then(Value::as_array_mut);
        for partition in partitions.into_iter().flatten() {
            if let Some(partition) = partition.as_object_mut() {
                partition.remove("nodes");
                partition.remove("processes");
            }
        }
    }
    Ok(value)
}

fn deployments(report: &Judgement) -> Vec<Deployment<'_>> {
    let all = &report.figures.experiment.deployments;
    let views = all.iter().map(|d| Deployment {
        id: &d.id,
        label: report.figures.label(&d.id),
        place: &d.place,
        partition: &d.partition,
        services: d.services,
        processes: d.processes,
        participants: d.participants,
        edges: &d.edges_by_class,
        runs: report
            .figures
            .runs
            .iter()
            .filter(|r| *r.deployment == *d.id)
            .count(),
        finished: report.figures.finished(&d.id),
        refused: d.refused.as_deref(),
        step: report.figures.experiment.is_step(d),
        differences: differing_settings(&report.figures, d),
    });
    views.collect()
}

fn whole(ns: f64) -> i64 {
    ns.round() as i64
}

/// Points for the end-to-end latency and for every other part, so that all fit the page.
#[derive(Clone, Copy)]
struct Points {
    e2e: usize,
    others: usize,
}

fn points_per_sketch(report: &Judgement) -> Points {
    let sizes = |e2e: bool| -> Vec<usize> {
        let parts = report.figures.latency.iter().flat_map(|c| &c.parts);
        parts
            .filter(|f| (f.part == Part::E2ePaper) == e2e)
            .map(|f| f.sketch.points().len())
            .collect()
    };
    let largest = |sizes: &[usize], room: usize| {
        let fits = |points: &usize| sizes.iter().map(|s| (*s).min(*points)).sum::<usize>() <= room;
        [2_000, 1_000, 500, 250]
            .into_iter()
            .find(fits)
            .unwrap_or(MIN_POINTS)
    };
    let e2e_sizes = sizes(true);
    let e2e = largest(&e2e_sizes, POINTS);
    let used: usize = e2e_sizes.iter().map(|s| (*s).min(e2e)).sum();
    let others = largest(&sizes(false), POINTS.saturating_sub(used));
    Points { e2e, others }
}

fn chain_deployment(view: &ChainLatency, points: Points) -> ChainDeployment<'_> {
    let parts = view.parts.iter().map(|figures| {
        let most = match figures.part {
            Part::E2ePaper => points.e2e,
            _ => points.others,
        };
        let samples = Samples {
            block_mean: view.mean_of_blocks(figures.part),
            ..of_sketch(&figures.summary, &figures.sketch, most)
        };
        (figures.part.key(), samples)
    });
    ChainDeployment {
        deployment: &view.deployment,
        inputs: view.inputs,
        overwritten: view.overwritten,
        without_output: view.without_output,
        left_out: view.left_out,
        parts: parts.collect(),
    }
}

/// A sketch as at most about `most` points.
pub(crate) fn of_sketch<'a>(summary: &'a Summary, sketch: &Sketch, most: usize) -> Samples<'a> {
    let kept = thinned(sketch, most);
    let last = sketch.n().saturating_sub(1) as f64;
    let rank_error = kept.windows(2).map(|p| p[1].rank - p[0].rank);
    let index = kept.iter().map(|p| (p.rank * last).round() as u64);
    let ns = kept.iter().map(|p| whole(p.value));
    Samples {
        summary,
        block_mean: None,
        rank_error: rank_error.fold(0.0, f64::max),
        index: from_one_to_next(index, |a, b| a - b),
        ns: from_one_to_next(ns, |a, b| a - b),
    }
}

/// At most about `most` points, the ends among them.
fn thinned(sketch: &Sketch, most: usize) -> Vec<SketchPoint> {
    let points = sketch.points();
    let step = points.len().div_ceil(most.max(2)).max(1);
    let last = points.len() - 1;
    let kept = points.iter().enumerate();
    kept.filter(|(i, _)| i % step == 0 || *i == last)
        .map(|(_, point)| *point)
        .collect()
}

fn from_one_to_next<T: Copy + Default>(
    values: impl Iterator<Item = T>,
    less: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut before = T::default();
    values
        .map(|value| less(value, std::mem::replace(&mut before, value)))
        .collect()
}

fn usage(view: &DeploymentUsage) -> Usage<'_> {
    let subjects = || view.series.iter().map(|s| &*s.subject);
    Usage {
        deployment: &view.deployment,
        cpus: subjects()
            .filter_map(|s| Some((s, rounded(view.cpus(s)?, 1e4))))
            .collect(),
        memory: subjects()
            .filter_map(|s| Some((s, view.memory(s)?.round())))
            .collect(),
        series: view.series.iter().map(time_series).collect(),
    }
}

fn shared_memory(view: &DeploymentMemory) -> SharedMemory<'_> {
    let figures = view.figures().map(|figure| figure.map(f64::round));
    SharedMemory {
        deployment: &view.deployment,
        bytes: FIGURES.into_iter().zip(figures).collect(),
    }
}

fn time_series(series: &Series) -> TimeSeries<'_> {
    let all = |values: &[Option<f64>], per: f64, digits: f64| {
        values
            .iter()
            .map(|v| v.map(|v| rounded(v / per, digits)))
            .collect()
    };
    TimeSeries {
        subject: &series.subject,
        from_s: series.from_s,
        step_s: series.step_s,
        cpus: all(&series.cpus, 1.0, 1e3),
        mib: all(&series.memory, 1_048_576.0, 1e1),
    }
}

fn rounded(value: f64, digits: f64) -> f64 {
    (value * digits).round() / digits
}

fn losses(report: &Judgement) -> Vec<Loss<'_>> {
    let views = report.figures.losses.iter().map(|view| Loss {
        deployment: &view.deployment,
        causes: view.causes.iter().map(|(c, n)| (c.word(), *n)).collect(),
        worst: view
            .worst
            .iter()
            .map(|(topic, to, cause, lost, of)| (&**topic, &**to, cause.word(), *lost, *of))
            .collect(),
    });
    views.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_stats::{DEFAULT_POINTS, Sorted};

    #[test]
    fn differences_are_undone_by_adding_up() {
        let there = [3_i64, 3, 7, 12];
        let steps = from_one_to_next(there.into_iter(), |a, b| a - b);
        assert_eq!(steps, [3, 0, 4, 5]);
    }

    #[test]
    fn a_thinned_sketch_keeps_its_ends() {
        let sorted = Sorted::new((0..9_999).map(f64::from).collect()).unwrap();
        let sketch = Sketch::new(&sorted, DEFAULT_POINTS).unwrap();
        let kept = thinned(&sketch, 500);
        assert!(kept.len() <= 502);
        assert_eq!(kept[0].value, 0.0);
        assert_eq!(kept[kept.len() - 1].value, 9_998.0);
    }
}
