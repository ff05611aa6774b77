//! Speed of the work kernel on one CPU, by the node program itself.

use std::process::{Command, Stdio};

use stowplan_engine::EngineError;

use crate::agent::CallError;

/// What `stowplan-node calibrate` prints.
#[derive(serde::Deserialize)]
struct Calibration {
    ns_per_iteration: f64,
}

/// Nanoseconds per kernel iteration of `program`, bound to one CPU.
pub(crate) fn calibrate(program: &str, cpu: u32, working_set_bytes: u64) -> Result<f64, CallError> {
    let failed = || EngineError::new(format!("cannot calibrate with {program}"));
    let done = Command::new(program)
        .args(["calibrate", "--cpu", &cpu.to_string()])
        .args(["--working-set", &working_set_bytes.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed().because(e))?;
    let text = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        return Err(failed()
            .because(std::io::Error::other(format!(
                "{}: {}",
                done.status,
                String::from_utf8_lossy(&done.stderr).trim()
            )))
            .into());
    }
    serde_json::from_str::<Calibration>(&text)
        .map(|calibration| calibration.ns_per_iteration)
        .map_err(|e| failed().because(e).into())
}
