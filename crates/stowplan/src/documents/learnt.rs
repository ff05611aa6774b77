//! `stowplan trace compare --learnt --json`.

use schemars::JsonSchema;
use serde::Serialize;
use stowplan_learn::{CallbackFacts, Came, ReproducedCallback, Reproduction, Round};
use stowplan_model::Endpoints;

use super::learn::LearntEndpoints;

/// A run of a learnt stack held against the trace that it was learnt from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntComparison {
    /// `stowplan.trace-compare-learnt/1`.
    pub schema: &'static str,
    /// Runs; of several, figures are means over runs, and intervals tell how much runs differ.
    pub runs: usize,
    /// Factor on callback work in the runs.
    pub work_scale: f64,
    /// Nanoseconds that an iteration took in the runs, by the calibrations of their blocks; null where not known.
    pub ns_per_iteration: Option<f64>,
    /// Nanoseconds of an iteration by which the stack's work was counted; null where not known. Where both speeds are known, the
    /// run's times are told at this one: multiplied by it and divided by `ns_per_iteration`.
    pub counted_ns_per_iteration: Option<f64>,
    /// Callbacks that the trace called at least twice.
    pub callbacks: Vec<ReturnedCallback>,
    /// Endpoints of the nodes that both have, in the trace.
    pub trace_endpoints: LearntEndpoints,
    /// The same in the run.
    pub run_endpoints: LearntEndpoints,
    /// Nodes with other numbers of endpoints.
    pub different_endpoints: Vec<String>,
    /// Nodes that only the trace has.
    pub only_in_trace: Vec<String>,
    /// Nodes that only the run has.
    pub only_in_run: Vec<String>,
    /// Shares of evaluate, spawn and load in the trace and in the run; null where one has no launch.
    pub launch_shares: Option<[[f64; 3]; 2]>,
}

/// A callback of the trace in the run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReturnedCallback {
    /// Node, as the stack names it.
    pub node: String,
    /// Callback, as the stack names it.
    pub callback: String,
    /// In the trace.
    pub trace: ReturnedSide,
    /// In the run, its times told at `counted_ns_per_iteration`; null if it has no such callback.
    pub run: Option<ReturnedSide>,
    /// Median that the run should have: the trace's, of which the work is scaled.
    pub expected_ns: Option<f64>,
    /// Whether the rate is within 2 %; null where that cannot be said.
    pub rate_came_back: Option<bool>,
    /// Why `rate_came_back` is null.
    pub rate_came_back_reason: Option<String>,
    /// Whether the median duration is within 15 %; null where that cannot be said.
    pub median_came_back: Option<bool>,
    /// Why `median_came_back` is null.
    pub median_came_back_reason: Option<String>,
    /// Whether the run's median CPU time is within 15 % of `expected_ns`; null where that cannot be said.
    pub cpu_came_back: Option<bool>,
    /// Why `cpu_came_back` is null.
    pub cpu_came_back_reason: Option<String>,
}

/// A callback in one trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReturnedSide {
    /// Calls in the steady part.
    pub calls: u64,
    /// Calls a second.
    pub per_s: Option<f64>,
    /// Half the width of its 95 % interval, as a share of it.
    pub per_s_error: Option<f64>,
    /// Median time between two starts.
    pub interval_ns: Option<f64>,
    /// Median wall duration.
    pub median_ns: Option<f64>,
    /// 95 % interval of the median.
    pub median_range_ns: Option<[f64; 2]>,
    /// Median CPU time; null where the trace has none.
    pub cpu_median_ns: Option<f64>,
    /// 95 % interval of the median CPU time.
    pub cpu_median_range_ns: Option<[f64; 2]>,
}

impl LearntComparison {
    /// The document of this comparison.
    pub fn of(held: &Reproduction, runs: usize, round: &Round) -> Self {
        let ends = &held.endpoints;
        Self {
            schema: "stowplan.trace-compare-learnt/1",
            runs,
            work_scale: round.work_scale,
            ns_per_iteration: round.ns_per_iteration,
            counted_ns_per_iteration: round.counted_ns,
            callbacks: held.callbacks.iter().map(callback).collect(),
            trace_endpoints: endpoints(ends.trace),
            run_endpoints: endpoints(ends.run),
            different_endpoints: ends.different.clone(),
            only_in_trace: ends.missing.clone(),
            only_in_run: ends.added.clone(),
            launch_shares: held.launch,
        }
    }
}

fn callback(held: &ReproducedCallback) -> ReturnedCallback {
    let ((rate_came_back, rate_came_back_reason), (median_came_back, median_came_back_reason)) =
        (said(&held.rate), said(&held.median));
    let (cpu_came_back, cpu_came_back_reason) = match &held.cpu {
        Some(cpu) => said(cpu),
        None => (None, Some("the run has no CPU times".to_owned())),
    };
    ReturnedCallback {
        node: held.trace.node.clone(),
        callback: held.trace.callback.clone(),
        trace: side(&held.trace),
        run: held.run.as_ref().map(side),
        expected_ns: held.expected_ns,
        rate_came_back,
        rate_came_back_reason,
        median_came_back,
        median_came_back_reason,
        cpu_came_back,
        cpu_came_back_reason,
    }
}

fn said(came: &Came) -> (Option<bool>, Option<String>) {
    match came {
        Came::Back => (Some(true), None),
        Came::Off => (Some(false), None),
        Came::Unsaid(reason) => (None, Some(reason.clone())),
    }
}

fn side(of: &CallbackFacts) -> ReturnedSide {
    ReturnedSide {
        calls: of.calls,
        per_s: of.per_s,
        per_s_error: of.per_s_error,
        interval_ns: of.interval_ns,
        median_ns: of.median_ns,
        median_range_ns: of.median_range_ns.map(|(low, high)| [low, high]),
        cpu_median_ns: of.cpu_median_ns,
        cpu_median_range_ns: of.cpu_median_range_ns.map(|(low, high)| [low, high]),
    }
}

/// Numbers of endpoints.
pub fn endpoints(of: Endpoints) -> LearntEndpoints {
    LearntEndpoints {
        publishers: of.publishers,
        subscriptions: of.subscriptions,
        services: of.services,
        clients: of.clients,
        timers: of.timers,
    }
}
