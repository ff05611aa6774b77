//! What a trace says, in the names of the stack that was learnt from it: to be held against another trace.

use serde::Serialize;

use crate::launch::LaunchTimes;

/// Figures that a stack was learnt from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Nodes of the trace.
    pub nodes: u64,
    /// Processes of the trace that have nodes.
    pub processes: u64,
    /// Of these, component containers.
    pub containers: u64,
    /// Length of the part of the trace that rates are of, in nanoseconds.
    pub window_ns: u64,
    /// When the parts of the launch began and ended.
    pub launch: Option<LaunchTimes>,
    /// Why there is no `launch`.
    pub launch_reason: Option<String>,
    /// Endpoints of the trace by kind.
    pub endpoints: Endpoints,
    /// Topics with a publisher or subscription that nodes do not have anyway.
    pub topics: Vec<TopicFacts>,
    /// Callbacks of timers and of subscriptions to these topics.
    pub callbacks: Vec<CallbackFacts>,
}

/// Numbers of endpoints, with those that every node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Endpoints {
    /// Publishers.
    pub publishers: u64,
    /// Subscriptions.
    pub subscriptions: u64,
    /// Service servers.
    pub services: u64,
    /// Service clients.
    pub clients: u64,
    /// Timers.
    pub timers: u64,
}

/// A topic in the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopicFacts {
    /// ROS name.
    pub name: String,
    /// Publications that the trace has.
    pub publications: u64,
    /// Publications a second; `None` with fewer than two.
    pub per_s: Option<f64>,
}

/// A callback in the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallbackFacts {
    /// Name of its node in the stack.
    pub node: String,
    /// Its own name in the stack.
    pub callback: String,
    /// Calls.
    pub calls: u64,
    /// Calls a second; `None` with fewer than two.
    pub per_s: Option<f64>,
    /// Median time between two starts in nanoseconds; `None` with fewer than two.
    pub interval_ns: Option<f64>,
    /// Median wall duration in nanoseconds; `None` without a finished call.
    pub median_ns: Option<f64>,
    /// Its work as the stack has it, in nanoseconds; `None` without a finished call.
    pub work_ns: Option<f64>,
}
