//! The engine: what it can do, and preparing a deployment.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{
    CGROUPFS, Capabilities, Deployment, Engine, EngineError, IsolationFeature, Probe, Variant,
    parts,
};
use stowplan_host::Host;
use stowplan_host::cgroup::Tree;
use stowplan_wire::deployment::{Access, DeploymentPlan, LimitsPlan, Program, ServiceStart};

use crate::deployment::OciDeployment;
use crate::fleet::{Fleet, Round};
use crate::helper_program::{HelperProgram, RUNTIME};
use crate::protocol::Opening;

/// Engine name, as in a place, and the word that makes the agent's program a helper of it.
pub const NAME: &str = "oci";

/// The embedded OCI runtime.
#[derive(Debug, Clone)]
pub struct OciEngine {
    helper: HelperProgram,
}

impl Default for OciEngine {
    /// Helpers are this program with the argument `oci`; it has to call [`crate::helper_main`] for it.
    fn default() -> Self {
        Self::with_helper(Path::new("/proc/self/exe"), &[NAME])
    }
}

impl OciEngine {
    /// An engine whose helpers are another program.
    #[must_use]
    pub fn with_helper(program: &Path, arguments: &[&str]) -> Self {
        Self {
            helper: HelperProgram::new(program, arguments),
        }
    }

    fn try_out(&self) -> Result<(), EngineError> {
        let link = self.helper.spawn("probe", "/dev/null")?;
        let mut fleet = Fleet::new(vec![link], String::new());
        let round = Round {
            verb: "probe",
            parallelism: 0,
            patience: Duration::from_secs(10),
            go_on: true,
        };
        fleet.round(&[0], round, |link| link.send(&Opening::Probe))
    }
}

impl Engine for OciEngine {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let tried = self.try_out().and_then(|()| version());
        let tried = tried.map_err(|error| EngineError {
            service: None,
            ..error
        });
        Probe::of(tried, || {
            "run as root, with CAP_SYS_ADMIN and a kernel that has overlayfs and namespaces"
                .to_owned()
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                isolation: IsolationFeature::ALL.to_vec(),
                ..Variant::container("")
            }],
            max_services: None,
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require(NAME, plan)?;
        let plan = as_this_user_can(plan);
        check(&plan)?;
        Ok(Box::new(OciDeployment::prepare(&self.helper, &plan, host)?))
    }
}

/// Without root a container lives in a user namespace, and nobody gives it a cgroup: the deployment says so as its
/// deviations.
fn as_this_user_can(plan: &DeploymentPlan) -> Cow<'_, DeploymentPlan> {
    let mut plan = Cow::Borrowed(plan);
    if !rustix::process::geteuid().is_root() {
        let own = &mut plan.to_mut().isolation;
        (own.user, own.cgroup) = (true, false);
    }
    plan
}

/// The runtime with its parts.
fn version() -> Result<String, EngineError> {
    let groups = Tree::detect()?.layout.version();
    let (driver, groups) = if rustix::process::geteuid().is_root() {
        (CGROUPFS, groups)
    } else {
        ("none", "because those here are root's")
    };
    let name = RUNTIME.split(' ').next().unwrap_or(RUNTIME);
    let parts = parts("overlay", name, driver, groups);
    Ok(format!("{RUNTIME}, {parts}"))
}

/// Refuses combinations that the kernel does not have, naming the feature.
fn check(plan: &DeploymentPlan) -> Result<(), EngineError> {
    let asked = &plan.isolation;
    let needs_mount = [
        (asked.user, "user"),
        (asked.read_only_root, "read-only-root"),
        (asked.overlay, "overlay"),
    ];
    if let Some((_, feature)) = needs_mount.iter().find(|(on, _)| *on && !asked.mount) {
        return Err(EngineError::new(format!(
            "isolation feature '{feature}' cannot be had without 'mount'"
        ))
        .hint("switch 'mount' on, or the other off"));
    }
    if !rustix::process::geteuid().is_root() {
        check_rootless(plan)?;
    }
    for service in &plan.services {
        check_service(plan, service)
            .map_err(|error| error.of_service(&service.name, Some(service.log.clone())))?;
    }
    Ok(())
}

