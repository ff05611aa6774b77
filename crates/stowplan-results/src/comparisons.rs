//! `comparisons.json` and `against.json`: the verdicts. Computed from the tables, and from them alone, by `stowplan-judge`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ablation, Comparison, EarlierResult, Experiment, Ranking, RunRow, RunStatus, Slower};

/// Format of `comparisons.json` and `against.json`.
pub const COMPARE_SCHEMA: &str = "stowplan.compare/1";

/// All comparisons of an experiment, or of two results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparisons {
    /// Always [`COMPARE_SCHEMA`].
    pub schema: String,
    /// What they were computed from; null in documents of before it was recorded, and of two results.
    #[serde(default)]
    pub judged: Option<Judged>,
    /// One per metric, subject, reference and candidate.
    pub comparisons: Vec<Comparison>,
    /// One per chain that is worse, reference and candidate.
    #[serde(default)]
    pub slower: Vec<Slower>,
    /// The result that the deployments are held against; null where they are held against each other.
    #[serde(default)]
    pub against: Option<EarlierResult>,
    /// One per metric and subject, where the experiment was an ablation.
    #[serde(default)]
    pub ablations: Vec<Ablation>,
    /// One per primary metric, subject and place with several partitions, where assumed parameters were varied.
    #[serde(default)]
    pub rankings: Vec<Ranking>,
    /// One per deployment that was asked for, could not be had, and was skipped on purpose.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// What verdicts were computed from, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Version of Stowplan and of its rules for verdicts.
    pub by: String,
    /// Numbers of the runs that it judged: those that were finished. One that failed may be measured again.
    pub runs: Vec<u32>,
}

impl Judged {
    /// Those of these runs that are finished, judged by these rules.
    #[must_use]
    pub fn of(runs: &[RunRow], by: &str) -> Self {
        let finished = runs.iter();
        let finished = finished.filter(|run| run.status == RunStatus::Finished);
        Self {
            by: by.to_owned(),
            runs: finished.map(|run| run.run).collect(),
        }
    }
}

/// A deployment that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its id.
    pub deployment: String,
    /// Its name for people.
    pub label: String,
    /// Why it could not be had.
    pub reason: String,
}

impl Comparisons {
    /// A document of these.
    #[must_use]
    pub fn new(comparisons: Vec<Comparison>) -> Self {
        Self {
            schema: COMPARE_SCHEMA.to_owned(),
            judged: None,
            comparisons,
            slower: Vec::new(),
            against: None,
            ablations: Vec::new(),
            rankings: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// The document with what got slower.
    #[must_use]
    pub fn with_slower(self, slower: Vec<Slower>) -> Self {
        Self { slower, ..self }
    }

    /// The document with what an ablation attributes.
    #[must_use]
    pub fn with_ablations(self, ablations: Vec<Ablation>) -> Self {
        Self { ablations, ..self }
    }

    /// The document with rankings under other values of assumed parameters.
    #[must_use]
    pub fn with_rankings(self, rankings: Vec<Ranking>) -> Self {
        Self { rankings, ..self }
    }

    /// The document with what the experiment skipped.
    #[must_use]
    pub fn with_skipped(self, experiment: &Experiment) -> Self {
        let all = experiment.deployments.iter();
        let skipped = all.filter_map(|d| {
            Some(Skipped {
                deployment: d.id.clone(),
                label: d.label.clone(),
                reason: d.refused.clone()?,
            })
        });
        Self {
            skipped: skipped.collect(),
            ..self
        }
    }

    /// JSON Schema of the document.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}
