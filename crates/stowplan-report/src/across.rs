//! Two results against each other: each deployment's ratio to the reference inside its own experiment
//! (MEASURING §5, "across time"). What changed for both drops out.

use stowplan_results::{Comparison, DeploymentRecord, Effect, Results};
use stowplan_stats::{Delta, Direction, Rule, Scale, compare_across};

use crate::compare::{Blocks, Metric, metrics};
use crate::error::ReportError;
use crate::report::Report;

/// Compares every deployment that both results have, less the common reference.
///
/// # Errors
/// When the machines differ, the results have no common reference, or a table cannot be read.
pub fn across(old: &Results, new: &Results) -> Result<Vec<Comparison>, ReportError> {
    let (before, after) = (&old.experiment.machine, &new.experiment.machine);
    if (&before.host, &before.cpu_model, before.cpus) != (&after.host, &after.cpu_model, after.cpus)
    {
        return Err(ReportError::OtherMachine {
            old: format!(
                "{} ({}, {} CPUs)",
                before.host, before.cpu_model, before.cpus
            ),
            new: format!("{} ({}, {} CPUs)", after.host, after.cpu_model, after.cpus),
        });
    }
    let (old, new) = (Report::read(old)?, Report::read(new)?);
    let reference = common_reference(&old, &new)?;
    let old_metrics = metrics(&old);
    let mut compared = Vec::new();
    for new_metric in metrics(&new) {
        let same = |m: &&Metric| m.key == new_metric.key && m.subject == new_metric.subject;
        let Some(old_metric) = old_metrics.iter().find(same) else {
            continue;
        };
        for candidate in old.deployments() {
            if candidate.id != reference.id
                && new.deployments().iter().any(|d| d.id == candidate.id)
            {
                compared.extend(one(&old, (old_metric, &new_metric), &reference, candidate)?);
            }
        }
    }
    Ok(compared)
}

fn common_reference(old: &Report, new: &Report) -> Result<DeploymentRecord, ReportError> {
    let id = old.experiment.reference_id();
    let found = new.deployments().into_iter().find(|d| Some(&*d.id) == id);
    found.cloned().ok_or_else(|| ReportError::NoReference {
        id: id.unwrap_or_default().to_owned(),
        have: new.deployments().iter().map(|d| d.id.clone()).collect(),
    })
}

fn one(
    old: &Report,
    (old_metric, new_metric): (&Metric, &Metric),
    reference: &DeploymentRecord,
    candidate: &DeploymentRecord,
) -> Result<Option<Comparison>, ReportError> {
    let pair = (reference, candidate);
    let (before, after) = (Blocks::of(old_metric, &pair), Blocks::of(new_metric, &pair));
    let usable = |blocks: &Blocks| {
        let positive = blocks.a.iter().chain(&blocks.b).all(|v| *v > 0.0);
        blocks.a.len() >= 2 && (positive || old_metric.scale == Scale::Difference)
    };
    if !(usable(&before) && usable(&after)) {
        return Ok(None);
    }
    let plan = old
        .experiment
        .metrics
        .iter()
        .find(|m| m.metric == old_metric.key);
    let delta = plan.map_or(stowplan_stats::DEFAULT_DELTA, |m| m.delta);
    let rule = Rule {
        metric: old_metric.key.clone(),
        scale: old_metric.scale,
        direction: Direction::LowerIsBetter,
        delta: match old_metric.scale {
            Scale::LogRatio => Delta::Relative(delta),
            Scale::Difference => Delta::Absolute(delta),
        },
        seed: old.experiment.seed,
    };
    let what = format!("{} of {}", old_metric.label, candidate.label);
    let c = compare_across(&rule, (&before.a, &before.b), (&after.a, &after.b))
        .map_err(ReportError::stats(what))?;
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Ok(Some(Comparison {
        metric: old_metric.key.clone(),
        label: old_metric.label.clone(),
        unit: old_metric.unit.to_owned(),
        subject: old_metric.subject.clone(),
        effect: Effect::Total,
        primary: plan.is_some_and(|m| m.primary),
        reference: format!("{} (before)", candidate.id),
        candidate: format!("{} (after)", candidate.id),
        reference_value: mean(&before.b),
        candidate_value: mean(&after.b),
        relative: old_metric.scale == Scale::LogRatio,
        difference: Some(c.estimate),
        low: Some(c.low),
        high: Some(c.high),
        delta,
        p_sign_flip: None,
        p_t: Some(c.p_t),
        blocks: c.n_old.min(c.n_new),
        verdict: c.verdict,
        verdict_reason: c.reason.to_string(),
        difference_reason: None,
        blocks_needed: None,
    }))
}
