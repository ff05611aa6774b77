//! The static programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds both, puts them where the command line of this folder looks (`target/libexec/stowplan`) and prints
/// where they are.
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

/// Builds both and gives the folder where they are. As one build for a named target: what they share is compiled once, and flags
/// do not reach build scripts and procedural macros.
pub(crate) fn build_static(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("target/node");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = target()?;
    let flags = format!("target.{target}.rustflags=['-C', 'target-feature=+crt-static']");
    let mut command = Command::new(&cargo);
    command
        .current_dir(root)
        // They would stand in the place of the flags given here.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .args(["build", "--profile", "node", "--target", &target])
        .args(["--config", &flags, "--target-dir"])
        .arg(&folder);
    for name in PROGRAMS {
        command.args(["--package", name, "--bin", name]);
    }
    let status = command.status();
    let status = status.map_err(|e| format!("cannot run cargo: {e}"))?;
    if !status.success() {
        return Err(format!(
            "building {} failed: {status}",
            PROGRAMS.join(" and ")
        ));
    }
    Ok(folder.join(target).join("node"))
}

/// The target that rustc builds for when it is not told any.
fn target() -> Result<String, String> {
    let asked = Command::new("rustc").arg("--print=host-tuple").output();
    let asked = asked.map_err(|e| format!("cannot run rustc: {e}"))?;
    let told = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if told.is_empty() {
        let said = String::from_utf8_lossy(&asked.stderr);
        return Err(format!("rustc does not tell its target: {}", said.trim()));
    }
    Ok(told)
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
