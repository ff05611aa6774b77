//! The network that the services of a run share: a namespace of its own with multicast on its loopback, where the
//! agent may have one (docs/measuring.md §1, "DDS").
//!
//! Autoware runs DDS on a loopback with multicast, and has its users switch that on for the whole machine. In a
//! namespace of its own nothing of the machine is changed, nobody else's traffic is there, and nothing is left to
//! clean: it ends with its last process.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use crate::HostError;

/// Bit of `CAP_SYS_ADMIN` in a capability set (capabilities(7)).
const CAP_SYS_ADMIN: u32 = 21;

/// Moves this process, and what it starts from now on, into a network namespace of its own whose loopback is up with
/// multicast. Without the permission for it the process stays where it is. The process must have a single thread.
///
/// # Errors
/// When the namespace is there and its loopback cannot be set up.
pub fn enter_own() -> Result<(), HostError> {
    // SAFETY: descriptors keep what they refer to; a network namespace only decides what new sockets see.
    match unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) } {
        Ok(()) => loopback_up().map_err(|e| {
            HostError::new("cannot set the loopback interface of the run's network up").because(e)
        }),
        Err(Errno::PERM) => Ok(()),
        Err(error) => {
            Err(HostError::new("cannot make a network namespace for the run").because(error))
        }
    }
}

/// Moves this process, and what it starts from now on, into the network namespace that `file` stands for
/// (network_namespaces(7)). The process must have a single thread.
///
/// # Errors
/// When the file is none, or this process may not.
pub fn enter(file: &Path) -> Result<(), HostError> {
    let failed = |e: Errno| HostError::io("enter the network namespace", file, e);
    let namespace = open(file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(failed)
}

/// Which network namespace a process is in, as device and inode; `None` when it is gone or may not be looked at.
#[must_use]
pub fn of_process(pid: u32) -> Option<(u64, u64)> {
    let found = std::fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
    Some((found.dev(), found.ino()))
}

/// Whether this process may make a network namespace (network_namespaces(7): `CAP_SYS_ADMIN`).
#[must_use]
pub fn may_have_own() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let set = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
            u64::from_str_radix(set.trim(), 16).ok()
        })
        .is_some_and(|set| set & (1 << CAP_SYS_ADMIN) != 0)
}

/// Whether the loopback of this process's network namespace is up with multicast.
///
/// # Errors
/// When the kernel does not tell.
pub fn loopback_has_multicast() -> io::Result<bool> {
    let (socket, mut request) = ask_about_loopback()?;
    // SAFETY: SIOCGIFFLAGS writes one `ifreq`, which lives until the call returns.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled in the flags.
    let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
    let wanted = libc::IFF_UP | libc::IFF_MULTICAST;
    Ok(flags & wanted == wanted)
}

/// Sets the loopback of this process's network namespace up, with multicast.
///
/// # Errors
/// When the kernel refuses.
pub fn loopback_up() -> io::Result<()> {
    let (socket, mut request) = ask_about_loopback()?;
    let flags = libc::IFF_UP | libc::IFF_LOOPBACK | libc::IFF_RUNNING | libc::IFF_MULTICAST;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which lives until the call returns.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

fn ask_about_loopback() -> io::Result<(std::os::fd::OwnedFd, libc::ifreq)> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    Ok((socket, request))
}
