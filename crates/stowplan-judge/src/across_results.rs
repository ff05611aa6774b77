//! Two results against each other: each deployment's ratio to the reference inside its own experiment
//! (docs/measuring.md §5, "across time"). What changed for both drops out.

use stowplan_results::{Comparison, Comparisons, DeploymentRecord, EarlierResult, Results};
use stowplan_stats::{AcrossComparison, Verdict, apply_holm_across, compare_across};

use crate::blocks::Blocks;
use crate::common::{Common, Side};
use crate::compare::{Losses, OF_PHASES, Withheld, comparable, delta, plan, rule, without_figures};
use crate::error::JudgeError;
use crate::figures::Figures;
use crate::marked::{self, Marked};
use crate::metrics::{Metric, in_both, metrics};
use crate::names::{after, before};
use crate::slower::{Before, Compared, slower_of};
use crate::usage::mean;

/// Compares every deployment that both results have, less the common reference, and tells where chains got slower.
///
/// # Errors
/// When machines or stacks differ, the results have no common reference or nothing beside it, or a table cannot be read.
pub fn across(old: &Results, new: &Results) -> Result<Comparisons, JudgeError> {
    let common = Common::of(&Side::measured(old), &Side::measured(new))?;
    let figures = (Figures::read(old)?, Figures::read(new)?);
    let losses = (Losses::of(&figures.0), Losses::of(&figures.1));
    let marked = (Marked::of(&figures.0.runs), Marked::of(&figures.1.runs));
    let (old_metrics, new_metrics) = (metrics(&figures.0), metrics(&figures.1));
    let both = in_both(&old_metrics, &new_metrics).into_iter();
    let both = both.map(|(old, new)| Both {
        old: (&figures.0, old),
        new: (&figures.1, new),
        common: &common,
        losses: &losses,
    });
    let both: Vec<Both<'_>> = both.collect();
    let all = found(&both, &Default::default())?;
    let none_marked = marked.0.is_empty() && marked.1.is_empty();
    let clean = (!none_marked).then(|| found(&both, &marked)).transpose()?;
    let mut rows = Vec::new();
    for (at, both) in both.iter().enumerate() {
        let clean = clean.as_ref().map(|clean| &*clean[at]);
        rows.extend(both.rows(&all[at], clean, &marked));
    }
    let slower = slower_of(&common.candidates, &rows, |candidate| Compared {
        before: Before::Earlier(&figures.0, &common.reference.id),
        new: &figures.1,
        candidate,
    })?;
    Ok(Comparisons {
        against: Some(EarlierResult::of(old, false)),
        ..Comparisons::new(rows).with_slower(slower)
    })
}

/// What both results say of one metric.
struct Both<'a> {
    old: (&'a Figures, &'a Metric),
    new: (&'a Figures, &'a Metric),
    common: &'a Common,
    losses: &'a (Losses, Losses),
}

/// A deployment that both results have, and its blocks in each.
struct Found<'a> {
    candidate: &'a DeploymentRecord,
    before: Blocks,
    after: Blocks,
    c: AcrossComparison,
}

/// By metric; all that answer the question are one family and corrected together, of whatever chain or kind of start
/// they are (docs/measuring.md §5).
fn found<'a>(
    metrics: &[Both<'a>],
    marked: &(Marked, Marked),
) -> Result<Vec<Vec<Found<'a>>>, JudgeError> {
    let all = metrics.iter().map(|both| both.compared(marked));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    let answers = metrics.iter().zip(&mut all);
    let answers = answers.filter(|(both, _)| both.is_primary());
    let family = answers.flat_map(|(_, found)| found);
    apply_holm_across(family.map(|found| &mut found.c));
    Ok(all)
}

