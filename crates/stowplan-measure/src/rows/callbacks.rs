//! One row per callback.

use std::collections::BTreeMap;

use stowplan_model::{Stack, WorkSpeed};
use stowplan_results::{CallbackRow, Label};
use stowplan_trace::{Analysis, CallbackCpu, CallbackId, Distribution, Window};

use super::RunKey;

const NOT_RECORDED: &str = "CPU time was not recorded: it is with --callback-cpu";

/// What the calibration of a run's block gives for the callbacks of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Calibrated<'a> {
    /// The stack.
    pub stack: &'a Stack,
    /// The calibration.
    pub speed: &'a WorkSpeed,
}

impl Calibrated<'_> {
    fn ns_per_iteration(&self, node: &str, callback: &str) -> Option<f64> {
        let callback = self.stack.node(node)?.callback(callback)?;
        Some(self.speed.ns_of(callback.work.working_set_bytes))
    }
}

/// The rows of all callbacks that were called in `window`.
#[must_use]
pub fn callback_rows(
    key: &RunKey,
    analysis: &Analysis,
    window: Window,
    calibrated: Option<Calibrated<'_>>,
) -> Vec<CallbackRow> {
    let mut durations: BTreeMap<CallbackId, Vec<i64>> = BTreeMap::new();
    for (_, instance) in analysis.records.instances.iter() {
        if let Some(end_ns) = instance.end_ns
            && window.contains(instance.start_ns)
        {
            let all = durations.entry(instance.callback).or_default();
            all.push(end_ns - instance.start_ns);
        }
    }
    let rows = durations.into_iter();
    rows.filter_map(|(callback, durations)| {
        let wall = Distribution::of(durations)?;
        row(key, analysis, callback, wall, calibrated)
    })
    .collect()
}

fn row(
    key: &RunKey,
    analysis: &Analysis,
    callback: CallbackId,
    wall: Distribution,
    calibrated: Option<Calibrated<'_>>,
) -> Option<CallbackRow> {
    let identity = analysis.graph.identity_of(callback);
    let symbol = identity.symbol?;
    // A modelled node's callbacks are named `NODE::CALLBACK` (see the node program).
    let node = identity
        .node
        .as_deref()
        .map(|node| node.trim_start_matches('/'));
    let name = node.and_then(|node| symbol.strip_prefix(node)?.strip_prefix("::"));
    let cpu = analysis.marks.callback_cpu.get(&callback);
    let calls = cpu.map_or(0, |cpu| cpu.calls) as f64;
    let mean = |sum: u64| (calls > 0.0).then(|| sum as f64 / calls);
    let calibrated_ns = || calibrated?.ns_per_iteration(node?, name?);
    Some(CallbackRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        node: node.map(Label::from),
        callback: name.unwrap_or(&symbol).into(),
        calls: wall.count,
        wall_mean_ns: wall.mean_ns,
        wall_median_ns: wall.median_ns,
        wall_max_ns: wall.max_ns,
        cpu_mean_ns: cpu.and_then(|cpu| mean(cpu.cpu_ns)),
        cpu_median_ns: cpu.and_then(|cpu| Some(cpu.quantiles(&[0.5])?[0])),
        iterations_mean: cpu.and_then(|cpu| mean(cpu.iterations)),
        cpu_iteration_median_ns: cpu.and_then(CallbackCpu::ns_per_iteration),
        calibrated_iteration_ns: calibrated_ns(),
        reason: cpu.is_none().then(|| NOT_RECORDED.into()),
    })
}
