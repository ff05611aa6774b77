//! Isolation as the kernel has it, read from the container's first process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use stowplan_host::cgroup::Group;
use stowplan_wire::deployment::Program;

use super::error::{Context as _, HelperError};
use super::place::Place;
use crate::capabilities::{Capabilities, DOCKER_DEFAULT};
use crate::protocol::HelperPlan;

/// What /proc/PID tells of a process.
struct Process {
    pid: u32,
    status: String,
    /// By mount point, in the order of mounting.
    mounts: Vec<(String, Mount)>,
}

/// A mount that a process sees.
struct Mount {
    kind: String,
    read_only: bool,
}

impl Process {
    fn read(pid: u32) -> Result<Self, HelperError> {
        let file = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            fs::read_to_string(&path).context(format_args!("cannot read {path}"))
        };
        Ok(Self {
            pid,
            status: file("status")?,
            mounts: mounts(&file("mountinfo")?),
        })
    }

    /// The last mount on `/`.
    fn root(&self) -> Option<&Mount> {
        let mut last = self.mounts.iter().rev();
        last.find(|(point, _)| point == "/").map(|(_, mount)| mount)
    }

    /// Value of a line of /proc/PID/status.
    fn status(&self, key: &str) -> &str {
        self.status
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .map_or("", str::trim)
    }

    /// Whether its namespace of this kind is another than that of this process.
    fn apart(&self, namespace: &Path, kind: &str) -> Result<bool, HelperError> {
        let theirs = format!("/proc/{}/ns/{kind}", self.pid);
        let theirs = fs::metadata(&theirs).context(format_args!("cannot look at {theirs}"))?;
        let own = fs::metadata(namespace)
            .context(format_args!("cannot look at {}", namespace.display()))?;
        Ok((own.dev(), own.ino()) != (theirs.dev(), theirs.ino()))
    }
}

/// The mounts of a mountinfo (proc_pid_mountinfo(5)).
fn mounts(mountinfo: &str) -> Vec<(String, Mount)> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(4);
        let (point, options) = (left.next()?, left.next()?);
        let mount = Mount {
            kind: right.split(' ').next().unwrap_or_default().to_owned(),
            read_only: options.split(',').any(|option| option == "ro"),
        };
        Some((stowplan_host::ledger::unescape(point), mount))
    };
    mountinfo.lines().filter_map(mount).collect()
}

/// Capabilities of this process.
pub(crate) fn own_capabilities() -> Result<Capabilities, HelperError> {
    let own = Process::read(std::process::id())?;
    capabilities(&own, "CapPrm")
}

fn capabilities(process: &Process, key: &str) -> Result<Capabilities, HelperError> {
    u64::from_str_radix(process.status(key), 16)
        .map(Capabilities::from_bits)
        .context(format_args!("cannot read {key} of process {}", process.pid))
}

/// Compares the isolation of process `pid` with the plan.
///
/// # Errors
/// Names the first feature that is not as asked.
pub(crate) fn check(
    plan: &HelperPlan,
    pid: u32,
    place: &Place,
    group: &Group,
    own: Capabilities,
) -> Result<(), HelperError> {
    let asked = &plan.isolation;
    let process = Process::read(pid)?;
    let apart = |kind: &str| process.apart(&place.host_namespace(kind), kind);
    same("mount", asked.mount, apart("mnt")?)?;
    same("pid", asked.pid, apart("pid")?)?;
    same("ipc", asked.ipc, apart("ipc")?)?;
    same("uts", asked.uts, apart("uts")?)?;
    same("net", asked.net, apart("net")?)?;
    same("user", asked.user, apart("user")?)?;
    same("cgroup", asked.cgroup, group.processes().contains(&pid))?;
    if asked.mount {
        let root = process.root();
        let kind = root.map_or("", |root| root.kind.as_str());
        // A bind of a host that itself lies on an overlay looks like one.
        if asked.overlay || !is_host_root(plan) {
            same("overlay", asked.overlay, kind == "overlay")?;
        }
        if asked.read_only_root {
            same(
                "read-only-root",
                true,
                root.is_some_and(|root| root.read_only),
            )?;
        }
    }
    access(plan, &process)?;
    same("seccomp", asked.seccomp, process.status("Seccomp") == "2")?;
    let bounding = capabilities(&process, "CapBnd")?;
    let reduced = own.and(DOCKER_DEFAULT);
    if asked.capabilities {
        same("capabilities", true, bounding == reduced)?;
        same(
            "no-new-privileges",
            true,
            process.status("NoNewPrivs") == "1",
        )?;
    } else {
        same("capabilities", false, bounding == reduced && own != reduced)?;
    }
    Ok(())
}

