//! `stowplan trace info --json` and `stowplan trace analyze --json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What is in a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceInfo {
    /// `stowplan.trace-info/1`.
    pub schema: &'static str,
    /// Events of all streams.
    pub events: u64,
    /// Events that the tracer says it discarded.
    pub discarded_events: u64,
    /// First to last event.
    pub duration_ns: u64,
    /// Processes that emitted events.
    pub processes: u64,
    /// Nodes.
    pub nodes: u64,
    /// Topics with a publisher or a subscription.
    pub topics: u64,
    /// Version in `ros2:rcl_init`; null when no process told it.
    pub tracetools_version: Option<String>,
    /// Why `tracetools_version` is null.
    pub tracetools_version_reason: Option<String>,
    /// Counts by event name, with `--events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_event: Option<BTreeMap<String, u64>>,
}

/// Chains of a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceAnalysis {
    /// `stowplan.trace-analyze/1`.
    pub schema: &'static str,
    /// The chains.
    pub chains: Vec<AnalyzedChain>,
}

/// One chain.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnalyzedChain {
    /// Name, where the stack gives one.
    pub name: Option<String>,
    /// Callbacks in order.
    pub path: Vec<String>,
    /// Instances measured.
    pub instances: u64,
    /// Instances that lost events make invalid.
    pub invalid: u64,
    /// End to end as in the papers: start of the first callback to the last publication.
    pub e2e_ns: Option<Part>,
    /// Callback start to publication on the chain.
    pub computation_ns: Option<Part>,
    /// Publication to hand-over to the middleware.
    pub send_ns: Option<Part>,
    /// Until the sample is in the reader's cache.
    pub transport_ns: Option<Part>,
    /// Until the executor starts the callback.
    pub wait_ns: Option<Part>,
    /// Data waits for a timer.
    pub idle_ns: Option<Part>,
    /// Why a part is null.
    pub reasons: BTreeMap<String, String>,
}

/// Distribution of a part.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Part {
    /// Mean in ns.
    pub mean: f64,
    /// Median in ns.
    pub q50: f64,
    /// 99th percentile in ns; null with fewer than 1,000 instances.
    pub p99: Option<f64>,
    /// Greatest in ns.
    pub max: f64,
}
