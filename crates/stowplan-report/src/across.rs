//! Two results against each other: each deployment's ratio to the reference inside its own experiment
//! (MEASURING §5, "across time"). What changed for both drops out.

use stowplan_results::{Comparison, DeploymentRecord, Effect, Results};
use stowplan_stats::{Scale, Verdict, compare_across};

use crate::compare::{Blocks, NATURAL, comparable, rule};
use crate::error::ReportError;
use crate::metrics::{Metric, metrics};
use crate::report::Report;
use crate::usage::mean;

/// Compares every deployment that both results have, less the common reference.
///
/// # Errors
/// When machines or stacks differ, the results have no common reference, or a table cannot be read.
pub fn across(old: &Results, new: &Results) -> Result<Vec<Comparison>, ReportError> {
    let (before, after) = (&old.experiment.machine, &new.experiment.machine);
    if !before.is_same_as(after) {
        return Err(ReportError::OtherMachine {
            old: before.to_string(),
            new: after.to_string(),
        });
    }
    let stacks = (&old.experiment.stack.name, &new.experiment.stack.name);
    if stacks.0 != stacks.1 {
        return Err(ReportError::OtherStack {
            old: stacks.0.clone(),
            new: stacks.1.clone(),
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
                compared.extend(one(
                    (&old, &new),
                    (old_metric, &new_metric),
                    &reference,
                    candidate,
                )?);
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
    (old, new): (&Report, &Report),
    (old_metric, new_metric): (&Metric, &Metric),
    reference: &DeploymentRecord,
    candidate: &DeploymentRecord,
) -> Result<Option<Comparison>, ReportError> {
    let blocks = |metric| Blocks::of(metric, &reference.id, &candidate.id);
    let (before, after) = (blocks(old_metric), blocks(new_metric));
    let usable =
        |blocks: &Blocks| blocks.a.len() >= 2 && comparable(old_metric.scale, &blocks.a, &blocks.b);
    if !(usable(&before) && usable(&after)) {
        return Ok(None);
    }
    let rule = rule(&old.experiment, old_metric);
    let what = format!("{} of {}", old_metric.label, candidate.label);
    let c = compare_across(&rule, (&before.a, &before.b), (&after.a, &after.b))
        .map_err(ReportError::stats(what))?;
    let natural = |report: &Report| report.experiment.phase.as_deref() == Some("natural");
    let (verdict, verdict_reason) = if old_metric.of_phase && (natural(old) || natural(new)) {
        (Verdict::Inconclusive, NATURAL.to_owned())
    } else {
        (c.verdict, c.reason.to_string())
    };
    let mut plans = old.experiment.metrics.iter();
    Ok(Some(Comparison {
        metric: old_metric.key.clone(),
        label: old_metric.label.clone(),
        unit: old_metric.unit.to_owned(),
        subject: old_metric.subject.clone(),
        effect: Effect::Total,
        primary: plans.any(|m| m.primary && m.metric == old_metric.key),
        reference: format!("{} (before)", candidate.id),
        candidate: format!("{} (after)", candidate.id),
        reference_value: mean(before.b.iter().copied()),
        candidate_value: mean(after.b.iter().copied()),
        relative: old_metric.scale == Scale::LogRatio,
        difference: Some(c.estimate),
        low: Some(c.low),
        high: Some(c.high),
        delta: c.delta,
        p_sign_flip: None,
        p_t: Some(c.p_t),
        blocks: c.n_old.min(c.n_new),
        verdict,
        verdict_reason,
        difference_reason: None,
        blocks_needed: None,
    }))
}
