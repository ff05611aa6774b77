//! The work kernel's speed on this machine, for plans.

use std::process::Command;

use serde::Deserialize;

use crate::failure::{CommandError, ExitCode};
use crate::programs;

/// What `stowplan-node calibrate` prints.
#[derive(Debug, Deserialize)]
struct Calibration {
    ns_per_iteration: f64,
}

/// Nanoseconds per kernel iteration on CPU 0, with a working set in the first-level cache.
pub fn ns_per_iteration() -> Result<f64, CommandError> {
    let node = programs::node()?;
    let failed = |why: String| {
        CommandError::new(
            ExitCode::RunFailed,
            format!("{} calibrate: {why}", node.display()),
        )
    };
    let output = Command::new(&node)
        .args(["calibrate", "--cpu", "0", "--working-set", "16384"])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    serde_json::from_slice::<Calibration>(&output.stdout)
        .map(|calibration| calibration.ns_per_iteration)
        .map_err(|error| failed(error.to_string()))
}