impl<'a> Both<'a> {
    /// What was found of every candidate, beside what the blocks without marked runs say, where any is marked.
    fn rows(
        &self,
        all: &[Found<'a>],
        clean: Option<&[Found<'a>]>,
        marked: &(Marked, Marked),
    ) -> Vec<Comparison> {
        let mut rows = Vec::new();
        for found in all {
            let mut row = self.row(found);
            if let Some(clean) = clean {
                let same = |f: &&Found<'_>| f.candidate.id == found.candidate.id;
                let clean = clean.iter().find(same).map(|f| self.row(f));
                let (before, after) = self.blocks(found.candidate, marked);
                let left_out = found.blocks() - before.a.len() - after.a.len();
                marked::beside(&mut row, clean.as_ref(), left_out);
            }
            rows.push(row);
        }
        let compared: Vec<&str> = all.iter().map(|found| &*found.candidate.id).collect();
        let others = self.common.candidates.iter();
        let others = others.filter(|candidate| !compared.contains(&&*candidate.id));
        rows.extend(others.filter_map(|candidate| self.row_of_gone(candidate)));
        rows
    }

    /// Each candidate that has enough blocks without a marked run.
    fn compared(&self, marked: &(Marked, Marked)) -> Result<Vec<Found<'a>>, JudgeError> {
        let rule = rule(&self.old.0.experiment, self.old.1);
        let pilots = (
            self.old.0.experiment.pilot_blocks(),
            self.new.0.experiment.pilot_blocks(),
        );
        let mut all = Vec::new();
        for candidate in &self.common.candidates {
            let (before, after) = self.blocks(candidate, marked);
            if self.usable(&before) && self.usable(&after) {
                let what = format!("{} of {}", self.old.1.label, candidate.label);
                let (old, new) = ((&*before.a, &*before.b), (&*after.a, &*after.b));
                let c = compare_across(&rule, old, new, pilots).map_err(JudgeError::stats(what))?;
                all.push(Found {
                    candidate,
                    before,
                    after,
                    c,
                });
            }
        }
        Ok(all)
    }

    fn blocks(&self, candidate: &DeploymentRecord, marked: &(Marked, Marked)) -> (Blocks, Blocks) {
        let of = |marked: &Marked, metric| {
            marked.without(metric, &self.common.reference.id, &candidate.id)
        };
        (of(&marked.0, self.old.1), of(&marked.1, self.new.1))
    }

    fn usable(&self, blocks: &Blocks) -> bool {
        blocks.a.len() >= 2 && comparable(self.old.1.scale, &blocks.a, &blocks.b)
    }

    fn is_primary(&self) -> bool {
        plan(&self.old.0.experiment, self.old.1).is_some_and(|m| m.primary)
    }

    fn row(&self, found: &Found<'_>) -> Comparison {
        let mut row = row(self.old.1, found, self.is_primary());
        if let Some(withheld) = self.withheld(found.candidate) {
            (row.verdict, row.verdict_reason) = withheld;
        }
        row
    }

    /// Why the figures cannot carry a verdict, whatever the interval says.
    fn withheld(&self, candidate: &DeploymentRecord) -> Option<Withheld> {
        let metric = self.old.1;
        let natural = self.old.0.has_natural_phases() || self.new.0.has_natural_phases();
        if metric.of_phase && natural {
            return Some((Verdict::Inconclusive, OF_PHASES.to_owned()));
        }
        let (old, new) = self.losses;
        let delta = delta(&self.old.0.experiment, metric);
        let loss = |d| old.changed(new, metric, d, delta);
        let reference = &self.common.reference;
        metric
            .of_loss
            .then(|| loss(candidate).or_else(|| loss(reference)))?
    }

    /// What answers the question and is not there any more has no interval, and is told all the same.
    fn row_of_gone(&self, candidate: &DeploymentRecord) -> Option<Comparison> {
        let (old, _) = self.blocks(candidate, &Default::default());
        let gone = has_gone(self.new.1, &self.common.reference, candidate);
        let told = self.is_primary() && self.usable(&old) && gone;
        let delta = delta(&self.old.0.experiment, self.old.1);
        told.then(|| row_of_gone(self.old.1, delta, candidate, &old.b))
    }
}

impl Found<'_> {
    /// How many in both results.
    fn blocks(&self) -> usize {
        self.before.a.len() + self.after.a.len()
    }
}

/// Whether the reference has values and the candidate has none: no input reached the end of the chain any more.
fn has_gone(metric: &Metric, reference: &DeploymentRecord, candidate: &DeploymentRecord) -> bool {
    let has = |d: &DeploymentRecord| metric.values.get(&d.id).is_some_and(|b| !b.is_empty());
    has(reference) && !has(candidate)
}

pub(crate) fn row_of_gone(
    metric: &Metric,
    delta: f64,
    candidate: &DeploymentRecord,
    old: &[f64],
) -> Comparison {
    Comparison {
        reference: before(&candidate.id),
        candidate: after(&candidate.id),
        reference_value: mean(old.iter().copied()),
        ..without_figures(metric, delta, "the later result has no value of it")
    }
}

fn row(metric: &Metric, found: &Found<'_>, primary: bool) -> Comparison {
    let Found {
        candidate,
        before: old,
        after: new,
        c,
    } = found;
    Comparison {
        primary,
        reference: before(&candidate.id),
        candidate: after(&candidate.id),
        reference_value: mean(old.b.iter().copied()),
        candidate_value: mean(new.b.iter().copied()),
        difference: Some(c.estimate),
        low: Some(c.low),
        high: Some(c.high),
        p_t: Some(c.p_t),
        blocks: c.n_old.min(c.n_new),
        verdict: c.verdict,
        difference_reason: None,
        ..without_figures(metric, c.delta, &c.reason.to_string())
    }
}
