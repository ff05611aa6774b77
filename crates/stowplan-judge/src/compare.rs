//! Comparisons between deployments: one figure per block, paired.

use std::collections::{BTreeMap, BTreeSet};

use stowplan_results::{Comparison, DeploymentRecord, Effect, Experiment, MetricPlan, Slower};
use stowplan_stats::{Delta, PairedComparison, Rule, Scale, Verdict, apply_holm, compare};

use crate::blocks::Blocks;
use crate::controls::{Pair, control_of_another_shape, effect, missing_controls};
use crate::error::JudgeError;
use crate::figures::Figures;
use crate::marked::{self, Marked};
use crate::metrics::{Metric, metrics};
use crate::slower::{Before, Compared, most_first};
use crate::usage::mean;

/// Why nothing is said of a metric that timer phases decide.
pub(crate) const OF_PHASES: &str =
    "timer phases were left as they fell, and they alone can make this difference";

impl Figures {
    /// Every comparison that the result allows, with a reference of one's own or that of the experiment.
    ///
    /// # Errors
    /// When the reference has no finished run, or values cannot be compared.
    pub fn comparisons_with(&self, reference: Option<&str>) -> Result<Vec<Comparison>, JudgeError> {
        all(self, reference)
    }
}

/// All comparisons that the result allows.
fn all(figures: &Figures, reference: Option<&str>) -> Result<Vec<Comparison>, JudgeError> {
    let ran = match reference {
        Some(_) => figures.deployments(),
        None => figures.alternatives(),
    };
    let reference = match reference {
        Some(id) if ran.iter().any(|d| d.id == id) => Some(id),
        Some(id) => {
            return Err(JudgeError::NoReference {
                id: id.to_owned(),
                have: ran.iter().map(|d| d.id.clone()).collect(),
            });
        }
        None => figures.experiment.reference_id(),
    };
    let Some(reference) = ran.iter().find(|d| Some(&*d.id) == reference) else {
        return Ok(Vec::new());
    };
    let (metrics, pairs) = (metrics(figures), pairs(&ran, reference));
    let (losses, marked) = (Losses::of(figures), Marked::of(&figures.runs));
    let rows = |marked: &Marked| -> Result<Vec<Comparison>, JudgeError> {
        let tested = tested(figures, &metrics, &pairs, reference, marked)?;
        let rows = tested.iter().map(|t| {
            let mut row = row(t.metric, t.pair, &t.blocks, &t.c, t.primary);
            withhold(figures, t.metric, t.pair, &losses, &mut row);
            row
        });
        Ok(rows
            .chain(not_cold(figures, &metrics, &pairs, reference))
            .collect())
    };
    let mut comparisons = rows(&Marked::default())?;
    if !marked.is_empty() {
        let clean = rows(&marked)?;
        for row in &mut comparisons {
            let clean = clean.iter().find(|c| is_same(c, row));
            let left_out = row.blocks - clean.map_or(0, |c| c.blocks);
            marked::beside(row, clean, left_out);
        }
    }
    comparisons.sort_by_key(|c| !c.primary);
    Ok(comparisons)
}

/// Whether both are of one metric and one pair.
fn is_same(a: &Comparison, b: &Comparison) -> bool {
    (&a.metric, &a.subject, &a.reference, &a.candidate)
        == (&b.metric, &b.subject, &b.reference, &b.candidate)
}

/// Where the chains got slower that are worse in a candidate.
pub(crate) fn slower(
    figures: &Figures,
    comparisons: &[Comparison],
) -> Result<Vec<Slower>, JudgeError> {
    let mut pairs: BTreeMap<(&str, &str), Vec<&Comparison>> = BTreeMap::new();
    for c in comparisons {
        let pair = pairs.entry((&c.reference, &c.candidate));
        pair.or_default().push(c);
    }
    let mut all = Vec::new();
    for ((reference, candidate), rows) in pairs {
        let Some(candidate) = figures.experiment.deployment(candidate) else {
            continue;
        };
        let held = Compared {
            before: Before::Reference(reference),
            new: figures,
            candidate,
        };
        all.extend(held.slower(&rows)?);
    }
    Ok(most_first(all))
}

