//! Recorded traces that the integration tests share.

#![expect(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where recorded traces are kept: not in this repository.
pub fn data() -> PathBuf {
    std::env::var_os("STOWPLAN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    )
}

/// The recorded trace of this name, unpacked. Without it the test passes,
/// printing why; in CI it fails.
pub fn kept_trace(name: &str) -> Option<tempfile::TempDir> {
    let archive = data().join("traces").join(format!("{name}.tar.zst"));
    if !archive.is_file() {
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!in_ci, "needed in CI: {}", archive.display());
        println!(
            "skipped: no {} (STOWPLAN_DATA names the folder)",
            archive.display()
        );
        return None;
    }
    let target = tempfile::tempdir().expect("a temporary folder");
    let status = Command::new("tar")
        .arg("--zstd")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(target.path())
        .status()
        .expect("tar runs");
    assert!(status.success(), "tar of {}: {status}", archive.display());
    Some(target)
}

/// A folder with small traces that are kept outside of the repository; `None` without it.
pub fn case(name: &str) -> Option<PathBuf> {
    let folder = data().join("../cases").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "needed in CI: {}", folder.display());
    println!("skipped: no {}", folder.display());
    None
}
