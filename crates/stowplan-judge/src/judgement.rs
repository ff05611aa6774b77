//! A result with its figures and every verdict on them.

use stowplan_results::{Ablation, Comparison, Comparisons, Ranking, Results, Slower};

use crate::error::JudgeError;
use crate::figures::Figures;
use crate::{ablation, compare, sensitivity};

/// What a result says: its figures, and the verdicts on them.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// What was measured.
    pub figures: Figures,
    /// Against the experiment's reference.
    pub comparisons: Vec<Comparison>,
    /// Where chains got slower that are worse in one deployment than in another.
    pub slower: Vec<Slower>,
    /// Against the earlier result that this one was held against, if it was.
    pub against: Option<Comparisons>,
    /// What the steps of an ablation add, by metric.
    pub ablations: Vec<Ablation>,
    /// Rankings of the partitions under other values of assumed parameters.
    pub rankings: Vec<Ranking>,
}

impl Judgement {
    /// Reads every table, computes all figures and judges them.
    ///
    /// # Errors
    /// When a table cannot be read or a figure cannot be computed.
    pub fn read(results: &Results) -> Result<Self, JudgeError> {
        let figures = Figures::read(results)?;
        let comparisons = figures.comparisons_with(None)?;
        Ok(Self {
            slower: compare::slower(&figures, &comparisons)?,
            against: results.against()?,
            ablations: ablation::all(&figures)?,
            rankings: sensitivity::rankings(&figures),
            comparisons,
            figures,
        })
    }

    /// The verdicts as they are kept with the result.
    #[must_use]
    pub fn verdicts(&self) -> Comparisons {
        Comparisons::new(self.comparisons.clone())
            .with_slower(self.slower.clone())
            .with_ablations(self.ablations.clone())
            .with_rankings(self.rankings.clone())
            .with_skipped(&self.figures.experiment)
    }
}

/// One deployment of a result against another, by their ids, and where chains got slower.
///
/// # Errors
/// When the reference has no finished run, or a table cannot be read.
pub fn pair(
    results: &Results,
    reference: &str,
    candidate: &str,
) -> Result<Comparisons, JudgeError> {
    let figures = Figures::read(results)?;
    let mut comparisons = figures.comparisons_with(Some(reference))?;
    comparisons.retain(|c| c.reference == reference && c.candidate == candidate);
    let slower = compare::slower(&figures, &comparisons)?;
    Ok(Comparisons::new(comparisons).with_slower(slower))
}
