//! The report's page: TypeScript bundled into one committed file.

use std::path::Path;
use std::process::Command;

/// Bundles the page again; `check` says instead whether the committed bundle is that of the source.
pub(crate) fn bundle(check: bool) -> Result<(), String> {
    let root = crate::root()?;
    let web = root.join("crates/stowplan-report/web");
    npm(&web, &["ci", "--no-audit", "--no-fund"])?;
    npm(&web, &["run", "build"])?;
    if !check {
        return Ok(());
    }
    let status = Command::new("git")
        .current_dir(root)
        .args([
            "diff",
            "--exit-code",
            "--stat",
            "--",
            "crates/stowplan-report/assets",
        ])
        .status()
        .map_err(|e| format!("cannot run git: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err(
        "the committed bundle is not that of the source; commit what `cargo xtask report` writes"
            .to_owned(),
    )
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new("npm")
        .current_dir(folder)
        .args(arguments)
        .status()
        .map_err(|e| {
            format!("cannot run npm (Node.js 20 or newer is needed to change the page): {e}")
        })?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| format!("npm {} failed: {status}", arguments.join(" ")))
}
