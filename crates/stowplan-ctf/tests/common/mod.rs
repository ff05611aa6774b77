//! What the integration tests share.

#![expect(dead_code, reason = "each test program uses a part of it")]

mod lines;

use std::path::{Path, PathBuf};
use std::process::Command;

use stowplan_ctf::writer::TraceInfo;

pub use lines::*;

/// A trace kept outside of the repository, unpacked; `None` if it is not there.
pub fn kept_trace(name: &str) -> Option<tempfile::TempDir> {
    let folder = std::env::var_os("STOWPLAN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let archive = folder.join("traces").join(format!("{name}.tar.zst"));
    if !archive.is_file() {
        skip(&format!(
            "no {} (STOWPLAN_DATA names the folder)",
            archive.display()
        ));
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

pub fn info() -> TraceInfo {
    TraceInfo {
        uuid: *b"trace-identifier",
        clock_uuid: *b"clock-identifier",
        clock_offset_ns: 1_795_166_614_731_197_351,
        hostname: "host".into(),
        tracer_version: (0, 1),
        env: vec![],
    }
}
