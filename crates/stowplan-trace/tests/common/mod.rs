//! Recorded traces that the integration tests share.

use std::process::Command;

mod data;

pub use data::{data, is_there};

/// The recorded trace of this name, unpacked. Without it the test passes,
/// printing why; in CI it fails.
pub fn kept_trace(name: &str) -> Option<tempfile::TempDir> {
    let archive = data().join("traces").join(format!("{name}.tar.zst"));
    if !is_there(&archive) {
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
