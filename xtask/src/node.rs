//! The static programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds both, puts them where the command line of this folder looks (`target/libexec/stowplan`) and prints
/// where they are. Flags stand on the command line alone: RUSTFLAGS or build scripts
/// would reach proc macros and C code too.
pub(crate) fn build() -> Result<(), String> {
    let root = crate::root()?;
    let built = build_static(root)?;
    for name in PROGRAMS {
        let folder = root.join("target/libexec/stowplan");
        println!("{}", install(&built.join(name), &folder, name)?.display());
    }
    Ok(())
}

/// The programs that run inside services and on hosts.
pub(crate) const PROGRAMS: [&str; 2] = ["stowplan-node", "stowplan-agent"];

/// Builds both and gives the folder where they are.
pub(crate) fn build_static(root: &Path) -> Result<PathBuf, String> {
    let target = root.join("target/node");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for name in PROGRAMS {
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
    }
    Ok(target.join("node"))
}

/// Copies beside the place first: a program that runs must not change under its process.
fn install(built: &Path, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let failed =
        |e: std::io::Error| format!("cannot install {name} into {}: {e}", folder.display());
    let (new, installed) = (
        folder.join(format!("{name}.{}", std::process::id())),
        folder.join(name),
    );
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::copy(built, &new).map_err(failed)?;
    std::fs::rename(&new, &installed).map_err(failed)?;
    Ok(installed)
}
