//! What a process sees of the file system: its mount namespace, and the folder that is its root in it. In a chroot the
//! two differ.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{chroot, fchdir};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use stowplan_host::HostError;

/// The view of a process.
#[derive(Debug)]
pub(crate) struct View {
    namespace: File,
    root: OwnedFd,
}

impl View {
    /// That of a process.
    pub fn of(pid: u32) -> Result<Self, HostError> {
        let namespace = format!("/proc/{pid}/ns/mnt");
        let root = format!("/proc/{pid}/root");
        let opened = File::open(&namespace);
        let folder = open(&root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        Ok(Self {
            namespace: opened.map_err(|e| HostError::io("open", namespace.as_ref(), e))?,
            root: folder.map_err(|e| HostError::io("open", root.as_ref(), io::Error::from(e)))?,
        })
    }

    /// A copy whose descriptors are of their own.
    pub fn copy(&self) -> io::Result<Self> {
        Ok(Self {
            namespace: self.namespace.try_clone()?,
            root: self.root.try_clone()?,
        })
    }

    /// Makes it that of this process. Only system calls, as between fork and exec.
    pub fn enter(&self) -> io::Result<()> {
        Ok(enter(self.namespace.as_fd(), self.root.as_fd())?)
    }
}

fn enter(namespace: BorrowedFd<'_>, root: BorrowedFd<'_>) -> Result<(), Errno> {
    // Takes the process to the namespace's own root, out of a chroot.
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Mount))?;
    fchdir(root)?;
    chroot(".")
}

/// In a mount namespace of its own, lays the folder `over` over the folder `at`. Only system calls, as between fork
/// and exec.
pub(crate) fn lay_over(over: &CStr, at: &CStr) -> io::Result<()> {
    // SAFETY: the process has one thread and shares no memory with another.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    match cut_off() {
        // In a chroot the root is a folder and no mount: from the namespace's own root it can be done.
        Err(Errno::INVAL) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = open(c"/", flags, Mode::empty())?;
            let own = open(c"/proc/self/ns/mnt", OFlags::CLOEXEC, Mode::empty())?;
            move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Mount))?;
            cut_off()?;
            enter(own.as_fd(), root.as_fd())?;
        }
        done => done?,
    }
    Ok(mount_bind(over, at)?)
}

/// No mount of this process's namespace is seen outside from now on.
fn cut_off() -> Result<(), Errno> {
    let slave = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", slave)
}
