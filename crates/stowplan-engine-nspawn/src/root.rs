//! Root file systems.

use std::fs;
use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_host::ledger::{Object, remove_object};
use stowplan_host::{Host, HostError};
use stowplan_wire::deployment::{DeploymentPlan, Program};

/// The host's own root file system at a place of its own in the run folder: systemd-nspawn takes no `/`. It has what is
/// on the root file system alone, not what is mounted below it.
#[derive(Debug)]
pub(crate) struct HostRoot(PathBuf);

impl HostRoot {
    /// Where it is in the folder of a run; no service has a name like that.
    pub(crate) fn path(plan: &DeploymentPlan) -> PathBuf {
        Path::new(&plan.run_dir).join("_host")
    }

    /// Mounts it, entered in the ledger first.
    pub(crate) fn mount(plan: &DeploymentPlan, host: &dyn Host) -> Result<Self, EngineError> {
        let path = Self::path(plan);
        let root = Self(path.clone());
        host.enter(&root.object())?;
        let failed = |what: &'static str| move |e| HostError::io(what, &path, e);
        fs::create_dir_all(&root.0).map_err(failed("create"))?;
        let made = rustix::mount::mount_bind("/", &root.0).and_then(|()| {
            // Nothing that is mounted on the host meanwhile is to appear in it.
            rustix::mount::mount_change(&root.0, rustix::mount::MountPropagationFlags::PRIVATE)
        });
        let path = root.0.clone();
        made.map_err(|e| HostError::io("mount the root file system at", &path, e))?;
        Ok(root)
    }

    /// Unmounts it. May be called again.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        remove_object(&self.object()).map(drop)
    }

    fn object(&self) -> Object {
        Object::Mount {
            path: self.0.display().to_string(),
        }
    }
}

/// The folder with the root file system of a program, on the host.
pub(crate) fn root_of(plan: &DeploymentPlan, program: &Program) -> PathBuf {
    match program {
        Program::Node => PathBuf::from(&plan.image_dir),
        Program::Command { rootfs, .. } => match rootfs.as_deref() {
            None | Some("/") => HostRoot::path(plan),
            Some(folder) => PathBuf::from(folder),
        },
    }
}
