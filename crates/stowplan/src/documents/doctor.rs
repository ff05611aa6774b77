//! `stowplan doctor --json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What this machine can do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Doctor {
    /// `stowplan.doctor/1`.
    pub schema: &'static str,
    /// Engines, in the order of the documentation.
    pub engines: Vec<EngineStatus>,
    /// What some commands and options need beside engines: `lttng` for `trace record`, `preemption` for the option of this name.
    pub tools: Vec<EngineStatus>,
    /// The machine.
    pub machine: Machine,
    /// Day of the self-test that calibrates the instrument on this machine, as 2026-11-26; null where there is none.
    pub calibrated: Option<String>,
    /// Whether it is quiet enough for a run to begin.
    pub quiet: Quiet,
}

/// How quiet the machine is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Quiet {
    /// Whether a run would begin at once.
    pub quiet: bool,
    /// Share of all CPUs that was busy in the last two seconds, 0 to 1.
    pub busy: f64,
    /// Bytes that wait to be written to disks.
    pub dirty_bytes: u64,
}

/// One engine or tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EngineStatus {
    /// Name, for an engine as in a place.
    pub name: String,
    /// `available`, `emulated` or `absent`.
    pub status: String,
    /// Version of what does the work.
    pub version: Option<String>,
    /// Why it is not available, or under which condition alone.
    pub reason: Option<String>,
    /// What to install or change, or how to meet the condition.
    pub hint: Option<String>,
}

/// The machine, as it is recorded with every result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// CPUs online.
    pub cpus: u32,
    /// CPU model.
    pub cpu_model: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release and version.
    pub kernel: String,
    /// `v1`, `hybrid` or `v2`.
    pub cgroup: String,
    /// Settings that may differ between machines.
    pub settings: BTreeMap<String, String>,
}