/// The reference against every other; the pairs that tell the effects apart: splitting, group scheduling, isolation, resources; and
/// at every partition all places against plain processes in one group.
fn pairs<'a>(ran: &[&'a DeploymentRecord], reference: &'a DeploymentRecord) -> Vec<Pair<'a>> {
    let others = ran.iter().filter(|d| d.id != reference.id);
    let mut pairs: Vec<Pair<'a>> = others.map(|d| (reference, *d)).collect();
    let mut seen: BTreeSet<_> = pairs
        .iter()
        .map(|(a, b)| (a.id.clone(), b.id.clone()))
        .collect();
    for a in ran {
        for b in ran.iter().filter(|b| b.id != a.id) {
            let told = match effect(a, b) {
                Effect::Splitting => a.partition == reference.partition,
                Effect::GroupScheduling | Effect::Isolation => true,
                Effect::Resources => a.resources == reference.resources,
                Effect::Total => is_at_one_partition(a, b),
            };
            let reversed = (b.id.clone(), a.id.clone());
            if told && !seen.contains(&reversed) && seen.insert((a.id.clone(), b.id.clone())) {
                pairs.push((a, b));
            }
        }
    }
    pairs
}

/// Whether `b` is a place beside plain processes in one group, and all else is equal.
#[must_use]
pub fn is_at_one_partition(a: &DeploymentRecord, b: &DeploymentRecord) -> bool {
    a.is_flat() && (&a.partition, a.factors()) == (&b.partition, b.factors())
}

/// A comparison before it is told.
struct Tested<'a> {
    metric: &'a Metric,
    pair: Pair<'a>,
    blocks: Blocks,
    c: PairedComparison,
    primary: bool,
}

/// Pairs of which nothing is said because one has no cold start: silence would look like no difference.
fn not_cold(
    figures: &Figures,
    metrics: &[Metric],
    pairs: &[Pair<'_>],
    reference: &DeploymentRecord,
) -> Vec<Comparison> {
    let of_cold = metrics.iter().filter(|m| m.is_of_cold_start());
    let mut rows = Vec::new();
    for metric in of_cold {
        let answers = plan(&figures.experiment, metric).is_some_and(|m| m.primary);
        let mean_of = |d: &DeploymentRecord| {
            let values = metric.values.get(&d.id);
            mean(
                values
                    .into_iter()
                    .flat_map(|blocks| blocks.values().copied()),
            )
        };
        for (a, b) in pairs {
            let why = [a, b].into_iter().find_map(|d| figures.never_cold(&d.id));
            rows.extend(why.map(|why| Comparison {
                primary: answers && a.id == reference.id,
                effect: effect(a, b),
                reference: a.id.clone(),
                candidate: b.id.clone(),
                reference_value: mean_of(a),
                candidate_value: mean_of(b),
                ..without_figures(metric, delta(&figures.experiment, metric), &why)
            }));
        }
    }
    rows
}

/// A comparison of which there is nothing but the reason, and what every other one is made from.
pub(crate) fn without_figures(metric: &Metric, delta: f64, reason: &str) -> Comparison {
    Comparison {
        metric: metric.key.clone(),
        label: metric.label.clone(),
        unit: metric.unit.clone(),
        subject: metric.subject.clone(),
        effect: Effect::Total,
        primary: true,
        reference: String::new(),
        candidate: String::new(),
        reference_value: None,
        candidate_value: None,
        relative: metric.scale == Scale::LogRatio,
        difference: None,
        low: None,
        high: None,
        delta,
        bootstrap_low: None,
        bootstrap_high: None,
        p_sign_flip: None,
        p_t: None,
        blocks: 0,
        verdict: Verdict::Inconclusive,
        verdict_reason: reason.to_owned(),
        blocks_needed: None,
        difference_reason: Some(reason.to_owned()),
        unmarked: None,
    }
}

/// Every metric of every pair over the blocks without marked runs. All that answer the question are one family and
/// corrected together, of whatever chain or kind of start they are (docs/measuring.md §5).
fn tested<'a>(
    figures: &Figures,
    metrics: &'a [Metric],
    pairs: &[Pair<'a>],
    reference: &DeploymentRecord,
    marked: &Marked,
) -> Result<Vec<Tested<'a>>, JudgeError> {
    let mut all = Vec::new();
    for metric in metrics {
        let answers = plan(&figures.experiment, metric).is_some_and(|m| m.primary);
        for pair in pairs {
            if let Some((blocks, c)) = one_pair(figures, metric, *pair, marked)? {
                all.push(Tested {
                    metric,
                    pair: *pair,
                    blocks,
                    c,
                    primary: answers && pair.0.id == reference.id,
                });
            }
        }
    }
    let family = all.iter_mut().filter(|t| t.primary);
    apply_holm(family.map(|tested| &mut tested.c));
    Ok(all)
}

