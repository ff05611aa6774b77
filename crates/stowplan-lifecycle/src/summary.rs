//! Distributions of the figures, by deployment.

use std::collections::BTreeMap;

use stowplan_results::{Results, ResultsError, RunStatus};
use stowplan_stats::Sorted;

use crate::applications::{Application, Step};
use crate::fault::{Fault, Keeper};
use crate::figures::{DETECTED, Operation, READY_AGAIN, subject};

/// One figure of one deployment over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Runs that have the figure or say why not.
    pub n: usize,
    /// Runs in which there was none.
    pub without: usize,
    /// Why there was none, the first reason.
    pub reason: Option<String>,
    /// Least of those that have it, ns.
    pub min_ns: Option<f64>,
    /// Median of those that have it, ns.
    pub median_ns: Option<f64>,
    /// 95th percentile, ns; where fewer than ten samples lie beyond it there is none.
    pub p95_ns: Option<f64>,
    /// Largest, ns.
    pub max_ns: Option<f64>,
}

impl Cell {
    pub(crate) fn of(values: Vec<f64>, reasons: &[String]) -> Self {
        let (have, without) = (values.len(), reasons.len());
        let sorted = Sorted::new(values).ok();
        Self {
            n: have + without,
            without,
            reason: reasons.first().cloned(),
            min_ns: sorted
                .as_ref()
                .and_then(|all| all.values().first().copied()),
            median_ns: sorted.as_ref().map(|all| all.quantile(0.5)),
            p95_ns: sorted
                .as_ref()
                .and_then(|all| all.quantile_if_supported(0.95).ok()),
            max_ns: sorted.as_ref().and_then(|all| all.values().last().copied()),
        }
    }

    /// Whether it never happened, in any run.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        self.n == self.without
    }
}

/// One figure of all deployments.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Metric.
    pub metric: &'static str,
    /// What it is of, where the metric does not say it all.
    pub subject: Option<String>,
    /// For people.
    pub label: String,
    /// By deployment, in the order of the summary; `None` where no run was to have it.
    pub cells: Vec<Option<Cell>>,
}

impl Row {
    /// Whether it never happened at any deployment.
    #[must_use]
    pub fn is_never(&self) -> bool {
        self.cells.iter().flatten().all(Cell::is_never)
    }
}

/// All figures of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Id and label of every deployment that was measured.
    pub deployments: Vec<(String, String)>,
    /// What verbs take.
    pub operations: Vec<Row>,
    /// Until a fault was detected.
    pub detected: Vec<Row>,
    /// Until a service was ready again.
    pub ready_again: Vec<Row>,
    /// What applications take.
    pub applications: Vec<Row>,
}

/// Values and reasons by metric, subject and deployment.
pub(crate) type Samples = BTreeMap<(String, Option<String>, String), (Vec<f64>, Vec<String>)>;

/// Reads the figures of the runs that finished.
pub(crate) fn samples(results: &Results) -> Result<Samples, ResultsError> {
    let finished = results.runs.iter();
    let finished = finished.filter(|run| run.status == RunStatus::Finished);
    let finished: Vec<u32> = finished.map(|run| run.run).collect();
    let mut samples = Samples::new();
    for row in results.measurements()? {
        if !finished.contains(&row.run) {
            continue;
        }
        let subject = row.subject.map(|subject| subject.to_string());
        let key = (row.metric.to_string(), subject, row.deployment.to_string());
        let (values, reasons) = samples.entry(key).or_default();
        match (row.value, row.reason) {
            (Some(value), _) => values.push(value),
            (None, reason) => reasons.push(reason.map_or_else(String::new, |r| r.to_string())),
        }
    }
    Ok(samples)
}

/// Id and label of every deployment that was measured.
pub(crate) fn measured(results: &Results) -> Vec<(String, String)> {
    let all = results.experiment.deployments.iter();
    let all = all.filter(|d| d.refused.is_none());
    all.map(|d| (d.id.clone(), d.label.clone())).collect()
}

impl Summary {
    /// Reads the figures of the runs that finished.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn read(results: &Results) -> Result<Self, ResultsError> {
        Ok(Self::of(measured(results), &samples(results)?))
    }

    fn of(deployments: Vec<(String, String)>, samples: &Samples) -> Self {
        let row = |metric: &'static str, subject: Option<String>, label: String| {
            let cells = deployments.iter().map(|(id, _)| {
                let key = (metric.to_owned(), subject.clone(), id.clone());
                let (values, reasons) = samples.get(&key)?;
                Some(Cell::of(values.clone(), reasons))
            });
            let cells: Vec<Option<Cell>> = cells.collect();
            let measured = cells.iter().any(Option::is_some);
            measured.then_some(Row {
                metric,
                subject,
                label,
                cells,
            })
        };
        let operations = Operation::ALL.into_iter();
        let operations = operations.filter_map(|o| row(o.metric(), None, o.label().to_owned()));
        let pairs = || {
            let all = Fault::ALL.into_iter();
            all.flat_map(|fault| Keeper::of(fault).iter().map(move |keeper| (fault, *keeper)))
        };
        let of_faults = |metric: &'static str| {
            let rows = pairs().filter_map(|(fault, keeper)| {
                let of = subject(fault, keeper);
                row(metric, Some(of.clone()), of)
            });
            rows.collect()
        };
        let applications = Application::ALL.into_iter().flat_map(|application| {
            let steps = Step::ALL.into_iter();
            steps.map(move |step| (application, step))
        });
        let applications = applications.filter_map(|(application, step)| {
            let label = format!("{application}: {}", step.label());
            row(step.metric(), Some(application.to_string()), label)
        });
        Self {
            applications: applications.collect(),
            operations: operations.collect(),
            detected: of_faults(DETECTED),
            ready_again: of_faults(READY_AGAIN),
            deployments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(metric: &str, subject: Option<&str>, values: &[f64], reasons: &[&str]) -> Samples {
        let key = (
            metric.to_owned(),
            subject.map(str::to_owned),
            "a".to_owned(),
        );
        let reasons = reasons.iter().map(|r| (*r).to_owned()).collect();
        Samples::from([(key, (values.to_vec(), reasons))])
    }

    #[test]
    fn a_cell_has_its_distribution_and_how_often_there_was_none() {
        let deployments = vec![("a".to_owned(), "A".to_owned())];
        let of = samples(
            "fault_detected",
            Some("kill, engine"),
            &[3.0, 1.0, 2.0],
            &["never"],
        );
        let summary = Summary::of(deployments, &of);
        let [row] = &summary.detected[..] else {
            panic!("{summary:?}");
        };
        let cell = row.cells[0].as_ref().unwrap();
        assert_eq!((cell.n, cell.without), (4, 1));
        assert_eq!((cell.median_ns, cell.max_ns), (Some(2.0), Some(3.0)));
        assert_eq!(cell.p95_ns, None, "three samples have no 95th percentile");
        assert!(!row.is_never());
        assert!(summary.operations.is_empty() && summary.ready_again.is_empty());
    }

    #[test]
    fn what_never_happens_says_so() {
        let deployments = vec![("a".to_owned(), "A".to_owned())];
        let of = samples(
            "fault_ready_again",
            Some("hang, supervisor"),
            &[],
            &["never, within 2 s"],
        );
        let summary = Summary::of(deployments, &of);
        let row = &summary.ready_again[0];
        assert!(row.is_never());
        let cell = row.cells[0].as_ref().unwrap();
        assert_eq!((cell.n, cell.without, cell.median_ns), (1, 1, None));
        assert_eq!(cell.reason.as_deref(), Some("never, within 2 s"));
    }
}