/// What the user namespace of somebody who is not root does not have.
fn check_rootless(plan: &DeploymentPlan) -> Result<(), EngineError> {
    let as_another = |service: &&ServiceStart| {
        matches!(&service.program, Program::Command { access, .. }
            if access.user.as_deref().is_some_and(|user| user != "0" && user != "root"))
    };
    if let Some(service) = plan.services.iter().find(as_another) {
        return Err(
            EngineError::new("without root, a container has no other user than its root")
                .of_service(&service.name, Some(service.log.clone()))
                .hint("leave 'user' out, or run as root"),
        );
    }
    let of_host = |service: &&ServiceStart| {
        matches!(&service.program, Program::Command { rootfs, .. }
            if rootfs.as_deref().is_none_or(|root| root == "/"))
    };
    match plan.services.iter().find(of_host) {
        // The kernel makes no overlay of a tree with mounts that this user could not unmount.
        Some(service) if plan.isolation.overlay => Err(EngineError::new(
            "isolation feature 'overlay' cannot be had on the host's root without root",
        )
        .of_service(&service.name, Some(service.log.clone()))
        .hint("switch 'overlay' off, or give the service a root file system")),
        _ => Ok(()),
    }
}

fn check_service(plan: &DeploymentPlan, service: &ServiceStart) -> Result<(), EngineError> {
    let in_cgroup = LimitsPlan {
        scheduling: None,
        ..service.limits.clone()
    };
    if !plan.isolation.cgroup && in_cgroup != LimitsPlan::default() {
        return Err(
            EngineError::new("limits cannot be had without isolation feature 'cgroup'").hint(
                if rustix::process::geteuid().is_root() {
                    "switch 'cgroup' on, or leave out the limits"
                } else {
                    "run as root, or leave out the limits"
                },
            ),
        );
    }
    if let Program::Command { rootfs, access, .. } = &service.program {
        check_access(plan, Path::new(rootfs.as_deref().unwrap_or("/")), access)?;
    }
    let (program, hint) = match &service.program {
        Program::Node => (
            Path::new(&plan.image_dir).join("stowplan-node"),
            "build the image first",
        ),
        Program::Command {
            rootfs: Some(rootfs),
            ..
        } => {
            if !plan.isolation.mount {
                return Err(EngineError::new(
                    "a root file system of its own cannot be had without isolation feature 'mount'",
                )
                .hint("switch 'mount' on, or use the host's root file system"));
            }
            (PathBuf::from(rootfs), "make the root file system first")
        }
        Program::Command { rootfs: None, .. } => return Ok(()),
    };
    match program.metadata() {
        Ok(_) => Ok(()),
        Err(error) => Err(
            EngineError::new(format!("cannot use {}", program.display()))
                .because(error)
                .hint(hint),
        ),
    }
}

/// What a program has of the host needs a root of its own to be in, and without an overlay places that are there:
/// nothing is made in anybody's root file system.
fn check_access(plan: &DeploymentPlan, root: &Path, access: &Access) -> Result<(), EngineError> {
    let asked = &plan.isolation;
    if !asked.mount && (access.user.is_some() || !access.mounts.is_empty()) {
        return Err(EngineError::new(
            "mounts and a user of its own cannot be had without isolation feature 'mount'",
        )
        .hint("switch 'mount' on, or leave 'mounts' and 'user' out"));
    }
    for mount in &access.mounts {
        if let Err(error) = Path::new(&mount.from).metadata() {
            return Err(EngineError::new(format!("cannot mount {}", mount.from)).because(error));
        }
        let to = Path::new(&mount.to);
        let of_host = !asked.ipc && to.starts_with("/dev/shm");
        let place = if of_host {
            to.to_owned()
        } else {
            root.join(mount.to.trim_start_matches('/'))
        };
        // A container's /dev is a tmpfs of its own.
        let is_made = !of_host && (asked.overlay || to.starts_with("/dev"));
        if !is_made && !place.exists() {
            return Err(EngineError::new(format!(
                "there is no {} to mount {} on",
                place.display(),
                mount.from
            ))
            .hint("make it, or switch isolation feature 'overlay' on"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_the_one_that_is_compiled_in() {
        let (name, version) = RUNTIME.split_once(' ').unwrap();
        let locked = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(include_str!("../../../Cargo.lock").contains(&locked));
    }
}
