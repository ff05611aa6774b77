//! The committed JSON Schemas, written by the tests that hold them equal to the code.

use std::path::Path;
use std::process::Command;

/// Crates with a test that writes its schemas, and the variable that makes it do so.
const WRITERS: [(&str, &str); 2] = [
    ("stowplan", "STOWPLAN_UPDATE_SCHEMAS"),
    ("stowplan-results", "UPDATE"),
];

/// Writes all schemas.
pub(crate) fn write() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("the xtask folder has no parent")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for (package, variable) in WRITERS {
        let status = Command::new(&cargo)
            .current_dir(root)
            .env(variable, "1")
            .args(["test", "--quiet", "--workspace", "schema"])
            .status()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        if !status.success() {
            return Err(format!("writing the schemas of {package} failed: {status}"));
        }
    }
    Ok(())
}
