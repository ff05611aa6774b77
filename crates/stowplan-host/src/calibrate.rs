//! Speed of the work kernel on one CPU, by the node program itself.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::HostError;

/// Nanoseconds per iteration of the work kernel, as `stowplan-node calibrate` prints them.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Calibration {
    /// Median of some hundred windows.
    pub ns_per_iteration: f64,
    /// Least of them: the speed where nothing else runs.
    pub least_ns_per_iteration: f64,
}

/// Speed of the work kernel of the node program `program`, bound to one CPU.
///
/// # Errors
/// When the program cannot be run, fails, or says something else.
pub fn calibrate(
    program: &Path,
    cpu: u32,
    working_set_bytes: u64,
) -> Result<Calibration, HostError> {
    let failed = || HostError::new(format!("cannot calibrate with {}", program.display()));
    let done = Command::new(program)
        .args(["calibrate", "--cpu", &cpu.to_string()])
        .args(["--working-set", &working_set_bytes.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed().because(e))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let why = format!("{}: {}", done.status, said.trim());
        return Err(failed().because(io::Error::other(why)));
    }
    serde_json::from_slice(&done.stdout).map_err(|e| failed().because(e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain;

    #[test]
    fn what_goes_wrong_names_the_program_and_the_cause() {
        let why = |program: &str| chain(&calibrate(Path::new(program), 0, 16_384).unwrap_err());
        let missing = why("/no/such/node");
        assert!(missing.starts_with("cannot calibrate with /no/such/node: "));
        assert!(why("/bin/false").contains("exit status: 1"));
        assert!(why("/bin/true").contains("EOF"));
    }
}
