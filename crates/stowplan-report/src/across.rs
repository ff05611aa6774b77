//! Two results against each other: each deployment's ratio to the reference inside its own experiment
//! (MEASURING §5, "across time"). What changed for both drops out.

use stowplan_results::{Comparison, DeploymentRecord, Effect, Experiment, Results};
use stowplan_stats::{AcrossComparison, Scale, Verdict, apply_holm_across, compare_across};

use crate::compare::{Blocks, Losses, NATURAL, comparable, plan, rule};
use crate::error::ReportError;
use crate::metrics::{Metric, metrics};
use crate::report::Report;
use crate::usage::mean;

/// Compares every deployment that both results have, less the common reference.
///
/// # Errors
/// When machines or stacks differ, the results have no common reference, or a table cannot be read.
pub fn across(old: &Results, new: &Results) -> Result<Vec<Comparison>, ReportError> {
    same_subject(&old.experiment, &new.experiment)?;
    let (old, new) = (Report::read(old)?, Report::read(new)?);
    let reference = common_reference(&old, &new)?;
    let candidates = candidates(&old, &new, &reference);
    let losses = (Losses::of(&old), Losses::of(&new));
    let old_metrics = metrics(&old);
    let mut rows = Vec::new();
    for new_metric in metrics(&new) {
        let same = |m: &&Metric| m.key == new_metric.key && m.subject == new_metric.subject;
        let Some(old_metric) = old_metrics.iter().find(same) else {
            continue;
        };
        let pair = (old_metric, &new_metric);
        rows.extend(one_metric(
            (&old, &new),
            pair,
            &reference,
            &candidates,
            &losses,
        )?);
    }
    Ok(rows)
}

/// Refuses results that say nothing about each other: another machine, stack, window, scale or way of phases.
fn same_subject(old: &Experiment, new: &Experiment) -> Result<(), ReportError> {
    if !old.machine.is_same_as(&new.machine) {
        return Err(ReportError::OtherMachine {
            old: old.machine.to_string(),
            new: new.machine.to_string(),
        });
    }
    let stack = |e: &Experiment| {
        let version = e
            .stack
            .sha256
            .get(..8)
            .unwrap_or(&e.stack.sha256)
            .to_owned();
        (e.stack.name.clone(), version)
    };
    if stack(old) != stack(new) {
        let told = |(name, version): (String, String)| format!("{name} ({version})");
        return Err(ReportError::OtherStack {
            old: told(stack(old)),
            new: told(stack(new)),
        });
    }
    for (what, of) in SETTINGS {
        if of(old) != of(new) {
            return Err(ReportError::OtherReference {
                what,
                old: of(old),
                new: of(new),
            });
        }
    }
    Ok(())
}

