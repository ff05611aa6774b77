//! A mount namespace together with the folder that is the root in it: of a process in a chroot, the two differ.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chdir, chroot, fchdir, pivot_root};
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
/// pivot_root(2) nor a new user namespace takes: there what the process sees becomes the root of its namespace.
pub(super) fn make_private() -> Result<(), HelperError> {
    match change() {
        Err(Errno::INVAL) => leave_chroot().context("cannot make a root of the chroot"),
        other => other.context("cannot make mounts private"),
    }
}

fn change() -> Result<(), Errno> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags)
}

fn leave_chroot() -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open("/", flags, Mode::empty())?;
    let own = open("/proc/self/ns/mnt", OFlags::CLOEXEC, Mode::empty())?;
    // Back to the namespace's own root, where everything can be made private before anything is mounted.
    move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Mount))?;
    change()?;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(&folder, "", clone)?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, "", &folder, "", both)?;
    // As pivot_root(2) says: the old root ends up on top of the new one, from where it is detached.
    fchdir(&tree)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")
}
