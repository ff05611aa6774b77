//! What a difference comes from.

use stowplan_results::{AblationStep, Comparison, DeploymentRecord, Effect};
use stowplan_stats::Verdict;

use super::Question;
use super::answer::change_of;
use crate::judgement::Judgement;

pub(super) fn sentences(judgement: &Judgement, main: &Question) -> Vec<String> {
    let effects = ablated(judgement, main).or_else(|| effects(judgement, main));
    effects.into_iter().chain(waited(judgement, main)).collect()
}

/// What the additions of an ablation change: those that change something, else the one that may change most.
fn ablated(judgement: &Judgement, main: &Question) -> Option<String> {
    let of_metric = |c: &Comparison| (&c.metric, &c.subject) == (&main.metric, &main.subject);
    let mut all = judgement.ablations.iter();
    let ablation = all.find(|ablation| of_metric(&ablation.whole))?;
    let steps = || ablation.steps.iter();
    let size = |step: &&AblationStep| step.comparison.difference.map_or(0.0, f64::abs);
    let changes =
        |step: &&AblationStep| matches!(step.comparison.verdict, Verdict::Better | Verdict::Worse);
    let mut shown: Vec<&AblationStep> = steps().filter(changes).collect();
    if shown.is_empty() {
        shown.extend(steps().max_by(|a, b| size(a).total_cmp(&size(b))));
    }
    let shown = shown.iter().map(|step| {
        let c = &step.comparison;
        format!("{} {} ({})", step.label, change_of(c), c.verdict)
    });
    let shown: Vec<String> = shown.collect();
    Some(format!(
        "By addition, of {} from plain processes to containers: {}.",
        ablation.steps.len(),
        shown.join("; ")
    ))
}

/// The effects that the difference is made of, as far as each was measured by a pair that differs in nothing else.
fn effects(judgement: &Judgement, main: &Question) -> Option<String> {
    let experiment = &judgement.figures.experiment;
    let own = experiment.deployment(&main.candidate)?;
    let all = judgement.comparisons.iter();
    let of_metric = all.filter(|c| c.metric == main.metric && c.subject == main.subject);
    let of_metric: Vec<&Comparison> = of_metric.collect();
    let kinds = [
        Effect::Splitting,
        Effect::GroupScheduling,
        Effect::Isolation,
        Effect::Resources,
    ];
    let told = kinds.into_iter().filter_map(|kind| {
        let of_kind = of_metric.iter().filter(|c| c.effect == kind);
        let found = of_kind.min_by_key(|c| {
            let (a, b) = (
                experiment.deployment(&c.reference),
                experiment.deployment(&c.candidate),
            );
            let distance = a.zip(b).map(|(a, b)| distance(own, a, b));
            // Splitting is told where the reference is, so that the effects follow one another.
            let elsewhere = kind == Effect::Splitting && c.reference != main.reference;
            distance.map_or(usize::MAX, |distance| distance + usize::from(elsewhere) * 4)
        })?;
        let (a, b) = (
            experiment.deployment(&found.reference)?,
            experiment.deployment(&found.candidate)?,
        );
        (distance(own, a, b) < FAR).then(|| told(kind, a, b, found))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("By effect: {}.", told.join("; ")))
}

/// A pair this far away says nothing of a deployment.
const FAR: usize = 100;

/// How far a pair is from telling an effect that is in `own`: it has its partition, resources and variant.
fn distance(own: &DeploymentRecord, a: &DeploymentRecord, b: &DeploymentRecord) -> usize {
    let of_own = b.partition == own.partition && b.factors() == own.factors();
    if !of_own {
        return FAR;
    }
    usize::from(b.id != own.id) + usize::from(!a.is_plain())
}

fn told(kind: Effect, a: &DeploymentRecord, b: &DeploymentRecord, c: &Comparison) -> String {
    let pair = match kind {
        Effect::Splitting => format!("{} → {} on {}", a.partition, b.partition, a.place),
        Effect::Resources => format!(
            "{} → {}",
            a.resources.as_deref().unwrap_or_default(),
            b.resources.as_deref().unwrap_or_default()
        ),
        _ => format!("{} → {}", a.place, b.place),
    };
    format!("{} {} ({pair}, {})", kind.word(), change_of(c), c.verdict)
}

/// What was recorded of services that had to wait for a CPU.
fn waited(judgement: &Judgement, main: &Question) -> Option<String> {
    let throttled = judgement.figures.throttled.iter();
    let throttled = throttled
        .filter(|t| t.deployment == main.candidate)
        .max_by_key(|t| t.periods)
        .map(|t| t.sentence(judgement.figures.label(&t.deployment)));
    throttled.or_else(|| preempted(judgement, main))
}

/// The callback of a slower chain whose calls grew while its CPU time did not.
fn preempted(judgement: &Judgement, main: &Question) -> Option<String> {
    let mut slower = judgement.slower.iter();
    let found = slower
        .find(|s| s.candidate == main.candidate && Some(&s.chain) == main.subject.as_ref())?;
    let callback = found.callbacks.first()?;
    let cpu = callback.cpu.as_ref()?;
    let wall = &callback.wall;
    let waited = wall.difference_ns - cpu.difference_ns;
    (wall.low_ns? > 0.0 && waited > wall.difference_ns / 2.0).then(|| {
        format!(
            "Callback {} waited for a CPU: its calls took {:.1} ms longer, its CPU time grew by {:.1} ms.",
            callback.callback,
            wall.difference_ns / 1e6,
            cpu.difference_ns / 1e6
        )
    })
}
