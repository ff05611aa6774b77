//! A mount namespace together with the folder that is the root in it: of a process in a chroot, the two differ.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::parent_id;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chroot, fchdir};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::error::{Context as _, HelperError};

/// What a process sees of the file system.
#[derive(Debug)]
pub(crate) struct View {
    namespace: File,
    root: File,
}

/// Descriptors of a view that is kept open elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawView {
    namespace: RawFd,
    root: RawFd,
}

impl View {
    /// That of this process.
    pub(crate) fn own() -> Result<Self, HelperError> {
        let path = "/proc/self/ns/mnt";
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            namespace: File::open(path).context(format_args!("cannot open {path}"))?,
            root: open("/", flags, Mode::empty())
                .context("cannot open /")?
                .into(),
        })
    }

    /// Path to the namespace, while this process lives.
    pub(crate) fn namespace(&self) -> &File {
        &self.namespace
    }

    /// For a child that inherits the descriptors.
    pub(crate) fn raw(&self) -> RawView {
        RawView {
            namespace: self.namespace.as_raw_fd(),
            root: self.root.as_raw_fd(),
        }
    }

    /// Makes it that of this process.
    pub(crate) fn enter(&self) -> Result<(), HelperError> {
        enter(self.namespace.as_fd(), self.root.as_fd())
            .context("cannot change the mount namespace")
    }
}

impl RawView {
    /// Makes it that of this process.
    pub(crate) fn enter(self) -> Result<(), Errno> {
        // SAFETY: the helper keeps both descriptors open as long as it lives, and libcontainer only marks them
        // close-on-exec.
        let (namespace, root) = unsafe {
            (
                BorrowedFd::borrow_raw(self.namespace),
                BorrowedFd::borrow_raw(self.root),
            )
        };
        enter(namespace, root)
    }
}

fn enter(namespace: BorrowedFd<'_>, root: BorrowedFd<'_>) -> Result<(), Errno> {
    // Takes the process to the namespace's own root, out of a chroot.
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Mount))?;
    fchdir(root)?;
    chroot(".")
}

/// Makes every mount of this process's new namespace private, so that none of ours is seen outside.
///
/// That is asked of the root's mount. In a chroot the root is a folder and no mount, which neither this nor
/// pivot_root(2) takes: there a copy of what the process sees becomes its root.
pub(super) fn make_private() -> Result<(), HelperError> {
    let change = || {
        let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", flags)
    };
    match change() {
        Err(Errno::INVAL) => {
            root_of_its_own()?;
            change().context("cannot make mounts private")
        }
        other => other.context("cannot make mounts private"),
    }
}

fn root_of_its_own() -> Result<(), HelperError> {
    let what = "cannot make a root of the chroot";
    let seen = || fs::read_to_string(format!("/proc/{}/mountinfo", parent_id()));
    let before = seen().context(what)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, "/", flags).context(what)?;
    let empty = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&tree, Path::new(""), CWD, Path::new("/"), empty).context(what)?;
    fchdir(&tree).context(what)?;
    if seen().context(what)? != before {
        unmount(".", UnmountFlags::DETACH).context(what)?;
        return Err(
            HelperError::new(format!("{what}: its mount is shared with other namespaces"))
                .hint("make it private outside of the chroot: mount --make-rprivate /"),
        );
    }
    chroot(".").context(what)
}
