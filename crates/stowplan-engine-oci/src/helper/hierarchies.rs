//! Cgroup hierarchies, hidden from libcontainer wherever they are mounted.
//!
//! When libcontainer cleans up after a container that it could not make, it kills every process of the cgroup
//! that it finds: with a hierarchy in sight, that may be the root cgroup and so every process of the machine. One
//! at `/sys/fs/cgroup` is not the only one: a chroot has its own.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use stowplan_host::ledger::unescape;

use super::error::{Context as _, HelperError};
use super::place::CGROUPS;

/// Detaches every cgroup mount of this mount namespace, which must be one of our own without propagation.
///
/// Without root those at [`CGROUPS`] cannot be detached; the caller covers them. Another one is an error.
pub(super) fn hide(rootless: bool) -> Result<(), HelperError> {
    let path = "/proc/self/mountinfo";
    let text = fs::read_to_string(path).context(format_args!("cannot read {path}"))?;
    for point in cgroup_mounts(&text).iter().rev() {
        match unmount(point, UnmountFlags::DETACH) {
            // One that lay below another is gone with it.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::INVAL | Errno::PERM) if rootless && point.starts_with(CGROUPS) => {}
            Err(error) if rootless => {
                return Err(error)
                    .context(format_args!(
                        "a cgroup hierarchy is mounted at {}, too",
                        point.display()
                    ))
                    .map_err(|error| error.hint("unmount it, or run as root"));
            }
            Err(error) => {
                return Err(error).context(format_args!(
                    "cannot hide the cgroup hierarchy at {}",
                    point.display()
                ));
            }
        }
    }
    Ok(())
}

/// Mount points of cgroup file systems of both versions, in the order of mounting.
fn cgroup_mounts(mountinfo: &str) -> Vec<PathBuf> {
    mountinfo
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let kind = right.split(' ').next()?;
            let point = left.split(' ').nth(4)?;
            matches!(kind, "cgroup" | "cgroup2").then(|| Path::new(&unescape(point)).to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_wherever_they_are() {
        let text = "\
25 20 0:22 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
26 20 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
27 20 0:24 / /tmp rw shared:1 - tmpfs tmpfs rw
90 20 0:22 / /srv/my\\040root/sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
";
        let found = cgroup_mounts(text);
        assert_eq!(
            found,
            [
                "/sys/fs/cgroup/cpu",
                "/sys/fs/cgroup/unified",
                "/srv/my root/sys/fs/cgroup/cpu"
            ]
            .map(PathBuf::from)
        );
    }
}
