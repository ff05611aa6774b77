//! The mean of a metric over the blocks of each deployment: the one that is compared.

use crate::judgement::Judgement;
use crate::metrics::metrics;

/// The mean of a metric in one deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Mean {
    /// Label of the deployment.
    pub label: String,
    /// What it is of, where the metric has several.
    pub subject: Option<String>,
    /// Mean over the blocks, in the unit of the metric.
    pub value: f64,
}

impl Judgement {
    /// The means of a metric, by subject and deployment, without the steps of an ablation; empty where the result has none.
    #[must_use]
    pub fn means(&self, metric: &str) -> Vec<Mean> {
        let ran = self.figures.alternatives();
        let mut all = Vec::new();
        for of in metrics(&self.figures).iter().filter(|m| m.key == metric) {
            all.extend(ran.iter().filter_map(|d| {
                Some(Mean {
                    label: self.figures.label(&d.id).to_owned(),
                    subject: of.subject.clone(),
                    value: of.mean(&d.id)?,
                })
            }));
        }
        all
    }
}
