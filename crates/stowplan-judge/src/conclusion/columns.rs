//! What each deployment came to: a value per question, with its difference from the reference.

use serde::Serialize;
use stowplan_stats::Verdict;

use super::Asked;
use crate::judgement::Judgement;
use crate::metrics::Metric;

/// Columns of an overview, at most.
const COLUMNS: usize = 6;

/// Deployments by what they came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// What the columns are of.
    pub columns: Vec<Column>,
    /// Id of each deployment that has a finished run, and its cells.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// Index of the column that answers the question of the experiment, else of the first.
    pub main: usize,
    /// The chain that columns are of.
    pub chain: Option<String>,
    /// Chains that have no columns.
    pub other_chains: usize,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// Metric, as in `comparisons.json`.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// Whether differences are relative changes; else they are in `unit`.
    pub relative: bool,
}

/// What one deployment came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Mean over the blocks.
    pub value: Option<f64>,
    /// Estimated difference from the reference.
    pub difference: Option<f64>,
    /// Verdict on it.
    pub verdict: Option<Verdict>,
}

pub(super) fn overview(judgement: &Judgement, asked: &[Asked<'_>], metrics: &[Metric]) -> Overview {
    let experiment = &judgement.figures.experiment;
    let chain = asked
        .iter()
        .find(|a| a.metric.key == "e2e_paper_mean")
        .and_then(|a| a.metric.subject.clone());
    let chosen = match experiment.is_of_stacks() {
        true => of_stacks(asked, metrics, chain.as_deref()),
        false => asked
            .iter()
            .map(|a| (a.question.clone(), a.metric))
            .collect(),
    };
    let has = |m: &Metric| m.values.values().any(|blocks| !blocks.is_empty());
    let chosen = chosen.into_iter().filter(|(_, metric)| has(metric));
    let chosen: Vec<(String, &Metric)> = chosen.take(COLUMNS).collect();
    let ran = judgement.figures.alternatives();
    let rows = ran.iter().map(|d| {
        let cells = chosen
            .iter()
            .map(|(_, metric)| cell(judgement, metric, &d.id));
        (d.id.clone(), cells.collect())
    });
    let chains = asked.iter().filter(|a| a.metric.key == "e2e_paper_mean");
    let answers = |(_, m): &(String, &Metric)| asked.first().is_some_and(|a| a.metric.key == m.key);
    Overview {
        main: chosen.iter().position(answers).unwrap_or(0),
        columns: chosen
            .iter()
            .map(|(name, metric)| column(name, metric))
            .collect(),
        rows: rows.collect(),
        other_chains: chains.count().saturating_sub(1),
        chain,
    }
}

/// First output, mean and P99 of the chain, its deadline, CPU and memory, as far as they are known.
fn of_stacks<'a>(
    asked: &[Asked<'a>],
    metrics: &'a [Metric],
    chain: Option<&str>,
) -> Vec<(String, &'a Metric)> {
    let of = |key: &str| asked.iter().find(|a| a.metric.key == key).map(|a| a.metric);
    let of_chain = |key: &str| {
        let mut all = metrics.iter();
        all.find(|m| m.key == key && m.subject.as_deref() == chain)
    };
    let columns = [
        ("First output", of("startup_first_output")),
        ("E2E mean", of_chain("e2e_paper_mean")),
        ("E2E P99", of_chain("e2e_paper_p99")),
        ("Misses", of_chain("deadline_misses")),
        ("CPUs", of("cpu")),
        ("Memory", of("memory_pss").or_else(|| of("memory_peak"))),
    ];
    let known = columns.into_iter();
    known
        .filter_map(|(name, metric)| Some((name.to_owned(), metric?)))
        .collect()
}

fn column(name: &str, metric: &Metric) -> Column {
    Column {
        name: name.to_owned(),
        metric: metric.key.clone(),
        unit: metric.unit.clone(),
        relative: metric.scale == stowplan_stats::Scale::LogRatio,
    }
}

fn cell(judgement: &Judgement, metric: &Metric, deployment: &str) -> Cell {
    let reference = judgement.figures.experiment.reference_id();
    let found = judgement.comparisons.iter().find(|c| {
        Some(&*c.reference) == reference
            && c.candidate == deployment
            && c.metric == metric.key
            && c.subject == metric.subject
    });
    Cell {
        value: metric.mean(deployment),
        difference: found.and_then(|c| c.difference),
        verdict: found.map(|c| c.verdict),
    }
}
