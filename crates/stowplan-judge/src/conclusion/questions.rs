//! The questions that a result answers, and the deployment that is best at each.

use serde::Serialize;
use stowplan_results::{Comparison, DeploymentRecord, StartKind};
use stowplan_stats::{Direction, Verdict};

use super::Asked;
use crate::compare::plan;
use crate::figures::Figures;
use crate::judgement::Judgement;
use crate::metrics::Metric;
use crate::usage::SERVICES;

/// A question with the deployment that is best at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// What is asked, as `End-to-end latency`.
    pub question: String,
    /// The same in a sentence, as `mean end-to-end latency of lidar_to_brake`.
    pub noun: String,
    /// Metric, as in `comparisons.json`.
    pub metric: String,
    /// Metric for people.
    pub label: String,
    /// Chain, kind of start or service that it is about.
    pub subject: Option<String>,
    /// Unit of the values.
    pub unit: String,
    /// Whether it answers the question of the experiment; all else is exploratory.
    pub primary: bool,
    /// Whether larger values are better.
    pub higher_is_better: bool,
    /// Id of the best deployment; where nothing is decided, of that with the best mean.
    pub best: String,
    /// Id of the reference.
    pub reference: String,
    /// Id of the deployment whose difference from the reference is given: the best, or the next best where that is the
    /// reference.
    pub candidate: String,
    /// Mean over the blocks of the best deployment.
    pub best_value: Option<f64>,
    /// Mean over the blocks of the reference.
    pub reference_value: Option<f64>,
    /// Whether the difference and its interval are relative changes; else they are in `unit`.
    pub relative: bool,
    /// Estimated difference of `candidate` from the reference.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Smallest difference that matters.
    pub delta: f64,
    /// Verdict on `candidate`.
    pub verdict: Verdict,
    /// Why it came out so.
    pub verdict_reason: String,
}

/// What is asked of a result, that of the experiment first.
pub(super) fn asked<'a>(figures: &Figures, metrics: &'a [Metric]) -> Vec<Asked<'a>> {
    let has = |m: &&Metric| m.values.values().any(|blocks| !blocks.is_empty());
    let mut all: Vec<Asked<'_>> = if figures.experiment.is_of_stacks() {
        of_stacks(metrics)
    } else {
        metrics.iter().filter(has).map(of_suite).collect()
    };
    let primary = |asked: &Asked<'_>| plan(&figures.experiment, asked.metric);
    all.sort_by_key(|asked| !primary(asked).is_some_and(|metric| metric.primary));
    all
}

fn of_suite(metric: &Metric) -> Asked<'_> {
    let subject = metric.subject.as_deref();
    let question = subject.map_or_else(
        || metric.label.clone(),
        |of| format!("{} of {of}", metric.label),
    );
    Asked {
        noun: question.clone(),
        question,
        metric,
    }
}

fn of_stacks(metrics: &[Metric]) -> Vec<Asked<'_>> {
    let has = |m: &&Metric| m.values.values().any(|blocks| !blocks.is_empty());
    let of = |key: &'static str| metrics.iter().filter(move |m| m.key == key).filter(has);
    let mut asked = Vec::new();
    let start = [StartKind::Cold, StartKind::Rerun, StartKind::Warm];
    let start = start.into_iter().find_map(|kind| {
        of("startup_first_output").find(|m| m.subject.as_deref() == Some(kind.word()))
    });
    asked.extend(start.map(|metric| Asked {
        question: "Start-up".to_owned(),
        noun: format!("{} start-up to the first chain output", of_metric(metric)),
        metric,
    }));
    asked.extend(of("e2e_paper_mean").map(|metric| Asked {
        question: "End-to-end latency".to_owned(),
        noun: format!("mean end-to-end latency of {}", of_metric(metric)),
        metric,
    }));
    asked.extend(of("deadline_misses").map(|metric| Asked {
        question: "Deadline".to_owned(),
        noun: format!("share of missed deadlines of {}", of_metric(metric)),
        metric,
    }));
    asked.extend(of("cpu").next().map(|metric| Asked {
        question: "CPU".to_owned(),
        noun: "CPU use of the services".to_owned(),
        metric,
    }));
    let of_services = |m: &&Metric| m.subject.as_deref() == Some(SERVICES);
    let memory = of("memory_pss").next();
    let memory = memory.or_else(|| of("memory_peak").find(of_services));
    asked.extend(memory.map(|metric| Asked {
        question: "Memory".to_owned(),
        noun: "memory of the services".to_owned(),
        metric,
    }));
    asked
}

