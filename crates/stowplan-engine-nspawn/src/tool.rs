//! systemd-nspawn as a tool that holds containers.

use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_engine_tool::{InnerGroup, Invocation, Tool, command_in_root};
use stowplan_host::cgroup::{Layout, Tree};
use stowplan_host::ledger::Object;
use stowplan_host::{Device, Host};
use stowplan_wire::deployment::{Access, DeploymentPlan, Program, ServiceStart};

use crate::root::{HostRoot, root_of};
use crate::{PROGRAM, arguments, name, signals};

/// Folders of systemd-nspawn for what the host hands to a container (`propagate`) and, from systemd 254 on, the
/// container to the host (`unix-export`): it makes one for each container, and does not remove it where /run is no tmpfs.
const TUNNELS: [&str; 2] = [
    "/run/systemd/nspawn/propagate",
    "/run/systemd/nspawn/unix-export",
];

/// Where systemd-nspawn mounts the root together, under which names; one that is killed meanwhile leaves its folder
/// (nspawn-mount.c, `setup_volatile_overlay`).
const VOLATILE: (&str, &str) = ("/tmp", "nspawn-volatile-");

/// What systemd-nspawn notifies with the pid of the first process, once that is set up (nspawn.c, `run_container`).
const LEADER: &str = "X_NSPAWN_LEADER_PID=";

/// The tool.
#[derive(Debug, Default)]
pub(crate) struct NspawnTool {
    host_root: Option<HostRoot>,
}

impl Tool for NspawnTool {
    fn program(&self) -> &'static str {
        PROGRAM
    }

    fn prepare(&mut self, plan: &DeploymentPlan, host: &dyn Host) -> Result<(), EngineError> {
        let host_root = HostRoot::path(plan);
        let is_host = |service: &ServiceStart| root_of(plan, &service.program) == host_root;
        if plan.services.iter().any(is_host) {
            self.host_root = Some(HostRoot::mount(plan, host)?);
        }
        for service in &plan.services {
            check(plan, service)
                .map_err(|e| e.of_service(&service.name, Some(service.log.clone())))?;
        }
        host.enter(&Object::scratch(VOLATILE.0, VOLATILE.1))?;
        // The folder that the service sees of the run is there already when it has node programs.
        for service in &plan.services {
            let folder = Path::new(&plan.run_dir).join(&service.name);
            std::fs::create_dir_all(&folder)
                .map_err(|e| stowplan_host::HostError::io("create", &folder, e))?;
        }
        Ok(())
    }

    fn invocation(
        &self,
        plan: &DeploymentPlan,
        service: &ServiceStart,
        _budget_us: Option<u64>,
    ) -> Result<Invocation, EngineError> {
        let root = root_of(plan, &service.program);
        let machine = name::machine(&plan.run, &service.name);
        let command = command_in_root(plan, service, &root)?;
        Ok(Invocation {
            program: PROGRAM.to_owned(),
            arguments: arguments::arguments(plan, service, &machine, &root, command),
            environment: environment(plan),
            log: None,
            group: payload()?,
            // A service has the groups that it is started in, with their budget.
            gives_class: false,
            leaves: TUNNELS
                .map(|folder| PathBuf::from(folder).join(&machine))
                .into(),
        })
    }

    fn leader(&self, said: &str) -> Option<u32> {
        let said = said.lines();
        said.filter_map(|line| line.strip_prefix(LEADER)?.parse().ok())
            .next()
    }

    fn status(&self, status: i32, log: &str) -> i32 {
        signals::status_of(status, log)
    }

    fn remove(&mut self) -> Result<(), EngineError> {
        match &self.host_root {
            Some(root) => Ok(root.remove()?),
            None => Ok(()),
        }
    }

    fn deviations(&self) -> Vec<String> {
        let mut deviations = vec![
            "--register=no --keep-unit: systemd-machined does not know the containers, and their limits are those of \
             control groups that Stowplan makes, not properties of a unit"
                .to_owned(),
            "--volatile=overlay: the root is an overlay on the image whose upper layer is in memory".to_owned(),
            "--console=pipe: output goes to the log file and not through a terminal".to_owned(),
            "systemd-nspawn adds variables to the environment (container, container_uuid, NOTIFY_SOCKET, …)"
                .to_owned(),
        ];
        deviations.push(match payload() {
            Ok(Some(_)) => {
                "the container is in the control group 'payload' below that of its service; both have its limits, and what \
                 systemd-nspawn itself uses is not counted in the service"
                    .to_owned()
            }
            _ => "what systemd-nspawn itself uses until the program runs is counted in the service"
                .to_owned(),
        });
        if self.host_root.is_some() {
            deviations
                .push("the host's root file system without what is mounted below it".to_owned());
        }
        deviations
    }
}

/// The group of the container where control groups have version 2 alone: there the tool moves itself into one called `supervisor`
/// beside it (nspawn-cgroup.c, `create_subcgroup`).
fn payload() -> Result<Option<InnerGroup>, EngineError> {
    let group = InnerGroup {
        name: "payload".to_owned(),
        limited: false,
    };
    Ok((Tree::detect()?.layout == Layout::V2).then_some(group))
}

/// Settings that the tool takes from nowhere else (<https://github.com/systemd/systemd/blob/main/docs/ENVIRONMENT.md>, "systemd-nspawn").
fn environment(plan: &DeploymentPlan) -> Vec<(String, String)> {
    // Containers of one image do not exclude each other, and no lock file outlives a killed one.
    let lock = ("SYSTEMD_NSPAWN_LOCK", "0");
    let share_ipc = ("SYSTEMD_NSPAWN_SHARE_NS_IPC", "1");
    let set = [Some(lock), (!plan.isolation.ipc).then_some(share_ipc)];
    let set = set.into_iter().flatten();
    set.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Sees that a service can be started, with a better word for it than the tool has.
fn check(plan: &DeploymentPlan, service: &ServiceStart) -> Result<(), EngineError> {
    let root = root_of(plan, &service.program);
    if !root.join("usr").is_dir() {
        return Err(EngineError::new(format!(
            "{} is no root file system for {PROGRAM}: it has no folder usr",
            root.display()
        ))
        .hint("build the image first, or give a root file system with a folder /usr"));
    }
    command_in_root(plan, service, &root)?;
    match &service.program {
        Program::Node => Ok(()),
        Program::Command { access, .. } => check_access(access),
    }
}

fn check_access(access: &Access) -> Result<(), EngineError> {
    for device in &access.devices {
        Device::find(device)?;
    }
    for mount in &access.mounts {
        if let Err(error) = Path::new(&mount.from).metadata() {
            return Err(EngineError::new(format!("cannot mount {}", mount.from)).because(error));
        }
    }
    match access.user.as_deref().filter(|user| user.contains(':')) {
        Some(user) => Err(EngineError::new(format!(
            "{PROGRAM} takes a user without a group, not '{user}'"
        ))
        .hint("give the user alone; its group is that of the container's etc/passwd")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_is_in_the_second_line() {
        let leader = |said: &str| NspawnTool::default().leader(said);
        let said = "STATUS=Container running.\nX_NSPAWN_LEADER_PID=4711\nREADY=1\n\n";
        assert_eq!(leader(said), Some(4711));
        assert_eq!(leader("READY=1\n"), None);
    }
}
