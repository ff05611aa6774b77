//! The static programs.

use std::path::Path;
use std::process::Command;

/// Builds both and prints where they are. Flags stand on the command line alone: RUSTFLAGS or build scripts
/// would reach proc macros and C code too.
pub(crate) fn build() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("the xtask folder has no parent")?;
    let target = root.join("target/node");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for name in ["stowplan-node", "stowplan-agent"] {
        let status = Command::new(&cargo)
            .current_dir(root)
            .args(["rustc", "-p", name, "--bin", name, "--profile", "node"])
            .arg("--target-dir")
            .arg(&target)
            .args(["--", "-C", "target-feature=+crt-static"])
            .status()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        if !status.success() {
            return Err(format!("building {name} failed: {status}"));
        }
        println!("{}", target.join("node").join(name).display());
    }
    Ok(())
}
