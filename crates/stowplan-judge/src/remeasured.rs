//! A result and the earlier experiment that was measured again beside it: each deployment against itself as it was before,
//! paired by block (docs/measuring.md §5, "across time").

use stowplan_results::{BEFORE, Comparison, Comparisons, DeploymentRecord, Results};
use stowplan_stats::{PairedComparison, Verdict, apply_holm, compare};

use crate::across_results::row_of_gone;
use crate::blocks::Blocks;
use crate::compare::{Losses, OF_PHASES, Withheld, comparable, delta, plan, row, rule};
use crate::error::JudgeError;
use crate::figures::Figures;
use crate::marked::{self, Marked};
use crate::metrics::{Metric, in_both, metrics};
use crate::names::{after, before};
use crate::phases;
use crate::slower::{Before, Compared, slower_of};

/// Compares every deployment with itself as it was before; nothing where no earlier experiment was measured again beside
/// this result.
///
/// # Errors
/// When the folder `before` has no result, or a table cannot be read.
pub fn again(result: &Results) -> Result<Option<Comparisons>, JudgeError> {
    let Some(earlier) = &result.experiment.against else {
        return Ok(None);
    };
    let old = Results::open(result.dir().join(BEFORE))?;
    let both = Both::of(Figures::read(&old)?, Figures::read(result)?);
    let (old_metrics, new_metrics) = (metrics(&both.old), metrics(&both.new));
    let pairs = in_both(&old_metrics, &new_metrics);
    let mut rows = both.rows(&pairs, true)?;
    if both.has_marked() {
        let clean = both.rows(&pairs, false)?;
        for row in &mut rows {
            let same = |c: &&Comparison| {
                (&c.metric, &c.subject, &c.candidate) == (&row.metric, &row.subject, &row.candidate)
            };
            let clean = clean.iter().find(same);
            let left_out = row.blocks - clean.map_or(0, |c| c.blocks);
            marked::beside(row, clean, left_out);
        }
    }
    rows.extend(pairs.iter().flat_map(|pair| both.gone(*pair)));
    let slower = slower_of(both.common(), &rows, |candidate| Compared {
        before: Before::Again(&both.old),
        new: &both.new,
        candidate,
    })?;
    Ok(Some(Comparisons {
        against: Some(earlier.clone()),
        ..Comparisons::new(rows).with_slower(slower)
    }))
}

/// A metric before and after.
type Pair<'a> = (&'a Metric, &'a Metric);

/// Both results, and what is known of all their figures.
struct Both {
    old: Figures,
    new: Figures,
    losses: (Losses, Losses),
    marked: (Marked, Marked),
    /// Why figures that timer phases decide say nothing, if they do not.
    of_phases: Option<String>,
}

/// What was found of a deployment.
struct Tested<'a> {
    pair: Pair<'a>,
    candidate: &'a DeploymentRecord,
    blocks: Blocks,
    c: PairedComparison,
    primary: bool,
}

impl Both {
    fn of(old: Figures, new: Figures) -> Self {
        let of_phases = if new.has_natural_phases() {
            Some(OF_PHASES.to_owned())
        } else {
            phases::apart(&old.phases, &new.phases)
        };
        Self {
            losses: (Losses::of(&old), Losses::of(&new)),
            marked: (Marked::of(&old.runs), Marked::of(&new.runs)),
            of_phases,
            old,
            new,
        }
    }

    /// The deployments that ran in both.
    fn common(&self) -> Vec<&DeploymentRecord> {
        let before = self.old.deployments();
        let mut ran = self.new.deployments();
        ran.retain(|d| before.iter().any(|b| b.id == d.id));
        ran
    }

    fn has_marked(&self) -> bool {
        !self.marked.0.is_empty() || !self.marked.1.is_empty()
    }

    /// Every metric of every deployment; all that answer the question are one family and corrected together.
    fn rows(&self, pairs: &[Pair<'_>], with_marked: bool) -> Result<Vec<Comparison>, JudgeError> {
        let mut all = Vec::new();
        for pair in pairs {
            for candidate in self.common() {
                all.extend(self.tested(*pair, candidate, with_marked)?);
            }
        }
        let family = all.iter_mut().filter(|t| t.primary);
        apply_holm(family.map(|tested| &mut tested.c));
        Ok(all.iter().map(|tested| self.row(tested)).collect())
    }

    fn tested<'a>(
        &self,
        pair: Pair<'a>,
        candidate: &'a DeploymentRecord,
        with_marked: bool,
    ) -> Result<Option<Tested<'a>>, JudgeError> {
        let (old, new) = pair;
        let id = &*candidate.id;
        let blocks = Blocks::paired(old.values.get(id), new.values.get(id), |block| {
            let (before, after) = &self.marked;
            with_marked || !before.has(id, block) && !after.has(id, block)
        });
        if blocks.a.is_empty() || !comparable(new.scale, &blocks.a, &blocks.b) {
            return Ok(None);
        }
        let what = format!("{} of {} before and after", new.label, candidate.label);
        let rule = rule(&self.new.experiment, new);
        let c = compare(&rule, &blocks.a, &blocks.b).map_err(JudgeError::stats(what))?;
        Ok(Some(Tested {
            pair,
            candidate,
            blocks,
            c,
            primary: self.is_primary(new),
        }))
    }

    fn is_primary(&self, metric: &Metric) -> bool {
        plan(&self.new.experiment, metric).is_some_and(|m| m.primary)
    }

    fn row(&self, tested: &Tested<'_>) -> Comparison {
        let Tested { candidate, .. } = tested;
        let (_, metric) = tested.pair;
        let own = (*candidate, *candidate);
        let mut row = row(metric, own, &tested.blocks, &tested.c, tested.primary);
        row.reference = before(&candidate.id);
        row.candidate = after(&candidate.id);
        if row.verdict.is_decided()
            && let Some(withheld) = self.withheld(metric, candidate)
        {
            (row.verdict, row.verdict_reason) = withheld;
        }
        row
    }

    /// Why the figures cannot carry a verdict, whatever the interval says.
    fn withheld(&self, metric: &Metric, candidate: &DeploymentRecord) -> Option<Withheld> {
        if metric.of_phase
            && let Some(reason) = &self.of_phases
        {
            return Some((Verdict::Inconclusive, reason.clone()));
        }
        let delta = delta(&self.new.experiment, metric);
        let (old, new) = &self.losses;
        metric
            .of_loss
            .then(|| old.changed(new, metric, candidate, delta))?
    }

    /// What answers the question and is not there any more has no interval, and is told all the same.
    fn gone(&self, (old, new): Pair<'_>) -> Vec<Comparison> {
        let primary = self.is_primary(new);
        let delta = delta(&self.new.experiment, new);
        let common = self.common().into_iter().filter(|_| primary);
        let rows = common.filter_map(|candidate| {
            let values = |m: &Metric| m.values.get(&candidate.id).cloned().unwrap_or_default();
            let (had, has) = (values(old), values(new));
            let had: Vec<f64> = had.into_values().collect();
            let gone = !had.is_empty() && has.is_empty();
            gone.then(|| row_of_gone(old, delta, candidate, &had))
        });
        rows.collect()
    }
}
