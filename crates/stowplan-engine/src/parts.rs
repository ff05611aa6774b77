//! What an engine consists of, as its probe tells it.

/// What containers of an engine are made with, behind its version: where their files are, who makes them, and who makes
/// their control groups, of which version.
#[must_use]
pub fn parts(storage: &str, runtime: &str, driver: &str, cgroup: &str) -> String {
    format!("storage {storage}, runtime {runtime}, cgroup driver {driver} {cgroup}")
}

/// Who makes control groups where nobody asks systemd for them.
pub const CGROUPFS: &str = "cgroupfs";
