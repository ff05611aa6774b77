//! What `stowplan trace … --json` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::calls::{ClockDifference, TracedAction, TracedService};

/// What is in a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceInfo {
    /// `stowplan.trace-info/1`.
    pub schema: &'static str,
    /// Events of all streams.
    pub events: u64,
    /// Those of them that are ROS 2's, CARET's, Stowplan's or a traced middleware's.
    pub ros2_events: u64,
    /// Events that the tracer says it discarded.
    pub discarded_events: u64,
    /// First to last event of ROS 2.
    pub duration_ns: u64,
    /// Processes that emitted events of ROS 2.
    pub processes: u64,
    /// Nodes.
    pub nodes: u64,
    /// Topics with a publisher or a subscription.
    pub topics: u64,
    /// Version in `ros2:rcl_init`; null when no process told it.
    pub tracetools_version: Option<String>,
    /// Why `tracetools_version` is null.
    pub tracetools_version_reason: Option<String>,
    /// Distribution of ROS 2, by the version of tracetools or by the kinds of events;
    /// several joined by `, `.
    pub distro: Option<String>,
    /// Why `distro` is null.
    pub distro_reason: Option<String>,
    /// Packets that the tracer discarded, with an unknown number of events.
    pub discarded_packets: u64,
    /// What the trace lacks, in words.
    pub missing: Vec<String>,
    /// Counts by event name, with `--events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_event: Option<BTreeMap<String, u64>>,
}

/// Links of a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceLinks {
    /// `stowplan.trace-links/1`.
    pub schema: &'static str,
    /// Messages taken; where the distribution records no takes, callbacks of
    /// subscriptions that ran.
    pub takes: u64,
    /// Whose publication was found.
    pub linked: u64,
    /// Whose was not.
    pub unlinked: u64,
    /// Of these, those whose publication may be among the discarded events.
    pub maybe_discarded: u64,
    /// The others by topic and reason, the most first.
    pub unlinked_topics: Vec<UnlinkedMessages>,
    /// The found ones by method.
    pub by_method: BTreeMap<&'static str, u64>,
    /// The found ones by how sure they are: certain, probable, ambiguous, guessed.
    pub by_confidence: BTreeMap<&'static str, u64>,
    /// Calls by service and client: tracetools from 8.5 on.
    pub services: Vec<TracedService>,
    /// Actions.
    pub actions: Vec<TracedAction>,
    /// Hosts whose clocks differ: times between them are invalid.
    pub clock_differences: Vec<ClockDifference>,
    /// What the trace lacks, in words.
    pub missing: Vec<String>,
}

/// Messages of a topic whose publication was not found, for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnlinkedMessages {
    /// Topic.
    pub topic: String,
    /// How many were taken.
    pub takes: u64,
    /// Why.
    pub reason: &'static str,
}

/// Callbacks of a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceCallbacks {
    /// `stowplan.trace-callbacks/1`.
    pub schema: &'static str,
    /// Callbacks that ran, in the order in which the trace first names them.
    pub callbacks: Vec<TracedCallback>,
    /// What the trace lacks, in words.
    pub missing: Vec<String>,
}

/// A callback.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TracedCallback {
    /// Full node name; null where the trace does not have it.
    pub node: Option<String>,
    /// What starts it; null where the trace does not have it.
    pub kind: Option<CallbackKind>,
    /// Topic or service name, or period in ns.
    pub topic_or_period: Option<TopicOrPeriod>,
    /// Name of the function.
    pub symbol: Option<String>,
    /// Which of the node's callbacks with the same kind, topic or period and symbol.
    pub ordinal: u32,
    /// Process, as it sees itself.
    pub pid: i64,
    /// Inode of its PID namespace, where the trace has it.
    pub pid_ns: Option<u64>,
    /// Host.
    pub host: String,
    /// Folder of the trace that has its events; of several, one.
    pub trace: String,
    /// Thread that it ran on, the one with the least number of several.
    pub tid: i64,
    /// All threads that it ran on.
    pub tids: Vec<i64>,
    /// Instances that began.
    pub count: u64,
    /// Of these, those that did not end in the trace: not in the durations.
    pub unfinished: u64,
    /// Of these, those that may lack events because the tracer discarded some: not
    /// in the durations.
    pub invalid: u64,
    /// Calls per second of the trace's span; null for a trace without length.
    pub per_s: Option<f64>,
    /// Wall-clock durations together as a share of the trace's span, so that 1 is a thread that does nothing else;
    /// null without durations.
    pub busy_share: Option<f64>,
    /// Wall-clock durations; null without any.
    pub duration_ns: Option<Durations>,
    /// CPU times of its calls; null where the trace has none.
    pub cpu_ns: Option<Durations>,
    /// How long its calls were off the CPU without having given it up; null without events of the kernel's scheduler.
    pub preempted_ns: Option<Durations>,
    /// By name the threads that had the CPU meanwhile, nanoseconds of all calls, the longest first.
    pub behind: Vec<Behind>,
}

