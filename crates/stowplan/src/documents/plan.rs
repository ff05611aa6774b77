//! `stowplan plan --json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A stack in a partition, before anything is started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanDocument {
    /// `stowplan.plan/1`.
    pub schema: &'static str,
    /// Name of the stack.
    pub stack: String,
    /// Name of the partition.
    pub partition: String,
    /// Modelled nodes.
    pub nodes: u64,
    /// ROS processes over all services, launchers apart.
    pub processes: u64,
    /// DDS participants, launchers included.
    pub participants: u64,
    /// Endpoints of the nodes by kind, with those that rclcpp gives them; without those of launchers.
    pub endpoints: PlannedEndpoints,
    /// Services in starting order.
    pub services: Vec<PlannedService>,
    /// Edges by class: how many, with messages and bytes per second.
    pub edges_by_class: BTreeMap<String, EdgeClass>,
    /// Expected share of all CPUs in callbacks; null without a calibration.
    pub utilisation: Option<f64>,
    /// Why `utilisation` is null.
    pub utilisation_reason: Option<String>,
    /// Factor on callback work from `--utilisation`; 1 when nothing is scaled.
    pub work_scale: f64,
    /// What a scaled result does not scale; empty when nothing is scaled.
    pub not_scaled: Vec<String>,
    /// Expected duration of one run in seconds; null where it cannot be told.
    pub expected_duration_s: Option<f64>,
    /// Why `expected_duration_s` is null.
    pub expected_duration_s_reason: Option<String>,
    /// Why this cannot run; empty when it can.
    pub refusals: Vec<String>,
    /// What the partition's table says about itself, as how it counts.
    pub notes: Vec<String>,
}

/// Numbers of endpoints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedEndpoints {
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

/// A service of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedService {
    /// Name.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// Number of its processes.
    pub processes: u64,
}

/// Edges of one class.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EdgeClass {
    /// Number of publisher-subscription pairs.
    pub edges: u64,
    /// Messages per second over all of them.
    pub messages_per_s: f64,
    /// Bytes per second over all of them.
    pub bytes_per_s: f64,
}
