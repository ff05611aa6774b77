//! Ablations: each metric's difference between plain processes and containers, attributed to what was added.

use stowplan_results::{Ablation, AblationDeployment, AblationStep, DeploymentRecord, Effect};
use stowplan_stats::{Attribution, PairedComparison, Scale, apply_holm, attribute};

use crate::blocks::Blocks;
use crate::compare::{self, Losses, comparable, rule};
use crate::error::JudgeError;
use crate::figures::Figures;
use crate::isolation;
use crate::metrics::{Metric, metrics};

/// A metric over the deployments of an ablation.
struct Attributed<'a> {
    metric: Metric,
    deployments: Vec<&'a DeploymentRecord>,
    /// By deployment and block.
    levels: Vec<Vec<f64>>,
    found: Attribution,
    primary: bool,
}

/// Every metric that all deployments of the ablation have; none where no ablation was asked for.
pub(crate) fn all(figures: &Figures) -> Result<Vec<Ablation>, JudgeError> {
    let losses = Losses::of(figures);
    let attributed = attributed(figures)?;
    let mut ablations: Vec<Ablation> = attributed
        .iter()
        .map(|a| rows(figures, a, &losses))
        .collect();
    ablations.sort_by_key(|a| !a.steps.iter().any(|s| s.comparison.primary));
    Ok(ablations)
}

/// The steps that answer the question, which are corrected together.
pub(crate) fn family(figures: &Figures) -> Result<Vec<PairedComparison>, JudgeError> {
    let primary = attributed(figures)?.into_iter().filter(|a| a.primary);
    Ok(primary.flat_map(|a| a.found.steps).collect())
}

/// Corrects all steps that answer the question together, of whatever chain they are (docs/measuring.md §5); each exploratory
/// metric's steps among themselves.
fn correct(all: &mut [Attributed<'_>]) {
    let (primary, others): (Vec<_>, Vec<_>) = all.iter_mut().partition(|a| a.primary);
    apply_holm(primary.into_iter().flat_map(|a| &mut a.found.steps));
    for one in others {
        apply_holm(&mut one.found.steps);
    }
}

fn attributed(figures: &Figures) -> Result<Vec<Attributed<'_>>, JudgeError> {
    let Some(deployments) = finished(figures, &figures.experiment.ablation) else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for metric in metrics(figures) {
        let Some(levels) = levels(&metric, &deployments) else {
            continue;
        };
        let values: Vec<&[f64]> = levels.iter().map(Vec::as_slice).collect();
        let what = format!("{} over the ablation", metric.label);
        let rule = rule(&figures.experiment, &metric);
        all.push(Attributed {
            primary: compare::plan(&figures.experiment, &metric).is_some_and(|m| m.primary),
            deployments: deployments.clone(),
            found: attribute(&rule, &values).map_err(JudgeError::stats(what))?,
            metric,
            levels,
        });
    }
    correct(&mut all);
    Ok(all)
}

fn rows(figures: &Figures, of: &Attributed<'_>, losses: &Losses) -> Ablation {
    let row = |(a, b): (usize, usize), c: &PairedComparison, effect, primary| {
        let blocks = Blocks {
            a: vec![typical(of.metric.scale, &of.levels[a])],
            b: vec![typical(of.metric.scale, &of.levels[b])],
        };
        let pair = (of.deployments[a], of.deployments[b]);
        let mut row = compare::row(&of.metric, pair, &blocks, c, primary);
        row.effect = effect;
        compare::withhold(figures, &of.metric, pair, losses, &mut row);
        row
    };
    let added = figures.experiment.ablation.iter().skip(1);
    let steps = (1..).zip(&of.found.steps).zip(added);
    let steps = steps.map(|((at, c), step)| AblationStep {
        adds: step.adds.clone().unwrap_or_default(),
        label: step.label.clone().unwrap_or_default(),
        addend: c.addend(),
        comparison: row((at - 1, at), c, effect(at), of.primary),
        isolation_found: isolation::found(of.deployments[0], of.deployments[at]),
    });
    Ablation {
        steps: steps.collect(),
        whole: row(
            (0, of.deployments.len() - 1),
            &of.found.whole,
            Effect::Total,
            false,
        ),
    }
}

/// The first addition is group scheduling, whatever comes after it is isolation.
fn effect(step: usize) -> Effect {
    match step {
        1 => Effect::GroupScheduling,
        _ => Effect::Isolation,
    }
}

/// The deployments of the ladder, if all of them have finished runs.
fn finished<'a>(
    figures: &'a Figures,
    ladder: &[AblationDeployment],
) -> Option<Vec<&'a DeploymentRecord>> {
    let ran = figures.deployments();
    let of_step = |step: &AblationDeployment| ran.iter().find(|d| d.id == step.deployment).copied();
    let deployments: Option<Vec<_>> = ladder.iter().map(of_step).collect();
    deployments.filter(|all| all.len() > 1)
}

/// Values by deployment and block, over the blocks in which all deployments have one.
fn levels(metric: &Metric, deployments: &[&DeploymentRecord]) -> Option<Vec<Vec<f64>>> {
    let of = |d: &&DeploymentRecord| metric.values.get(&d.id);
    let by_block: Vec<_> = deployments.iter().map(of).collect::<Option<_>>()?;
    let (first, others) = by_block.split_first()?;
    let common = |block: &u32| others.iter().all(|values| values.contains_key(block));
    let blocks: Vec<u32> = first.keys().copied().filter(common).collect();
    let levels: Vec<Vec<f64>> = by_block
        .iter()
        .map(|values| blocks.iter().map(|block| values[block]).collect())
        .collect();
    let usable = !blocks.is_empty() && levels.iter().all(|l| comparable(metric.scale, l, l));
    usable.then_some(levels)
}

/// The mean of which the estimates are ratios or differences.
pub(crate) fn typical(scale: Scale, values: &[f64]) -> f64 {
    let n = values.len() as f64;
    match scale {
        Scale::LogRatio => (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp(),
        Scale::Difference => values.iter().sum::<f64>() / n,
    }
}