/// A thread that had the CPU while a callback's thread could have gone on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Behind {
    /// Its name.
    pub thread: String,
    /// How long, over all calls.
    pub total_ns: u64,
}

/// What starts a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallbackKind {
    /// A timer.
    Timer,
    /// A message.
    Subscription,
    /// A request.
    Service,
    /// A response.
    Client,
}

impl CallbackKind {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Subscription => "subscription",
            Self::Service => "service",
            Self::Client => "client",
        }
    }
}

/// What starts a callback, by name or period.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TopicOrPeriod {
    /// Topic or service.
    Name(String),
    /// Period in ns.
    Period(i64),
}

/// Distribution of durations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Durations {
    /// Mean in ns.
    pub mean: f64,
    /// Least in ns.
    pub min: i64,
    /// Median in ns.
    pub q50: f64,
    /// 99th percentile in ns; null with fewer than 1,000 instances.
    pub p99: Option<f64>,
    /// Why `p99` is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_reason: Option<String>,
    /// Greatest in ns.
    pub max: i64,
    /// Whether the quantiles are exact; in long traces they are within 0.4 %.
    pub exact: bool,
}

/// Chains of a trace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceAnalysis {
    /// `stowplan.trace-analyze/1`.
    pub schema: &'static str,
    /// The chains.
    pub chains: Vec<AnalyzedChain>,
}

/// Chains that a trace has, where none was named.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceChains {
    /// `stowplan.trace-chains/1`.
    pub schema: &'static str,
    /// The longest, the longest first.
    pub chains: Vec<OfferedChain>,
}

/// One of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfferedChain {
    /// Topic or node at which it begins, as `--from` takes it.
    pub from: String,
    /// Node at which it ends, as `--to` takes it.
    pub to: String,
    /// Callbacks in order.
    pub path: Vec<String>,
    /// Fewest messages on one of its hops; null where no hop is a message.
    pub fewest_messages: Option<u64>,
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
    /// Instances that are invalid: events on their way were lost, or clocks on it differ.
    pub invalid: u64,
    /// Inputs: calls of the first callback in the window, but for those so near its end that their output may come after it.
    pub inputs: u64,
    /// Of these, those on which at least one output rests.
    pub inputs_used: u64,
    /// Of these, the others, by the last callback that they reached and why they went no further; the most first.
    pub inputs_stopped: Vec<StoppedAt>,
    /// Calls of the first callback so near the window's end that their output may come after it.
    pub inputs_left_out: u64,
    /// Outputs that cannot be followed back to an input.
    pub outputs_without_input: u64,
    /// End to end as in the papers: start of the first callback to the last publication.
    pub e2e_ns: Option<Part>,
    /// End to end as CARET and Trace Compass count: the publication on which the first callback ran, or, where no message
    /// starts that, its own publication on the chain, to the last publication.
    pub e2e_from_publication_ns: Option<Part>,
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
    /// The same instances split as TUM's framework does, with `--as-tum`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tum: Option<TumParts>,
    /// How sure the least sure link of all instances is: certain, probable, ambiguous,
    /// guessed; null without instances.
    pub least_sure_link: Option<&'static str>,
    /// Why a part is null, and under `invalid` why instances are.
    pub reasons: BTreeMap<String, String>,
}

/// Inputs of a chain that went no further.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoppedAt {
    /// Last callback that they reached.
    pub callback: String,
    /// Why they went no further.
    pub reason: &'static str,
    /// How many.
    pub inputs: u64,
}

/// Parts as TUM's `ros2_latency_analysis` names them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TumParts {
    /// Publication to the start of the next callback: waiting in the executor included.
    pub dds_ns: Option<Part>,
    /// End of a callback to the start of the next of the node.
    pub idle_ns: Option<Part>,
    /// Start of a callback to its publication, or its duration.
    pub cpu_ns: Option<Part>,
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
    /// Why `p99` is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_reason: Option<String>,
    /// Greatest in ns.
    pub max: f64,
}