/// Compares the user, the mounts and the devices with the plan.
fn access(plan: &HelperPlan, process: &Process) -> Result<(), HelperError> {
    let Some(access) = plan.access().filter(|_| plan.isolation.mount) else {
        return Ok(());
    };
    let users = process.status("Uid").split_whitespace();
    let groups = process.status("Gid").split_whitespace();
    let (user, group) = (plan.user.user.to_string(), plan.user.group.to_string());
    if !(users.eq([&user; 4]) && groups.eq([&group; 4])) {
        return Err(HelperError::new(format!(
            "it is to run as {user}:{group}, but runs as {} : {}",
            process.status("Uid"),
            process.status("Gid")
        )));
    }
    for wanted in &access.mounts {
        let found = process.mounts.iter().rev().find(|(to, _)| *to == wanted.to);
        if found.map(|(_, mount)| mount.read_only) != Some(wanted.read_only) {
            return Err(HelperError::new(format!(
                "{} is to be mounted at {}, but is not in the container",
                wanted.from, wanted.to
            )));
        }
    }
    for device in &plan.devices {
        let path = format!("/proc/{}/root{}", process.pid, device.path);
        let found = stowplan_host::Device::find(&path)?;
        if (found.block, found.major, found.minor) != (device.block, device.major, device.minor) {
            return Err(HelperError::new(format!(
                "{} is another device in the container",
                device.path
            )));
        }
    }
    Ok(())
}

fn is_host_root(plan: &HelperPlan) -> bool {
    matches!(&plan.service.program, Program::Command { rootfs, .. } if rootfs.as_deref().is_none_or(|root| root == "/"))
}

fn same(feature: &str, asked: bool, found: bool) -> Result<(), HelperError> {
    if asked == found {
        return Ok(());
    }
    let (asked, found) = if asked {
        ("asked for", "absent")
    } else {
        ("not asked for", "there")
    };
    Err(HelperError::new(format!(
        "isolation feature '{feature}' is {asked} but {found} in the container"
    ))
    .hint("switch it off in the deployment, or see `stowplan doctor` for what this machine can do"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mount_on_the_root_counts() {
        let text = "21 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/a\n\
                    22 21 0:21 / /proc rw - proc proc rw\n\
                    30 21 0:30 / / ro,nosuid - tmpfs x rw\n";
        let process = |text| Process {
            pid: 1,
            status: String::new(),
            mounts: mounts(text),
        };
        let found = process(text);
        let root = found.root().unwrap();
        assert_eq!((root.kind.as_str(), root.read_only), ("tmpfs", true));
        assert!(process("nonsense").root().is_none());
    }

    #[test]
    fn a_difference_names_the_feature() {
        let error = same("seccomp", true, false).unwrap_err().to_string();
        assert_eq!(
            error,
            "isolation feature 'seccomp' is asked for but absent in the container"
        );
        assert!(same("pid", false, true).is_err());
        assert!(same("pid", true, true).is_ok());
    }

    #[test]
    fn a_process_is_not_apart_from_itself() {
        let own = Process::read(std::process::id()).unwrap();
        assert!(!own.apart(Path::new("/proc/self/ns/net"), "net").unwrap());
        assert!(!own.status("Seccomp").is_empty());
    }
}
