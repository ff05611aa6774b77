//! Our benchmarks beside the tools that they are made after, measured in the same blocks.

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_judge::{Judgement, Measurement};
use stowplan_stats::{DEFAULT_DELTA, t_interval};

/// Pairs: a name for people, our metric and subject, the tool's metric.
const PAIRS: [(&str, &str, Option<&str>, &str); 7] = [
    ("CPU / sysbench", "cpu_primes", None, "sysbench_cpu"),
    (
        "Memory write / sysbench",
        "memory_write",
        None,
        "sysbench_memory",
    ),
    ("Threads / sysbench", "threads", None, "sysbench_threads"),
    ("Mutex / sysbench", "mutex", None, "sysbench_mutex"),
    ("TCP send / iperf3", "tcp_send", None, "iperf3_send"),
    (
        "TCP receive / iperf3",
        "tcp_receive",
        None,
        "iperf3_receive",
    ),
    (
        "DDS 1 KiB / ddsperf",
        "dds_round_trip",
        Some("1 KiB"),
        "ddsperf_round_trip",
    ),
];

/// Our figure divided by that of a tool, at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// Its name for people.
    pub name: String,
    /// Our metric.
    pub ours: String,
    /// The tool's metric.
    pub tool: String,
    /// Label of the place.
    pub place: String,
    /// Blocks that have both.
    pub n: usize,
    /// Geometric mean over the blocks.
    pub ratio: f64,
    /// Ends of its 95 % interval; one block has none.
    pub interval: Option<[f64; 2]>,
    /// Whether both are equal within [`DEFAULT_DELTA`]; none where the interval does not decide that.
    pub equal: Option<bool>,
}

/// The ratios of a judged result, place by place; the reference stands twice.
pub(crate) fn ratios(judgement: &Judgement) -> Vec<Ratio> {
    let all = &judgement.figures.measurements;
    let find = |metric: &str, subject: Option<&str>| {
        all.iter()
            .find(|m| m.metric == metric && m.subject.as_deref() == subject)
    };
    let mut found = Vec::new();
    for (name, ours, subject, tool) in PAIRS {
        let (Some(a), Some(b)) = (find(ours, subject), find(tool, None)) else {
            continue;
        };
        for deployment in &judgement.figures.experiment.deployments {
            let logs = logs(&of_blocks(a, &deployment.id), &of_blocks(b, &deployment.id));
            let Some((ratio, interval)) = summary(&logs) else {
                continue;
            };
            found.push(Ratio {
                name: name.to_owned(),
                ours: ours.to_owned(),
                tool: tool.to_owned(),
                place: deployment.label.clone(),
                n: logs.len(),
                ratio,
                interval,
                equal: interval.and_then(equal),
            });
        }
    }
    found
}

fn of_blocks(measurement: &Measurement, id: &str) -> BTreeMap<u32, f64> {
    let values = measurement.values.get(id).into_iter().flatten();
    values.copied().collect()
}

/// Logarithms of the ratios of blocks that have both.
fn logs(ours: &BTreeMap<u32, f64>, tool: &BTreeMap<u32, f64>) -> Vec<f64> {
    let both = ours
        .iter()
        .filter_map(|(block, value)| Some((value, tool.get(block)?)));
    both.filter(|(a, b)| **a > 0.0 && **b > 0.0)
        .map(|(a, b)| (a / b).ln())
        .collect()
}

/// Whether the whole interval lies within δ of 1, or all of it beyond.
fn equal([low, high]: [f64; 2]) -> Option<bool> {
    let (least, most) = (1.0 - DEFAULT_DELTA, 1.0 + DEFAULT_DELTA);
    let within = low >= least && high <= most;
    (within || high < least || low > most).then_some(within)
}

fn summary(logs: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    if logs.is_empty() {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let interval = t_interval(logs, 0.95).ok();
    let interval = interval.map(|interval| [interval.low.exp(), interval.high.exp()]);
    Some((mean.exp(), interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_is_what_the_whole_interval_says() {
        assert_eq!(equal([0.99, 1.01]), Some(true));
        assert_eq!(equal([1.03, 1.2]), Some(false));
        assert_eq!(equal([0.8, 0.97]), Some(false));
        assert_eq!(equal([0.99, 1.03]), None);
    }

    #[test]
    fn a_ratio_is_of_blocks_that_have_both() {
        let ours = BTreeMap::from([(1, 2.0), (2, 8.0), (3, 5.0)]);
        let tool = BTreeMap::from([(1, 1.0), (2, 1.0), (4, 1.0)]);
        let logs = logs(&ours, &tool);
        assert_eq!(logs.len(), 2);
        let (ratio, interval) = summary(&logs).unwrap();
        assert!((ratio - 4.0).abs() < 1e-12);
        let [low, high] = interval.unwrap();
        assert!(low < 2.0 && high > 8.0);
        assert!(summary(&[0.5]).unwrap().1.is_none());
        assert!(summary(&[]).is_none());
    }
}
