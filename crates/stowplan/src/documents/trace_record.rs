//! `record.json`, which `stowplan trace record` writes beside the trace.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use stowplan_lttng::TracedProcess;

use crate::failure::{CommandError, ExitCode, OrExit};

/// How a trace was recorded and what came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceRecord {
    /// `stowplan.trace-record/1`.
    pub schema: &'static str,
    /// Program and arguments; empty for a container.
    pub command: Vec<String>,
    /// Pid on the host of the container's process; null for a command.
    pub container_pid: Option<u32>,
    /// Exit status of the command, 128 + signal where one ended it.
    pub exit_status: Option<i32>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status_reason: Option<String>,
    /// Version of LTTng.
    pub lttng_version: String,
    /// Size of a sub-buffer in bytes.
    pub sub_buffer_bytes: u64,
    /// Sub-buffers of each CPU and user.
    pub sub_buffers: u64,
    /// CPUs with buffers.
    pub cpus: u64,
    /// Contexts that this kernel or LTTng does not have.
    pub contexts_left_out: Vec<String>,
    /// Events in the trace, without those by which LTTng itself says that a process is there.
    pub events: u64,
    /// Events that found no room.
    pub discarded_events: u64,
    /// Packets that were lost, with an unknown number of events.
    pub discarded_packets: u64,
    /// Processes that reached the session daemon.
    pub processes: Vec<RecordedProcess>,
    /// Processes that should have recorded something and did not.
    pub warnings: Vec<String>,
    /// What can be done about it.
    pub hints: Vec<String>,
}

/// A process of a recording.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordedProcess {
    /// Its name.
    pub name: String,
    /// Pid in its own PID namespace.
    pub pid: i64,
    /// Inode of that namespace; null where the trace does not tell.
    pub pid_ns: Option<u64>,
    /// Its events.
    pub events: u64,
}

impl From<TracedProcess> for RecordedProcess {
    fn from(process: TracedProcess) -> Self {
        Self {
            name: process.name,
            pid: process.vpid,
            pid_ns: process.pid_ns,
            events: process.events,
        }
    }
}

impl TraceRecord {
    /// Writes it beside the trace in `dir`.
    pub fn save(&self, dir: &Path) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(self).or_exit(ExitCode::RunFailed)?;
        let path = dir.join("record.json");
        let written =
            std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, text + "\n"));
        written.map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            CommandError::new(ExitCode::RunFailed, message)
        })
    }
}
