//! Where a helper works: a mount namespace of its own, so that its mounts go when it goes.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, unmount};
use rustix::process::geteuid;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use stowplan_wire::deployment::Program;

use super::error::{Context as _, HelperError};
use super::view::{self, View};
use super::{hierarchies, rootless};
use crate::protocol::HelperPlan;

/// Where the helper sees its scratch space instead of the cgroup hierarchies; see [`Place::enter`].
pub(super) const CGROUPS: &str = "/sys/fs/cgroup";

/// The namespaces that a helper came from and works in.
#[derive(Debug)]
pub(crate) struct Place {
    /// The host's mounts.
    host: View,
    /// The host's user namespace.
    host_users: File,
    /// Whether the helper has become root of a user namespace of its own, because it was not root.
    rootless: bool,
    /// The helper's own.
    own: View,
    /// Number of the container being made: each has scratch space of its own.
    generation: u32,
}

impl Place {
    /// Leaves the host's mount namespace and mounts a tmpfs as scratch space over the cgroup hierarchies.
    ///
    /// Over the hierarchies for two reasons. Libcontainer would otherwise make cgroups, enable controllers in the
    /// host's root cgroup and kill what it finds there; we do all that ourselves, the same way for every engine, and
    /// what it sees is a machine with cgroup v1 and no controller. And it is a folder that exists on every machine,
    /// so that there is none to make and to remove.
    pub(crate) fn enter() -> Result<Self, HelperError> {
        let open = |kind| {
            let path = Path::new("/proc/self/ns").join(kind);
            File::open(&path).context(format_args!("cannot open {}", path.display()))
        };
        let (host, host_users) = (View::own()?, open("user")?);
        let rootless = !geteuid().is_root();
        if rootless {
            rootless::become_root()?;
        }
        // SAFETY: only CLONE_FILES makes unshare unsafe (descriptors of others), and it is not asked for.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
            .context("cannot unshare the mount namespace")?;
        view::make_private()?;
        let own = View::own()?;
        hierarchies::hide(rootless)?;
        match unmount(CGROUPS, UnmountFlags::DETACH) {
            // Not a mount point, or without root not ours to unmount.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error).context("cannot hide the cgroup hierarchies"),
        }
        mount_scratch(Path::new(CGROUPS))?;
        if rootless {
            rootless::stand_in_cgroups()?;
        }
        Ok(Self {
            host,
            host_users,
            rootless,
            own,
            generation: 0,
        })
    }

    /// Makes new scratch space for a container.
    pub(crate) fn renew(&mut self) -> Result<(), HelperError> {
        self.clear()?;
        self.generation += 1;
        let scratch = self.scratch();
        fs::create_dir(&scratch).context(format_args!("cannot create {}", scratch.display()))?;
        mount_scratch(&scratch)
    }

    /// Drops the scratch space of the last container with all mounts in it. Nothing is ever deleted file by file: a
    /// root in there may be the host's.
    pub(crate) fn clear(&self) -> Result<(), HelperError> {
        match unmount(self.scratch(), UnmountFlags::DETACH) {
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error).context("cannot unmount scratch space"),
        }
    }

    fn scratch(&self) -> PathBuf {
        Path::new(CGROUPS).join(self.generation.to_string())
    }

    /// The host's mounts.
    pub(crate) fn host(&self) -> &View {
        &self.host
    }

    /// Path to the host's namespace of this kind, while this process lives.
    pub(crate) fn host_namespace(&self, kind: &str) -> PathBuf {
        match kind {
            "mnt" => descriptor_path(self.host.namespace()),
            "user" => descriptor_path(&self.host_users),
            // The helper stays in these.
            other => Path::new("/proc/self/ns").join(other),
        }
    }

    /// Does something that needs to see the host's mounts.
    pub(crate) fn on_host<T>(
        &self,
        action: impl FnOnce() -> Result<T, HelperError>,
    ) -> Result<T, HelperError> {
        if self.rootless {
            // There is no way back, and no cgroup to look after.
            return action();
        }
        self.host.enter()?;
        let result = action();
        self.own.enter()?;
        result
    }

    /// A new folder of scratch space.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, HelperError> {
        let path = self.scratch().join(name);
        fs::create_dir_all(&path).context(format_args!("cannot create {}", path.display()))?;
        Ok(path)
    }

    /// Mounts the root file system of `plan` and gives its folder.
    pub(crate) fn root(&self, plan: &HelperPlan) -> Result<PathBuf, HelperError> {
        let root = self.folder("root")?;
        if !plan.isolation.mount {
            // Libcontainer's throw-away root; see `spec::config`.
            fs::create_dir_all(root.join("dev")).context("cannot create the throw-away root")?;
            return Ok(root);
        }
        let lower = match &plan.service.program {
            Program::Node => plan.image_dir.as_str(),
            Program::Command { rootfs, .. } => rootfs.as_deref().unwrap_or("/"),
        };
        let cannot = format!("cannot mount the root file system {lower}");
        if plan.isolation.overlay {
            self.overlay(lower, &root)
                .map_err(|error| HelperError::new(format!("{cannot}: {error}")))?;
        } else if lower == "/" {
            mount_bind_recursive(lower, &root).context(cannot)?;
        } else {
            mount_bind(lower, &root).context(cannot)?;
        }
        Ok(root)
    }

    fn overlay(&self, lower: &str, root: &Path) -> Result<(), HelperError> {
        if lower.contains([',', ':', '\\']) {
            return Err(HelperError::new(
                "an overlay cannot have ',', ':' or '\\' in a path",
            ));
        }
        let upper = self.folder("upper")?;
        let work = self.folder("work")?;
        let options = format!(
            "lowerdir={lower},upperdir={},workdir={}",
            upper.display(),
            work.display()
        );
        let options = CString::new(options).context("overlay")?;
        mount(
            "overlay",
            root,
            "overlay",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .context("overlay")
    }
}

fn descriptor_path(file: &File) -> PathBuf {
    Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())
}

fn mount_scratch(on: &Path) -> Result<(), HelperError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("stowplan", on, "tmpfs", flags, c"mode=755").context(format_args!(
        "cannot mount scratch space on {}",
        on.display()
    ))
}
