//! Control groups, v1, hybrid and v2.
//!
//! A [`Tree`] is what is mounted here and where this process is in it. A [`Group`] is the set of folders of one
//! service, one per hierarchy. All paths can be moved below another root, so that both versions are tested
//! against plain files.

mod detect;
mod group;
mod limits;
mod oom;
mod others;
mod readback;
mod remove;

pub use detect::{Layout, Tree, top_folders};
pub use group::Group;
pub(crate) use limits::cpus_of;
pub use limits::{Setting, no_swap, settings, shares_of};
pub use oom::OomWatch;
pub use others::OtherGroups;
pub use readback::read_limits;
pub(crate) use readback::{quotas_above, scheduling_of};
pub use remove::{kill_all, processes, remove_tree};

/// Controllers that Stowplan uses.
pub const CONTROLLERS: [&str; 6] = ["cpu", "cpuacct", "memory", "cpuset", "freezer", "blkio"];

/// Name of the top folder of a run: one folder a run, below the cgroup that the run was started in, so that two
/// runs share nothing that one of them could remove.
#[must_use]
pub fn run_folder(run: &str) -> String {
    format!("stowplan-{run}")
}
