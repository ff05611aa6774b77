//! What a call of each callback took, by deployment.

use std::collections::BTreeMap;

use stowplan_results::CallbackRow;

use crate::usage::mean;

/// A callback in the deployments that called it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallbackTimes {
    /// `NODE/CALLBACK`.
    pub callback: String,
    /// Its node, where the trace has it.
    pub node: Option<String>,
    /// By id of the deployment.
    pub by: BTreeMap<String, CallTimes>,
    /// By id of the deployment and block.
    pub by_block: BTreeMap<String, BTreeMap<u32, CallTimes>>,
}

impl CallbackTimes {
    /// Mean over the blocks of a figure of a deployment's calls; `None` where a block does not have it.
    #[must_use]
    pub fn mean_of_blocks(
        &self,
        deployment: &str,
        of: impl Fn(&CallTimes) -> Option<f64>,
    ) -> Option<f64> {
        let blocks = self.by_block.get(deployment)?.values();
        let values: Vec<f64> = blocks.map(of).collect::<Option<_>>()?;
        mean(values.into_iter())
    }

    fn add(&mut self, row: &CallbackRow) {
        let deployment = row.deployment.to_string();
        let blocks = self.by_block.entry(deployment.clone()).or_default();
        blocks.entry(row.block).or_default().add(row);
        self.by.entry(deployment).or_default().add(row);
    }
}

/// Its calls in the windows of a deployment's finished runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CallTimes {
    /// Calls.
    pub calls: u64,
    /// Their wall time, ns.
    pub wall_ns: f64,
    /// Their CPU time, ns; `None` where a run did not record it.
    pub cpu_ns: Option<f64>,
    /// How long their threads could have run and another one had their CPU, ns; `None` likewise.
    pub preempted_ns: Option<f64>,
}

impl CallTimes {
    /// Mean wall time of a call, ns.
    #[must_use]
    pub fn wall_mean_ns(&self) -> f64 {
        self.wall_ns / self.calls as f64
    }

    /// Mean CPU time of a call, ns.
    #[must_use]
    pub fn cpu_mean_ns(&self) -> Option<f64> {
        Some(self.cpu_ns? / self.calls as f64)
    }

    /// Mean of how long a call was preempted, ns.
    #[must_use]
    pub fn preempted_mean_ns(&self) -> Option<f64> {
        Some(self.preempted_ns? / self.calls as f64)
    }

    fn add(&mut self, row: &CallbackRow) {
        let calls = row.calls as f64;
        let first = self.calls == 0;
        let add = |sum: Option<f64>, mean: Option<f64>| {
            let of_row = mean.map(|mean| mean * calls);
            if first {
                of_row
            } else {
                sum.zip(of_row).map(|(a, b)| a + b)
            }
        };
        self.cpu_ns = add(self.cpu_ns, row.cpu_mean_ns);
        self.preempted_ns = add(self.preempted_ns, row.preempted_mean_ns);
        self.calls += row.calls;
        self.wall_ns += row.wall_mean_ns * calls;
    }
}

/// `NODE/CALLBACK`, or what the trace has.
pub(crate) fn name(row: &CallbackRow) -> String {
    match &row.node {
        Some(node) => format!("{node}/{}", row.callback),
        None => row.callback.to_string(),
    }
}

/// Times of all callbacks. Those that took most time in all deployments together come first.
pub(crate) fn times(rows: &[CallbackRow]) -> Vec<CallbackTimes> {
    let mut all: BTreeMap<String, CallbackTimes> = BTreeMap::new();
    for row in rows {
        let callback = name(row);
        let times = all
            .entry(callback.clone())
            .or_insert_with(|| CallbackTimes {
                callback,
                node: row.node.as_ref().map(ToString::to_string),
                by: BTreeMap::new(),
                by_block: BTreeMap::new(),
            });
        times.add(row);
    }
    let mut all: Vec<CallbackTimes> = all.into_values().collect();
    let wall = |of: &CallbackTimes| of.by.values().map(|times| times.wall_ns).sum::<f64>();
    all.sort_by(|a, b| wall(b).total_cmp(&wall(a)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(calls: u64, wall: f64, cpu: Option<f64>) -> CallbackRow {
        CallbackRow {
            calls,
            wall_mean_ns: wall,
            wall_median_ns: wall,
            cpu_mean_ns: cpu,
            cpu_median_ns: cpu,
            preempted_mean_ns: cpu.map(|cpu| wall - cpu),
            ..CallbackRow::new((1, 1, "d".into()), "c".into())
        }
    }

    #[test]
    fn means_are_of_calls_and_not_of_runs() {
        let mut times = CallTimes::default();
        times.add(&row(1, 100.0, Some(90.0)));
        times.add(&row(3, 200.0, Some(150.0)));
        assert_eq!(times.wall_mean_ns(), 175.0);
        assert_eq!(times.cpu_mean_ns(), Some(135.0));
        assert_eq!(times.preempted_mean_ns(), Some(40.0));
        times.add(&row(1, 1.0, None));
        assert_eq!(times.cpu_mean_ns(), None);
        assert_eq!(times.preempted_mean_ns(), None);
    }
}
