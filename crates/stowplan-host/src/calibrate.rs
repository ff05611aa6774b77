//! Speed of the work kernel on one CPU, by the node program itself.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use stowplan_wire::host::{Calibration, Calibrations};

use crate::HostError;

/// Speed of the work kernel of the node program `program`, bound to one CPU, over each of these working sets in bytes.
///
/// # Errors
/// When the program cannot be run, fails, or says something else.
pub fn calibrate(
    program: &Path,
    cpu: u32,
    working_sets: &[u64],
) -> Result<Vec<Calibration>, HostError> {
    let failed = || HostError::new(format!("cannot calibrate with {}", program.display()));
    let sizes: Vec<String> = working_sets.iter().map(ToString::to_string).collect();
    let done = Command::new(program)
        .args(["calibrate", "--cpu", &cpu.to_string()])
        .args(["--working-set", &sizes.join(",")])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed().because(e))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let why = format!("{}: {}", done.status, said.trim());
        return Err(failed().because(io::Error::other(why)));
    }
    let measured: Calibrations =
        serde_json::from_slice(&done.stdout).map_err(|e| failed().because(e))?;
    Ok(measured.working_sets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain;

    #[test]
    fn what_goes_wrong_names_the_program_and_the_cause() {
        let why = |program: &str| chain(&calibrate(Path::new(program), 0, &[16_384]).unwrap_err());
        let missing = why("/no/such/node");
        assert!(missing.starts_with("cannot calibrate with /no/such/node: "));
        assert!(why("/bin/false").contains("exit status: 1"));
        assert!(why("/bin/true").contains("EOF"));
    }
}
