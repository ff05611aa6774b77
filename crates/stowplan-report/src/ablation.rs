//! Ablations: each metric's difference between plain processes and containers, attributed to what was added.

use stowplan_results::{Ablation, AblationDeployment, AblationStep, DeploymentRecord, Effect};
use stowplan_stats::{PairedComparison, Scale, attribute};

use crate::compare::{self, Blocks, Losses, comparable, rule};
use crate::error::ReportError;
use crate::isolation;
use crate::metrics::{Metric, metrics};
use crate::report::Report;

/// Every metric that all deployments of the ablation have; none where no ablation was asked for.
pub(crate) fn all(report: &Report) -> Result<Vec<Ablation>, ReportError> {
    let ladder = &report.experiment.ablation;
    let Some(deployments) = finished(report, ladder) else {
        return Ok(Vec::new());
    };
    let losses = Losses::of(report);
    let mut ablations = Vec::new();
    for metric in metrics(report) {
        let Some(levels) = levels(&metric, &deployments) else {
            continue;
        };
        let values: Vec<&[f64]> = levels.iter().map(Vec::as_slice).collect();
        let what = format!("{} over the ablation", metric.label);
        let rule = rule(&report.experiment, &metric);
        let found = attribute(&rule, &values).map_err(ReportError::stats(what))?;
        let row = |(a, b): (usize, usize), c: &PairedComparison, effect, primary| {
            let blocks = Blocks {
                a: vec![typical(metric.scale, &levels[a])],
                b: vec![typical(metric.scale, &levels[b])],
            };
            let pair = (deployments[a], deployments[b]);
            let mut row = compare::row(&metric, pair, &blocks, c, primary);
            row.effect = effect;
            compare::withhold(report, &metric, pair, &losses, &mut row);
            row
        };
        let primary = compare::plan(&report.experiment, &metric).is_some_and(|m| m.primary);
        let steps = (1..).zip(&found.steps).zip(&ladder[1..]);
        let steps = steps.map(|((at, c), step)| AblationStep {
            adds: step.adds.clone().unwrap_or_default(),
            label: step.label.clone().unwrap_or_default(),
            addend: c.addend(),
            comparison: row((at - 1, at), c, effect(at), primary),
            isolation_found: isolation::found(deployments[0], deployments[at]),
        });
        ablations.push(Ablation {
            steps: steps.collect(),
            whole: row(
                (0, deployments.len() - 1),
                &found.whole,
                Effect::Total,
                false,
            ),
        });
    }
    ablations.sort_by_key(|a| !a.steps.iter().any(|s| s.comparison.primary));
    Ok(ablations)
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
    report: &'a Report,
    ladder: &[AblationDeployment],
) -> Option<Vec<&'a DeploymentRecord>> {
    let ran = report.deployments();
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
fn typical(scale: Scale, values: &[f64]) -> f64 {
    let n = values.len() as f64;
    match scale {
        Scale::LogRatio => (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp(),
        Scale::Difference => values.iter().sum::<f64>() / n,
    }
}
