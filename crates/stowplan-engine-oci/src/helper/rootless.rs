//! What a helper does that is not root: it becomes root of a user namespace, with one id.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::error::{Context as _, HelperError};
use super::place::CGROUPS;

/// Makes a user namespace in which this user is root (user_namespaces(7)).
pub(crate) fn become_root() -> Result<(), HelperError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: only CLONE_FILES makes unshare unsafe (descriptors of others), and it is not asked for.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }
        .context("cannot make a user namespace")
        .map_err(|error| {
            error.hint(
                "allow user namespaces for users (sysctl user.max_user_namespaces), or run as root",
            )
        })?;
    let write = |name: &str, text: String| {
        fs::write(Path::new("/proc/self").join(name), text)
            .context(format_args!("cannot write {name} of the user namespace"))
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("0 {user} 1"))?;
    write("gid_map", format!("0 {group} 1"))
}

/// Plain files where libcontainer looks for this process's cgroups of version 1, which a user cannot unmount: it
/// insists on writing a pid somewhere.
pub(crate) fn stand_in_cgroups() -> Result<(), HelperError> {
    let read = |path: &str| fs::read_to_string(path).context(format_args!("cannot read {path}"));
    let hierarchies = hierarchies(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?);
    for (mount, below) in hierarchies {
        let folder = mount.join(&below);
        fs::create_dir_all(&folder).context(format_args!("cannot create {}", folder.display()))?;
        for folder in folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&mount))
        {
            for (name, text) in [
                ("cgroup.procs", ""),
                ("cpuset.cpus", "0"),
                ("cpuset.mems", "0"),
            ] {
                let file = folder.join(name);
                fs::write(&file, text).context(format_args!("cannot write {}", file.display()))?;
            }
        }
    }
    Ok(())
}

/// Mount points of version 1 hierarchies, with this process's path below each.
fn hierarchies(mountinfo: &str, cgroup: &str) -> Vec<(PathBuf, PathBuf)> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = Path::new(left.split(' ').nth(4)?);
        let (kind, options) = (right.split(' ').next()?, right.split(' ').nth(2)?);
        (kind == "cgroup" && point.starts_with(CGROUPS)).then_some((point, options))
    });
    mounts
        .filter_map(|(point, options)| {
            let own = cgroup.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (names, path) = rest.split_once(':')?;
                let named = names
                    .split(',')
                    .any(|name| options.split(',').any(|o| o == name));
                named.then_some(path)
            })?;
            Some((
                point.to_owned(),
                Path::new(own.trim_start_matches('/')).to_owned(),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_matched_by_controller() {
        let mountinfo = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                         31 25 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                         32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = hierarchies(mountinfo, "2:cpu,cpuacct:/user/a\n1:pids:/\n0::/x\n");
        let pair = |mount: &str, below: &str| (PathBuf::from(mount), PathBuf::from(below));
        assert_eq!(
            found,
            [
                pair("/sys/fs/cgroup/cpu,cpuacct", "user/a"),
                pair("/sys/fs/cgroup/pids", "")
            ]
        );
    }
}
