//! What a run of one process leaves on the machine.

/// Folders, mounts, cgroups and processes of the runs that the process `pid` began. Its runs are called
/// `stowplan-PID-…`, so that those of others are never looked at.
pub fn left_of(pid: u32) -> Vec<String> {
    stowplan_testkit::left_of(&format!("stowplan-{pid}-"))
}