/// One pair over the blocks that both have and that are not marked; nothing where there are none or the metric has no ratio.
fn one_pair(
    figures: &Figures,
    metric: &Metric,
    pair: Pair<'_>,
    marked: &Marked,
) -> Result<Option<(Blocks, PairedComparison)>, JudgeError> {
    let blocks = marked.without(metric, &pair.0.id, &pair.1.id);
    if blocks.a.is_empty() || !comparable(metric.scale, &blocks.a, &blocks.b) {
        return Ok(None);
    }
    let what = format!("{} of {} and {}", metric.label, pair.0.label, pair.1.label);
    let rule = rule(&figures.experiment, metric);
    let c = compare(&rule, &blocks.a, &blocks.b).map_err(JudgeError::stats(what))?;
    Ok(Some((blocks, c)))
}

/// The comparisons that answer the question, which are corrected together.
pub(crate) fn family(figures: &Figures) -> Result<Vec<PairedComparison>, JudgeError> {
    let ran = figures.alternatives();
    let reference = figures.experiment.reference_id();
    let Some(reference) = ran.iter().find(|d| Some(&*d.id) == reference) else {
        return Ok(Vec::new());
    };
    let mut family = Vec::new();
    for metric in metrics(figures) {
        if !plan(&figures.experiment, &metric).is_some_and(|m| m.primary) {
            continue;
        }
        for candidate in ran.iter().filter(|d| d.id != reference.id) {
            let pair = (*reference, *candidate);
            let compared = one_pair(figures, &metric, pair, &Marked::default())?;
            family.extend(compared.map(|(_, c)| c));
        }
    }
    Ok(family)
}

/// What was declared about a metric before measuring.
pub(crate) fn plan<'a>(experiment: &'a Experiment, metric: &Metric) -> Option<&'a MetricPlan> {
    experiment.metrics.iter().find(|m| m.metric == metric.key)
}

/// Smallest difference of a metric that matters, as a share.
pub(crate) fn delta(experiment: &Experiment, metric: &Metric) -> f64 {
    plan(experiment, metric).map_or(stowplan_stats::DEFAULT_DELTA, |m| m.delta)
}

/// How a metric is compared.
pub(crate) fn rule(experiment: &Experiment, metric: &Metric) -> Rule {
    let delta = delta(experiment, metric);
    Rule {
        metric: metric.key.clone(),
        scale: metric.scale,
        direction: metric.direction,
        delta: match metric.scale {
            Scale::LogRatio => Delta::Relative(delta),
            Scale::Difference => Delta::Absolute(delta),
        },
        seed: experiment.seed,
        pilot: experiment.pilot_blocks(),
    }
}

/// A log ratio has no zero; a metric with one is described but not compared.
pub(crate) fn comparable(scale: Scale, a: &[f64], b: &[f64]) -> bool {
    scale == Scale::Difference || a.iter().chain(b).all(|value| *value > 0.0)
}

