//! One row per callback.

use std::collections::BTreeMap;

use stowplan_model::{Callback, Stack, Trigger, WorkSpeed};
use stowplan_results::{CallbackRow, Label};
use stowplan_trace::{Analysis, CallbackCpu, CallbackId, Distribution, Window};

use super::RunKey;
use crate::preempted::Preempted;

const NOT_RECORDED: &str = "CPU time was not recorded: it is with --callback-cpu";

/// What is known of the callbacks besides the trace.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The stack.
    pub stack: &'a Stack,
    /// The calibration of the run's block, if there is one.
    pub speed: Option<&'a WorkSpeed>,
}

impl Known<'_> {
    fn callback(&self, node: &str, callback: &str) -> Option<&Callback> {
        self.stack.node(node)?.callback(callback)
    }
}

/// What the window has of one callback.
#[derive(Debug, Default)]
struct Calls {
    durations: Vec<i64>,
    /// Sum over those whose switches were recorded, and how many these are.
    preempted_ns: (i64, u32),
    /// When its first call was due, where it is a timer's.
    first_release_ns: Option<i64>,
    /// How long after it was due each call began, where it is a timer's.
    late_ns: Vec<i64>,
}

impl Calls {
    /// How long after the window began a timer of this period was first released. A release in a later period is not the
    /// first one, and has the drift of those before.
    fn phase_ns(&self, period_ns: i64, window: Window) -> Option<i64> {
        let after = self.first_release_ns?.checked_sub(window.from_ns)?;
        (0..period_ns).contains(&after).then_some(after)
    }

    fn preempted_mean_ns(&self) -> Option<f64> {
        let (sum, calls) = self.preempted_ns;
        (calls > 0).then(|| sum as f64 / f64::from(calls))
    }
}

/// The rows of all callbacks that were called in `window`.
#[must_use]
pub fn callback_rows(
    key: &RunKey,
    analysis: &Analysis,
    window: Window,
    known: Known<'_>,
    preempted: Option<&Preempted<'_>>,
) -> Vec<CallbackRow> {
    let mut calls: BTreeMap<CallbackId, Calls> = BTreeMap::new();
    for (id, instance) in analysis.records.instances.iter() {
        if let Some(end_ns) = instance.end_ns.get()
            && window.contains(instance.start_ns)
        {
            let all = calls.entry(instance.callback).or_default();
            all.durations.push(end_ns - instance.start_ns);
            if let Some(ns) = preempted.and_then(|of| of.in_call(id, end_ns)) {
                all.preempted_ns.0 += ns;
                all.preempted_ns.1 += 1;
            }
            let releases = all
                .first_release_ns
                .into_iter()
                .chain(instance.release_ns.get());
            all.first_release_ns = releases.filter(|ns| window.contains(*ns)).min();
            let due_ns = instance.release_ns.get().into_iter();
            all.late_ns
                .extend(due_ns.map(|due| instance.start_ns - due));
        }
    }
    let rows = calls.into_iter();
    rows.filter_map(|(callback, calls)| row(key, analysis, callback, calls, (window, known)))
        .collect()
}

fn row(
    key: &RunKey,
    analysis: &Analysis,
    callback: CallbackId,
    mut calls: Calls,
    (window, known): (Window, Known<'_>),
) -> Option<CallbackRow> {
    let wall = Distribution::of(std::mem::take(&mut calls.durations))?;
    let identity = analysis.graph.identity_of(callback);
    let symbol = identity.symbol?;
    // A modelled node's callbacks are named `NODE::CALLBACK` (see the node program).
    let node = identity
        .node
        .as_deref()
        .map(|node| node.trim_start_matches('/'));
    let name = node.and_then(|node| symbol.strip_prefix(node)?.strip_prefix("::"));
    let cpu = analysis.marks.callback_cpu.get(&callback);
    let counted = cpu.map_or(0, |cpu| cpu.calls) as f64;
    let mean = |sum: u64| (counted > 0.0).then(|| sum as f64 / counted);
    let of_stack = node
        .zip(name)
        .and_then(|(node, name)| known.callback(node, name));
    let period_ns = of_stack.and_then(period_ns);
    let late = period_ns.and_then(|_| Distribution::of(std::mem::take(&mut calls.late_ns)));
    let calibrated_ns = || Some(known.speed?.ns_of(of_stack?.work.working_set_bytes));
    Some(CallbackRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        node: node.map(Label::from),
        callback: name.unwrap_or(&symbol).into(),
        phase_ns: period_ns.and_then(|period| calls.phase_ns(period, window)),
        late_median_ns: late.as_ref().map(|late| late.median_ns),
        late_min_ns: late.as_ref().map(|late| late.min_ns),
        period_ns,
        calls: wall.count,
        wall_mean_ns: wall.mean_ns,
        wall_median_ns: wall.median_ns,
        wall_max_ns: wall.max_ns,
        preempted_mean_ns: calls.preempted_mean_ns(),
        cpu_mean_ns: cpu.and_then(|cpu| mean(cpu.cpu_ns)),
        cpu_median_ns: cpu.and_then(|cpu| Some(cpu.quantiles(&[0.5])?[0])),
        iterations_mean: cpu.and_then(|cpu| mean(cpu.iterations)),
        cpu_iteration_median_ns: cpu.and_then(CallbackCpu::ns_per_iteration),
        calibrated_iteration_ns: calibrated_ns(),
        reason: cpu.is_none().then(|| NOT_RECORDED.into()),
    })
}

/// Of a timer.
fn period_ns(callback: &Callback) -> Option<i64> {
    match &callback.trigger {
        Trigger::Timer { period_ns, .. } => i64::try_from(*period_ns).ok(),
        Trigger::Subscription { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_release_in_the_first_period_is_the_phase() {
        let window = Window {
            from_ns: 1_000,
            to_ns: 9_000,
        };
        let phase = |first_release_ns| {
            let calls = Calls {
                first_release_ns,
                ..Calls::default()
            };
            calls.phase_ns(500, window)
        };
        assert_eq!(phase(Some(1_000)), Some(0));
        assert_eq!(phase(Some(1_499)), Some(499));
        assert_eq!(phase(Some(1_500)), None, "the first was missed");
        assert_eq!(phase(None), None, "no timer's");
    }
}
