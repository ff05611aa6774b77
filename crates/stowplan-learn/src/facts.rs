//! What a trace says, in the names of the stack that was learnt from it: to be held against another trace.

use std::collections::BTreeMap;

use serde::Serialize;
use stowplan_model::Endpoints;

use crate::launch::LaunchTimes;

/// Figures that a stack was learnt from.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// Endpoints of the trace by kind, with those of launch's own node. Timers are those with a callback: rclpy makes
    /// one without for each wait with a time-out.
    pub endpoints: Endpoints,
    /// Endpoints of the nodes of the stack.
    pub by_node: BTreeMap<String, Endpoints>,
    /// Topics with a publisher or subscription that nodes do not have anyway.
    pub topics: Vec<TopicFacts>,
    /// Callbacks of timers and of subscriptions to these topics.
    pub callbacks: Vec<CallbackFacts>,
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
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    /// Half the width of the 95 % interval of `per_s`, as a share of it: taking times between calls of one run as
    /// independent, and over runs by what differs between them.
    pub per_s_error: Option<f64>,
    /// Median wall duration in nanoseconds; `None` without a finished call.
    pub median_ns: Option<f64>,
    /// 95 % interval of the median: by order statistics in one run, `None` with too few calls for one; over runs by
    /// what differs between them.
    pub median_range_ns: Option<(f64, f64)>,
    /// Median CPU time of a call in nanoseconds; `None` where the trace has none.
    pub cpu_median_ns: Option<f64>,
    /// 95 % interval of the median CPU time, likewise.
    pub cpu_median_range_ns: Option<(f64, f64)>,
    /// Median time of a call that sending messages took, in nanoseconds.
    pub sent_ns: Option<f64>,
    /// Its work as the stack has it, in nanoseconds; `None` without a finished call.
    pub work_ns: Option<f64>,
}
