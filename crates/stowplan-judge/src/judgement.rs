//! A result with its figures and every verdict on them.

use stowplan_results::{Ablation, Comparison, Comparisons, Judged, Ranking, Results, Slower};

use crate::error::JudgeError;
use crate::figures::Figures;
use crate::{ablation, compare, sensitivity};

/// What verdicts are given by. The number after the version is that of the rules: raise it with any change by which the same rows get
/// other verdicts or reasons, so that those that are kept are not taken for them.
const BY: &str = concat!(env!("CARGO_PKG_VERSION"), ", rules 2");

/// What a result says: its figures, and the verdicts on them.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// What was measured.
    pub figures: Figures,
    /// What the verdicts were computed from.
    pub judged: Judged,
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
    /// Reads every table and computes all figures. Verdicts are those that are kept with the result, where this program gave them on
    /// these runs; else they are judged anew.
    ///
    /// # Errors
    /// When a table cannot be read or a figure cannot be computed.
    pub fn read(results: &Results) -> Result<Self, JudgeError> {
        let figures = Figures::read(results)?;
        let judged = Judged::of(&results.runs, BY);
        // Verdicts that cannot be read are given anew, like those of other rules: the tables have everything.
        match results.comparisons() {
            Ok(Some(kept)) if kept.judged.as_ref() == Some(&judged) => Ok(Self {
                slower: kept.slower,
                against: results.against()?,
                ablations: kept.ablations,
                rankings: kept.rankings,
                comparisons: kept.comparisons,
                judged,
                figures,
            }),
            _ => Self::anew(results, figures, judged),
        }
    }

    fn anew(results: &Results, figures: Figures, judged: Judged) -> Result<Self, JudgeError> {
        let comparisons = figures.comparisons_with(None)?;
        Ok(Self {
            slower: compare::slower(&figures, &comparisons)?,
            against: results.against()?,
            ablations: ablation::all(&figures)?,
            rankings: sensitivity::rankings(&figures),
            comparisons,
            judged,
            figures,
        })
    }

    /// The verdicts as they are kept with the result.
    #[must_use]
    pub fn verdicts(&self) -> Comparisons {
        let verdicts = Comparisons {
            judged: Some(self.judged.clone()),
            ..Comparisons::new(self.comparisons.clone())
        };
        verdicts
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
