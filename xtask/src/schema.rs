//! The committed JSON Schemas, written by the tests that hold them equal to the code.

use std::process::Command;

/// What makes the tests of the command line and of results write their schemas.
const WRITE: [&str; 2] = ["STOWPLAN_UPDATE_SCHEMAS", "UPDATE"];

/// Writes all schemas.
pub(crate) fn write() -> Result<(), String> {
    let root = crate::root()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // At once: with one alone the tests of the others fail where theirs are old.
    let status = Command::new(&cargo)
        .current_dir(root)
        .envs(WRITE.map(|variable| (variable, "1")))
        .args(["test", "--quiet", "--workspace", "schema"])
        .status()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !status.success() {
        return Err(format!("writing the schemas failed: {status}"));
    }
    Ok(())
}
