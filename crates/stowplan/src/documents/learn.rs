//! `stowplan trace learn --json`.

use schemars::JsonSchema;
use serde::Serialize;
use stowplan_learn::{CallbackFacts, Facts, LaunchTimes, TopicFacts};

/// What a stack was learnt from, in the names of the stack.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntTrace {
    /// `stowplan.trace-learn/1`.
    pub schema: &'static str,
    /// Nodes of the trace.
    pub nodes: u64,
    /// Processes that have nodes.
    pub processes: u64,
    /// Of these, component containers.
    pub containers: u64,
    /// Length of the steady part that rates and durations are of.
    pub window_ns: u64,
    /// The launch; null where the trace has no node of `ros2 launch`.
    pub launch: Option<LearntLaunch>,
    /// Why `launch` is null.
    pub launch_reason: Option<String>,
    /// Endpoints by kind, with those that every node has.
    pub endpoints: LearntEndpoints,
    /// Topics, without those that every node has.
    pub topics: Vec<LearntTopic>,
    /// Callbacks of timers and of subscriptions to these topics.
    pub callbacks: Vec<LearntCallback>,
}

/// A launch, in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntLaunch {
    /// Launch's own node → last node.
    pub total_ns: i64,
    /// Launch's own node → first other node.
    pub evaluate_ns: i64,
    /// First other node → last process.
    pub spawn_ns: i64,
    /// Last process → last node.
    pub load_ns: i64,
    /// Processes launched.
    pub processes: u64,
    /// Nodes loaded into containers.
    pub components: u64,
}

/// Endpoints by kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntEndpoints {
    /// Publishers.
    pub publishers: u64,
    /// Subscriptions.
    pub subscriptions: u64,
    /// Service servers.
    pub services: u64,
    /// Service clients.
    pub clients: u64,
    /// Timers with a callback.
    pub timers: u64,
}

/// A topic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntTopic {
    /// ROS name.
    pub name: String,
    /// Publications in the steady part.
    pub publications: u64,
    /// Publications a second; null with fewer than two.
    pub per_s: Option<f64>,
}

/// A callback.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearntCallback {
    /// Node, as the stack names it.
    pub node: String,
    /// Callback, as the stack names it.
    pub callback: String,
    /// Calls in the steady part.
    pub calls: u64,
    /// Calls a second; null with fewer than two.
    pub per_s: Option<f64>,
    /// Median time between two starts; null with fewer than two.
    pub interval_ns: Option<f64>,
    /// Median wall duration; null without a finished call.
    pub median_ns: Option<f64>,
    /// Work as the stack has it; null without a finished call.
    pub work_ns: Option<f64>,
}

impl LearntTrace {
    /// The document of these facts.
    pub fn of(facts: &Facts) -> Self {
        Self {
            schema: "stowplan.trace-learn/1",
            nodes: facts.nodes,
            processes: facts.processes,
            containers: facts.containers,
            window_ns: facts.window_ns,
            launch: facts.launch.as_ref().map(launch),
            launch_reason: facts.launch_reason.clone(),
            endpoints: super::learnt::endpoints(facts.endpoints),
            topics: facts.topics.iter().map(topic).collect(),
            callbacks: facts.callbacks.iter().map(callback).collect(),
        }
    }
}

fn launch(times: &LaunchTimes) -> LearntLaunch {
    LearntLaunch {
        total_ns: times.total_ns(),
        evaluate_ns: times.evaluate_ns(),
        spawn_ns: times.spawn_ns(),
        load_ns: times.load_ns(),
        processes: times.processes,
        components: times.components,
    }
}

fn topic(topic: &TopicFacts) -> LearntTopic {
    LearntTopic {
        name: topic.name.clone(),
        publications: topic.publications,
        per_s: topic.per_s,
    }
}

fn callback(callback: &CallbackFacts) -> LearntCallback {
    LearntCallback {
        node: callback.node.clone(),
        callback: callback.callback.clone(),
        calls: callback.calls,
        per_s: callback.per_s,
        interval_ns: callback.interval_ns,
        median_ns: callback.median_ns,
        work_ns: callback.work_ns,
    }
}
