//! The table of what a suite measured that is not of stacks.

use stowplan_judge::{Judgement, Measurement};

use crate::format::value;
use crate::text_table::TextTable;

/// A row for each figure and deployment.
pub(crate) fn table(report: &Judgement) -> TextTable {
    let mut table = TextTable::new(
        "Measurements",
        "Mean over the blocks.",
        &["Figure", "Deployment"],
        &["Mean", "Runs", "Better"],
    );
    for measurement in &report.figures.measurements {
        for deployment in &report.figures.experiment.deployments {
            if let Some(row) = row(measurement, &deployment.id) {
                let label = report.figures.label(&deployment.id);
                table
                    .rows
                    .push([vec![name(measurement), label.to_owned()], row].concat());
            }
        }
    }
    table
}

fn name(measurement: &Measurement) -> String {
    let label = measurement.label();
    match &measurement.subject {
        None => label,
        Some(subject) => format!("{label}, {subject}"),
    }
}

/// Mean, number of runs and which values are better; the reason where there is no value.
fn row(measurement: &Measurement, deployment: &str) -> Option<Vec<String>> {
    let better = measurement.better.word().to_owned();
    let Some(values) = measurement.values.get(deployment) else {
        let why = measurement.missing.get(deployment)?;
        return Some(vec![why.clone(), "0".to_owned(), better]);
    };
    let sum: f64 = values.iter().map(|(_, value)| value).sum();
    let mean = value(&measurement.unit, Some(sum / values.len() as f64));
    Some(vec![mean, values.len().to_string(), better])
}
