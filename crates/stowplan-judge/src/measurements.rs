//! What a suite measured that is not of stacks.

use std::collections::BTreeMap;

use stowplan_results::{Better, Results};

use crate::counted::Counted;
use crate::error::JudgeError;

/// One figure of a suite, as every run of every deployment has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Name.
    pub metric: String,
    /// What it is of, where the name does not say it all.
    pub subject: Option<String>,
    /// Unit.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
    /// Block and value of every run that has one, by deployment.
    pub values: BTreeMap<String, Vec<(u32, f64)>>,
    /// Why runs of a deployment have none.
    pub missing: BTreeMap<String, String>,
}

impl Measurement {
    /// Its name for people.
    #[must_use]
    pub fn label(&self) -> String {
        self.metric.replace('_', " ")
    }
}

/// Reads the table, in the order in which the figures first stand in it.
pub(crate) fn read(results: &Results, counted: &Counted) -> Result<Vec<Measurement>, JudgeError> {
    let mut all: Vec<Measurement> = Vec::new();
    for row in results.measurements()? {
        // A run that failed may say why there is no value.
        if counted.latency(row.run).is_none() && row.value.is_some() {
            continue;
        }
        let subject = row.subject.as_deref();
        let known = all.iter_mut();
        let mut known =
            known.filter(|m| (&*m.metric, m.subject.as_deref()) == (&*row.metric, subject));
        let measurement = match known.next() {
            Some(measurement) => measurement,
            None => {
                all.push(Measurement {
                    metric: row.metric.to_string(),
                    subject: subject.map(str::to_owned),
                    unit: row.unit.to_string(),
                    better: row.better,
                    values: BTreeMap::new(),
                    missing: BTreeMap::new(),
                });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        let deployment = row.deployment.to_string();
        match (row.value, row.reason) {
            (Some(value), _) => {
                if measurement.values.is_empty() {
                    // What gave no value may not have said of what.
                    (measurement.unit, measurement.better) = (row.unit.to_string(), row.better);
                }
                let values = measurement.values.entry(deployment).or_default();
                values.push((row.block, value));
            }
            (None, reason) => {
                let why =
                    reason.map_or_else(|| "no reason is on record".to_owned(), |r| r.to_string());
                measurement.missing.entry(deployment).or_insert(why);
            }
        }
    }
    Ok(all)
}