pub(crate) fn row(
    metric: &Metric,
    (a, b): Pair<'_>,
    blocks: &Blocks,
    c: &PairedComparison,
    primary: bool,
) -> Comparison {
    let one_block = c.low.is_none();
    Comparison {
        effect: effect(a, b),
        primary,
        reference: a.id.clone(),
        candidate: b.id.clone(),
        reference_value: mean(blocks.a.iter().copied()),
        candidate_value: mean(blocks.b.iter().copied()),
        difference: Some(c.estimate),
        low: c.low,
        high: c.high,
        bootstrap_low: c.bootstrap.map(|at95| at95.low),
        bootstrap_high: c.bootstrap.map(|at95| at95.high),
        p_sign_flip: Some(c.p_sign_flip),
        p_t: c.p_t_holm.or(c.p_t),
        blocks: c.n,
        verdict: c.verdict,
        blocks_needed: c.blocks_needed,
        difference_reason: one_block.then(|| "one block has no interval".to_owned()),
        ..without_figures(metric, c.delta, &c.explain())
    }
}

/// The verdict that stands instead of one that figures gave, and its reason.
pub(crate) type Withheld = (Verdict, String);

/// Takes back a verdict that the figures cannot carry, whatever the interval says.
pub(crate) fn withhold(
    figures: &Figures,
    metric: &Metric,
    pair: Pair<'_>,
    losses: &Losses,
    row: &mut Comparison,
) {
    if !row.verdict.is_decided() {
        return;
    }
    let withheld = if metric.of_phase && figures.has_natural_phases() {
        Some((Verdict::Inconclusive, OF_PHASES.to_owned()))
    } else if metric.of_loss
        && let Some(differ) = losses.differ(metric, pair, delta(&figures.experiment, metric))
    {
        Some(differ)
    } else {
        missing_controls(figures, pair).map(|reason| (Verdict::NoControl, reason))
    };
    if let Some(withheld) = withheld {
        (row.verdict, row.verdict_reason) = withheld;
    } else if let Some(text) = control_of_another_shape(figures, pair) {
        row.verdict_reason += &format!("; {text}");
    }
}

/// Share of inputs per chain and deployment on which no output rests.
pub(crate) struct Losses(BTreeMap<(String, String), f64>);

impl Losses {
    pub(crate) fn of(figures: &Figures) -> Self {
        let shares = figures.latency.iter().filter(|c| c.inputs > 0).map(|c| {
            let share = c.without_output as f64 / c.inputs as f64;
            ((c.chain.clone(), c.deployment.clone()), share)
        });
        Self(shares.collect())
    }

    /// Whether two deployments lose shares that differ by more than `delta`.
    fn differ(&self, metric: &Metric, (a, b): Pair<'_>, delta: f64) -> Option<Withheld> {
        let chain = metric.subject.clone()?;
        different_loss(self.share(&chain, a)?, self.share(&chain, b)?, delta)
    }

    /// The same of one deployment in two results.
    pub(crate) fn changed(
        &self,
        later: &Self,
        metric: &Metric,
        deployment: &DeploymentRecord,
        delta: f64,
    ) -> Option<Withheld> {
        let chain = metric.subject.clone()?;
        let share = |of: &Self| of.share(&chain, deployment);
        different_loss(share(self)?, share(later)?, delta)
    }

    fn share(&self, chain: &str, deployment: &DeploymentRecord) -> Option<f64> {
        let key = (chain.to_owned(), deployment.id.clone());
        self.0.get(&key).copied()
    }
}

fn different_loss(a: f64, b: f64, delta: f64) -> Option<Withheld> {
    ((a - b).abs() > delta).then(|| {
        let reason = format!(
            "no output rests on {:.1} % of the inputs against {:.1} %, so the figures are of different inputs",
            a * 100.0,
            b * 100.0
        );
        (Verdict::LostInputsDiffer, reason)
    })
}