/// What has to be equal for the reference to be one and the same.
type Setting = (&'static str, fn(&Experiment) -> String);

const SETTINGS: [Setting; 4] = [
    ("window", |e| format!("{} s", e.window_s)),
    ("utilisation", |e| {
        e.utilisation
            .map_or_else(|| "none".to_owned(), |u| u.to_string())
    }),
    ("timer phases", |e| {
        e.phase.clone().unwrap_or_else(|| "not said".to_owned())
    }),
    ("starts", |e| {
        let starts = e.parameters.get("starts");
        starts.map_or_else(|| "not said".to_owned(), ToString::to_string)
    }),
];

/// The old reference, if the new experiment has the very same deployment.
fn common_reference(old: &Report, new: &Report) -> Result<DeploymentRecord, ReportError> {
    let id = old.experiment.reference_id().unwrap_or_default();
    let of = |report: &Report| {
        let mut ran = report.deployments().into_iter();
        ran.find(|d| d.id == id).cloned()
    };
    let (Some(before), Some(after)) = (of(old), of(new)) else {
        return Err(ReportError::NoReference {
            id: id.to_owned(),
            have: new.deployments().iter().map(|d| d.id.clone()).collect(),
        });
    };
    let nodes = |report: &Report| {
        let mut partitions = report.experiment.partitions.iter();
        let own = partitions.find(|p| p.name == before.partition);
        own.map(|p| p.nodes.clone())
    };
    let differ = |what, is: bool| {
        let [old, new] = ["as before", "changed"].map(str::to_owned);
        if is {
            return Err(ReportError::OtherReference { what, old, new });
        }
        Ok(())
    };
    differ("partition of the reference", nodes(old) != nodes(new))?;
    differ("limits of the reference", before.limits != after.limits)?;
    differ(
        "isolation of the reference",
        before.isolation != after.isolation,
    )?;
    Ok(before)
}

/// Deployments that both have, in the order of the old result; steps of an ablation answer another question.
fn candidates(old: &Report, new: &Report, reference: &DeploymentRecord) -> Vec<DeploymentRecord> {
    let new = new.deployments();
    let both = old.deployments().into_iter().filter(|d| {
        let step = old.experiment.is_step(d);
        d.id != reference.id && !step && new.iter().any(|n| n.id == d.id)
    });
    both.cloned().collect()
}

fn one_metric(
    (old, new): (&Report, &Report),
    (old_metric, new_metric): (&Metric, &Metric),
    reference: &DeploymentRecord,
    candidates: &[DeploymentRecord],
    losses: &(Losses, Losses),
) -> Result<Vec<Comparison>, ReportError> {
    let rule = rule(&old.experiment, old_metric);
    let primary = plan(&old.experiment, old_metric).is_some_and(|m| m.primary);
    let mut compared = Vec::new();
    for candidate in candidates {
        let blocks = |metric| Blocks::of(metric, &reference.id, &candidate.id);
        let (before, after) = (blocks(old_metric), blocks(new_metric));
        let usable = |blocks: &Blocks| {
            blocks.a.len() >= 2 && comparable(old_metric.scale, &blocks.a, &blocks.b)
        };
        if usable(&before) && usable(&after) {
            let what = format!("{} of {}", old_metric.label, candidate.label);
            let c = compare_across(&rule, (&before.a, &before.b), (&after.a, &after.b))
                .map_err(ReportError::stats(what))?;
            compared.push((candidate, before, after, c));
        }
    }
    if primary {
        let mut family: Vec<AcrossComparison> = compared.iter().map(|(.., c)| c.clone()).collect();
        apply_holm_across(&mut family);
        for ((.., c), corrected) in compared.iter_mut().zip(family) {
            *c = corrected;
        }
    }
    let natural = |report: &Report| report.experiment.phase.as_deref() == Some("natural");
    let rows = compared.into_iter().map(|(candidate, before, after, c)| {
        let mut row = row(old_metric, candidate, (&before, &after), &c, primary);
        let loss = |d| losses.0.changed(&losses.1, old_metric, d);
        let reason = if old_metric.of_phase && (natural(old) || natural(new)) {
            Some(NATURAL.to_owned())
        } else if old_metric.of_loss {
            loss(candidate).or_else(|| loss(reference))
        } else {
            None
        };
        if let Some(reason) = reason {
            (row.verdict, row.verdict_reason) = (Verdict::Inconclusive, reason);
        }
        row
    });
    Ok(rows.collect())
}

fn row(
    metric: &Metric,
    candidate: &DeploymentRecord,
    (before, after): (&Blocks, &Blocks),
    c: &AcrossComparison,
    primary: bool,
) -> Comparison {
    Comparison {
        metric: metric.key.clone(),
        label: metric.label.clone(),
        unit: metric.unit.to_owned(),
        subject: metric.subject.clone(),
        effect: Effect::Total,
        primary,
        reference: format!("{} (before)", candidate.id),
        candidate: format!("{} (after)", candidate.id),
        reference_value: mean(before.b.iter().copied()),
        candidate_value: mean(after.b.iter().copied()),
        relative: metric.scale == Scale::LogRatio,
        difference: Some(c.estimate),
        low: Some(c.low),
        high: Some(c.high),
        delta: c.delta,
        p_sign_flip: None,
        p_t: Some(c.p_t),
        blocks: c.n_old.min(c.n_new),
        verdict: c.verdict,
        verdict_reason: c.reason.to_string(),
        difference_reason: None,
        blocks_needed: None,
    }
}
