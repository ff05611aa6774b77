//! What the helper does to a created container from outside: cgroup, scheduling class, loopback.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use stowplan_host::cgroup::Group;
use stowplan_host::network;
use stowplan_host::scheduling::set_class;
use stowplan_wire::deployment::LimitsPlan;

use super::error::{Context as _, HelperError};

/// Puts process `pid` into its cgroup with its limits, then gives it its scheduling class: a real-time class must be
/// asked for in the cgroup that has to have the budget for it.
pub(crate) fn limit(group: &Group, pid: u32, limits: &LimitsPlan) -> Result<(), HelperError> {
    group.apply(limits)?;
    group.join(pid)?;
    if let Some(class) = limits.scheduling {
        set_class(pid, class)?;
    }
    Ok(())
}

/// Sets the loopback interface of the network namespace of `pid` up, with multicast for DDS discovery.
///
/// By a child, because a helper without root could not come back to the host's network namespace.
pub(crate) fn loopback_up(pid: u32) -> Result<(), HelperError> {
    let path = format!("/proc/{pid}/ns/net");
    let namespace = File::open(&path).context(format_args!("cannot open {path}"))?;
    // SAFETY: this process has one thread, so its child may do anything.
    let child = match unsafe { libc::fork() } {
        0 => {
            let done = set_loopback_up(&namespace);
            // SAFETY: ends the child without running what belongs to its parent.
            unsafe {
                libc::_exit(done.map_or_else(|error| error.raw_os_error().unwrap_or(1), |()| 0))
            }
        }
        child => Pid::from_raw(child),
    };
    let Some(child) = child else {
        return Err(std::io::Error::last_os_error()).context("cannot fork");
    };
    let status = loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a child"),
            Ok(status) => break status.and_then(|(_, status)| status.exit_status()),
        }
    };
    match status {
        Some(0) => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(
            code.unwrap_or(libc::EINTR),
        ))
        .context("cannot set the loopback interface up"),
    }
}

fn set_loopback_up(namespace: &File) -> std::io::Result<()> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    network::loopback_up()
}
