//! Our benchmarks beside the tools that they are made after: the ratios of pairs that were measured in one start.

use serde::Serialize;
use stowplan_judge::{Judgement, Measurement};
use stowplan_stats::{Rule, Verdict, compare};

/// A name for people, and the metric.
const RATIOS: [(&str, &str); 7] = [
    ("CPU / sysbench", "cpu_ratio"),
    ("Memory write / sysbench", "memory_ratio"),
    ("Threads / sysbench", "threads_ratio"),
    ("Mutex / sysbench", "mutex_ratio"),
    ("TCP send / iperf3", "tcp_send_ratio"),
    ("TCP receive / iperf3", "tcp_receive_ratio"),
    ("DDS 1 KiB / ddsperf", "dds_ratio"),
];

/// Our figure divided by that of a tool, at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// Its name for people.
    pub name: String,
    /// The metric.
    pub metric: String,
    /// Label of the place.
    pub place: String,
    /// Blocks that have it.
    pub n: usize,
    /// Geometric mean over the blocks; none where no block has it.
    pub ratio: Option<f64>,
    /// Ends of its 95 % interval; one block has none.
    pub interval: Option<[f64; 2]>,
    /// Whether both are equivalent within [`stowplan_stats::DEFAULT_DELTA`], by the rule of all verdicts; none where that is not
    /// decided.
    pub equal: Option<bool>,
    /// Why there is none.
    pub reason: Option<String>,
}

/// Whether a metric is such a ratio. No table holds it against the reference: neither more nor less of it is better.
pub(crate) fn is_ratio(metric: &str) -> bool {
    RATIOS.iter().any(|(_, ratio)| *ratio == metric)
}

/// The ratios of a judged result, place by place; the reference stands twice.
pub(crate) fn ratios(judgement: &Judgement) -> Vec<Ratio> {
    let mut found = Vec::new();
    for (name, metric) in RATIOS {
        let mut all = judgement.figures.measurements.iter();
        let Some(measurement) = all.find(|one| one.metric == metric) else {
            continue;
        };
        for deployment in &judgement.figures.experiment.deployments {
            found.push(of(name, measurement, &deployment.id, &deployment.label));
        }
    }
    found
}

fn of(name: &str, measurement: &Measurement, id: &str, place: &str) -> Ratio {
    let values = measurement.values.get(id).into_iter().flatten();
    let values: Vec<f64> = values.map(|(_, value)| *value).collect();
    let ones = vec![1.0; values.len()];
    let compared = compare(&Rule::time(&measurement.metric), &ones, &values).ok();
    let missing = measurement.missing.get(id).map(String::as_str);
    let reason = || missing.unwrap_or("not measured").to_owned();
    let ends = compared.as_ref().and_then(|c| c.low.zip(c.high));
    Ratio {
        name: name.to_owned(),
        metric: measurement.metric.clone(),
        place: place.to_owned(),
        n: values.len(),
        ratio: compared.as_ref().map(|c| 1.0 + c.estimate),
        interval: ends.map(|(low, high)| [1.0 + low, 1.0 + high]),
        equal: compared.as_ref().and_then(|c| equal(c.verdict)),
        reason: compared.is_none().then(reason),
    }
}

const fn equal(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Equivalent => Some(true),
        Verdict::Better | Verdict::Worse => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stowplan_results::Better;

    use super::*;

    fn ratio(values: &[f64]) -> Ratio {
        let values = (1..).zip(values.iter().copied()).collect::<Vec<_>>();
        let measurement = Measurement {
            metric: "mutex_ratio".to_owned(),
            subject: None,
            unit: String::new(),
            better: Better::Higher,
            values: BTreeMap::from([("oci".to_owned(), values)]),
            missing: BTreeMap::new(),
        };
        of("Mutex / sysbench", &measurement, "oci", "oci")
    }

    #[test]
    fn a_ratio_is_judged_as_everything_else() {
        let equal = ratio(&[1.0, 1.01, 0.99, 1.0, 1.01, 0.99]);
        assert_eq!((equal.n, equal.equal), (6, Some(true)));
        assert!((equal.ratio.unwrap() - 1.0).abs() < 1e-3);
        assert_eq!(ratio(&[2.0, 2.1, 1.9, 2.0, 2.1, 1.9]).equal, Some(false));
        assert_eq!(ratio(&[0.8, 1.2, 0.9, 1.1, 0.7, 1.3]).equal, None);
        let one = ratio(&[2.0]);
        assert_eq!(
            (one.ratio, one.interval, one.equal),
            (Some(2.0), None, None)
        );
    }

    #[test]
    fn a_place_without_one_says_why() {
        let none = ratio(&[]);
        assert_eq!((none.n, none.ratio), (0, None));
        assert_eq!(none.reason.as_deref(), Some("not measured"));
    }
}
