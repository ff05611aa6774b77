//! Two results against each other: each deployment's ratio to the reference inside its own experiment
//! (MEASURING §5, "across time"). What changed for both drops out.

use stowplan_results::{Comparison, Comparisons, DeploymentRecord, EarlierResult, Effect, Results};
use stowplan_stats::{
    AcrossComparison, DEFAULT_DELTA, Scale, Verdict, apply_holm_across, compare_across,
};

use crate::common::{Common, Side};
use crate::compare::{Blocks, Losses, NATURAL, comparable, plan, rule};
use crate::error::ReportError;
use crate::metrics::{LOST_INPUTS, Metric, metrics};
use crate::report::Report;
use crate::slower::Held;
use crate::usage::mean;

/// Compares every deployment that both results have, less the common reference, and tells where chains got slower.
///
/// # Errors
/// When machines or stacks differ, the results have no common reference or nothing beside it, or a table cannot be read.
pub fn across(old: &Results, new: &Results) -> Result<Comparisons, ReportError> {
    let common = Common::of(&Side::measured(old), &Side::measured(new))?;
    let reports = (Report::read(old)?, Report::read(new)?);
    let losses = (Losses::of(&reports.0), Losses::of(&reports.1));
    let old_metrics = metrics(&reports.0);
    let mut rows = Vec::new();
    for new_metric in metrics(&reports.1) {
        let same = |m: &&Metric| m.key == new_metric.key && m.subject == new_metric.subject;
        let Some(old_metric) = old_metrics.iter().find(same) else {
            continue;
        };
        let pair = (old_metric, &new_metric);
        rows.extend(one_metric(
            (&reports.0, &reports.1),
            pair,
            &common,
            &losses,
        )?);
    }
    let mut slower = Vec::new();
    for candidate in &common.candidates {
        let name = after(&candidate.id);
        let own: Vec<&Comparison> = rows.iter().filter(|c| c.candidate == name).collect();
        let held = Held {
            old: Some(&reports.0),
            new: &reports.1,
            reference: &common.reference.id,
            candidate,
        };
        slower.extend(held.slower(&own)?);
    }
    Ok(Comparisons {
        against: Some(earlier(old)),
        ..Comparisons::new(rows).with_slower(slower)
    })
}

fn earlier(old: &Results) -> EarlierResult {
    let name = old.dir().file_name().unwrap_or(old.dir().as_os_str());
    EarlierResult {
        result: name.display().to_string(),
        created_unix_s: old.experiment.created_unix_s,
        build_id: old.experiment.build_id.clone(),
    }
}

/// What stands for a deployment in comparisons across results.
fn before(id: &str) -> String {
    format!("{id}{BEFORE}")
}

fn after(id: &str) -> String {
    format!("{id}{AFTER}")
}

/// Id of a deployment, also where it stands beside its earlier self.
pub(crate) fn deployment_of(named: &str) -> &str {
    let id = named.strip_suffix(AFTER);
    id.or_else(|| named.strip_suffix(BEFORE)).unwrap_or(named)
}

const BEFORE: &str = " (before)";
const AFTER: &str = " (after)";

fn one_metric(
    (old, new): (&Report, &Report),
    (old_metric, new_metric): (&Metric, &Metric),
    common: &Common,
    losses: &(Losses, Losses),
) -> Result<Vec<Comparison>, ReportError> {
    let rule = rule(&old.experiment, old_metric);
    let declared = plan(&old.experiment, old_metric);
    let primary = declared.is_some_and(|m| m.primary);
    let delta = declared.map_or(DEFAULT_DELTA, |m| m.delta);
    let (mut compared, mut gone) = (Vec::new(), Vec::new());
    for candidate in &common.candidates {
        let blocks = |metric| Blocks::of(metric, &common.reference.id, &candidate.id);
        let (before, after) = (blocks(old_metric), blocks(new_metric));
        let usable = |blocks: &Blocks| {
            blocks.a.len() >= 2 && comparable(old_metric.scale, &blocks.a, &blocks.b)
        };
        if usable(&before) && usable(&after) {
            let what = format!("{} of {}", old_metric.label, candidate.label);
            let c = compare_across(&rule, (&before.a, &before.b), (&after.a, &after.b))
                .map_err(ReportError::stats(what))?;
            compared.push((candidate, before, after, c));
        } else if primary && usable(&before) && has_gone(new_metric, &common.reference, candidate) {
            gone.push(row_of_gone(old_metric, delta, candidate, &before));
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
            loss(candidate).or_else(|| loss(&common.reference))
        } else {
            None
        };
        if let Some(reason) = reason {
            (row.verdict, row.verdict_reason) = (Verdict::Inconclusive, reason);
        }
        row
    });
    Ok(rows.chain(gone).collect())
}

/// Whether the reference has values and the candidate has none: no input reached the end of the chain any more.
fn has_gone(metric: &Metric, reference: &DeploymentRecord, candidate: &DeploymentRecord) -> bool {
    let has = |d: &DeploymentRecord| metric.values.get(&d.id).is_some_and(|b| !b.is_empty());
    has(reference) && !has(candidate)
}

/// What is not there any more has no interval, and is told all the same.
fn row_of_gone(
    metric: &Metric,
    delta: f64,
    candidate: &DeploymentRecord,
    old: &Blocks,
) -> Comparison {
    let reason = "the later result has no value of it";
    Comparison {
        metric: metric.key.clone(),
        label: metric.label.clone(),
        unit: metric.unit.to_owned(),
        subject: metric.subject.clone(),
        effect: Effect::Total,
        primary: true,
        reference: before(&candidate.id),
        candidate: after(&candidate.id),
        reference_value: mean(old.b.iter().copied()),
        candidate_value: None,
        relative: metric.scale == Scale::LogRatio,
        difference: None,
        low: None,
        high: None,
        delta,
        p_sign_flip: None,
        p_t: None,
        blocks: 0,
        verdict: Verdict::Inconclusive,
        verdict_reason: reason.to_owned(),
        difference_reason: Some(reason.to_owned()),
        blocks_needed: None,
        unmarked: None,
    }
}

/// Whether a comparison with an earlier result says that something got worse: by a verdict on what answers the
/// question, or because more inputs are lost, which takes such a verdict back, or because nothing is left to compare.
pub(crate) fn is_regression(c: &Comparison) -> bool {
    let gone = c.primary && c.reference_value.is_some() && c.candidate_value.is_none();
    let worse = c.verdict == Verdict::Worse;
    gone || worse && (c.primary || c.metric == LOST_INPUTS)
}

fn row(
    metric: &Metric,
    candidate: &DeploymentRecord,
    (old, new): (&Blocks, &Blocks),
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
        reference: before(&candidate.id),
        candidate: after(&candidate.id),
        reference_value: mean(old.b.iter().copied()),
        candidate_value: mean(new.b.iter().copied()),
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
        unmarked: None,
    }
}