fn of_metric(metric: &Metric) -> &str {
    metric.subject.as_deref().unwrap_or_default()
}

/// The answer to one question; `None` where nothing is compared with the reference.
pub(super) fn answered(judgement: &Judgement, asked: &Asked<'_>) -> Option<Question> {
    let reference = judgement.figures.experiment.reference_id()?;
    let experiment = &judgement.figures.experiment;
    let is_again = |id: &str| {
        let deployment = experiment.deployment(id);
        deployment.is_some_and(DeploymentRecord::is_again)
    };
    let all = judgement.comparisons.iter();
    let of_metric = all.filter(|c| {
        c.reference == reference
            && c.metric == asked.metric.key
            && c.subject == asked.metric.subject
            && !is_again(&c.candidate)
    });
    let higher = asked.metric.direction == Direction::HigherIsBetter;
    let candidate = of_metric.min_by(|a, b| rank(a, higher).total_cmp(&rank(b, higher)))?;
    let seems_no_better = candidate
        .difference
        .is_some_and(|d| if higher { d <= 0.0 } else { d >= 0.0 });
    let reference_is_best = match candidate.verdict {
        Verdict::Better => false,
        Verdict::Worse | Verdict::Equivalent => true,
        Verdict::Inconclusive | Verdict::NoControl | Verdict::LostInputsDiffer => seems_no_better,
    };
    let best = match reference_is_best {
        true => reference,
        false => &candidate.candidate,
    };
    Some(Question {
        question: asked.question.clone(),
        noun: asked.noun.clone(),
        metric: asked.metric.key.clone(),
        label: asked.metric.label.clone(),
        subject: asked.metric.subject.clone(),
        unit: asked.metric.unit.clone(),
        primary: candidate.primary,
        higher_is_better: higher,
        best: best.to_owned(),
        reference: reference.to_owned(),
        candidate: candidate.candidate.clone(),
        best_value: asked.metric.mean(best),
        reference_value: asked.metric.mean(reference),
        relative: candidate.relative,
        difference: candidate.difference,
        low: candidate.low,
        high: candidate.high,
        delta: candidate.delta,
        verdict: candidate.verdict,
        verdict_reason: candidate.verdict_reason.clone(),
    })
}

/// The comparisons of a question with its reference.
pub(super) fn comparisons<'a>(
    judgement: &'a Judgement,
    question: &Question,
) -> impl Iterator<Item = &'a Comparison> {
    let (metric, subject) = (question.metric.clone(), question.subject.clone());
    let reference = question.reference.clone();
    let all = judgement.comparisons.iter();
    all.filter(move |c| c.reference == reference && c.metric == metric && c.subject == subject)
}

/// Better ones come first, then what is not decided, then what is as good or worse; each by its difference.
fn rank(c: &Comparison, higher_is_better: bool) -> f64 {
    const APART: f64 = 1e12;
    let sign = if higher_is_better { -1.0 } else { 1.0 };
    let difference = (sign * c.difference.unwrap_or(0.0)).clamp(-APART / 4.0, APART / 4.0);
    let class = match c.verdict {
        Verdict::Better => 0.0,
        Verdict::Inconclusive | Verdict::NoControl | Verdict::LostInputsDiffer => 1.0,
        Verdict::Equivalent | Verdict::Worse => 2.0,
    };
    class * APART + difference
}
