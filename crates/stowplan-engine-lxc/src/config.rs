//! The configuration of a container, lxc.container.conf(5).

use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_engine_tool::environment;
use stowplan_engine_tool::lxc::Config;
use stowplan_host::Device;
use stowplan_host::cgroup::Tree;
use stowplan_wire::deployment::{Access, DeploymentPlan, Program, ServiceStart};

use crate::COMMON;

/// The files of a container in the folder of a run; no service has a name like that of their folder.
#[derive(Debug)]
pub(crate) struct Files {
    /// `lxcpath`: LXC's own folder for the containers of the run.
    pub(crate) lxc_path: PathBuf,
    /// Folder of this container.
    pub(crate) folder: PathBuf,
    /// Configuration.
    pub(crate) config: PathBuf,
    /// Log of the tool.
    pub(crate) log: PathBuf,
    /// Upper layer of its root.
    pub(crate) upper: PathBuf,
}

impl Files {
    pub(crate) fn of(plan: &DeploymentPlan, service: &ServiceStart) -> Self {
        let lxc_path = Path::new(&plan.run_dir).join("_lxc");
        let folder = lxc_path.join(&service.name);
        Self {
            config: folder.join("config"),
            log: folder.join("lxc-start.log"),
            upper: folder.join("upper"),
            folder,
            lxc_path,
        }
    }
}

/// The folder with the root file system of a program, on the host.
pub(crate) fn root_of<'a>(plan: &'a DeploymentPlan, program: &'a Program) -> &'a Path {
    Path::new(match program {
        Program::Node => plan.image_dir.as_str(),
        Program::Command { rootfs, .. } => rootfs.as_deref().unwrap_or("/"),
    })
}

/// The text of the configuration; `budget_us` is the real-time budget of its group, where there are budgets.
///
/// # Errors
/// When the plan has what the configuration cannot express, or a device or user is not there.
pub(crate) fn text(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    budget_us: Option<u64>,
) -> Result<String, EngineError> {
    let files = Files::of(plan, service);
    let root = root_of(plan, &service.program);
    let upper = files.upper.display().to_string();
    let lower = root.display().to_string();
    if lower.contains(':') {
        return Err(EngineError::new(format!(
            "LXC takes no root file system with a colon in its path, as {lower}"
        )));
    }
    let mut config = Config::default();
    config.set("lxc.include", COMMON)?;
    config.set("lxc.uts.name", &service.name)?;
    config.set("lxc.rootfs.path", &format!("overlay:{lower}:{upper}"))?;
    config.set("lxc.apparmor.profile", "unconfined")?;
    if plan.isolation.net {
        // Nothing but a loopback, which is up.
        config.set("lxc.net.0.type", "empty")?;
        config.set("lxc.net.0.flags", "up")?;
    } else {
        config.set("lxc.net.0.type", "none")?;
    }
    config.set("lxc.console.path", "none")?;
    config.set("lxc.tty.max", "0")?;
    // Below the control groups that the tool is started in.
    config.set("lxc.cgroup.relative", "1")?;
    config.limits(&service.limits)?;
    if Tree::detect()?.accounts_for_swap() {
        config.no_swap(&service.limits)?;
    }
    config.class(service.limits.scheduling, budget_us)?;
    config.ipc(plan.isolation.ipc)?;
    let own = format!("{}/{}", plan.run_dir, service.name);
    config.mount(&own, &own, false)?;
    for (name, value) in environment(&service.program) {
        config.set("lxc.environment", &format!("{name}={value}"))?;
    }
    if let Program::Command { access, .. } = &service.program {
        give(&mut config, access)?;
        config.program(root, access)?;
    }
    Ok(config.text())
}

fn give(config: &mut Config, access: &Access) -> Result<(), EngineError> {
    config.mounts(&access.mounts)?;
    for path in &access.devices {
        let device = Device::find(path)?;
        let kind = if device.block { 'b' } else { 'c' };
        let rule = format!("{kind} {}:{} rwm", device.major, device.minor);
        config.set("lxc.cgroup.devices.allow", &rule)?;
        config.set("lxc.cgroup2.devices.allow", &rule)?;
        config.mount(path, path, false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stowplan_testkit::command_plan;
    use stowplan_wire::deployment::BindMount;

    use super::*;

    fn plan() -> DeploymentPlan {
        command_plan("r", "/r", None, &[("a", &["x"])])
    }

    fn lines(plan: &DeploymentPlan) -> Vec<String> {
        let text = text(plan, &plan.services[0], None).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_network_of_its_own_has_nothing_but_a_loopback() {
        let mut plan = plan();
        plan.isolation.net = true;
        let lines = lines(&plan);
        let network: Vec<&String> = lines.iter().filter(|l| l.starts_with("lxc.net")).collect();
        assert_eq!(network, ["lxc.net.0.type = empty", "lxc.net.0.flags = up"]);
    }

    #[test]
    fn a_program_gets_a_root_the_network_and_its_folder() {
        let lines = lines(&plan());
        for line in [
            "lxc.include = /usr/share/lxc/config/common.conf",
            "lxc.rootfs.path = overlay:/:/r/_lxc/a/upper",
            "lxc.net.0.type = none",
            "lxc.mount.entry = /r/a r/a none bind,create=file 0 0",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
        assert!(
            lines
                .iter()
                .any(|l| l.starts_with("lxc.environment = PATH="))
        );
        assert!(!lines.iter().any(|l| l.contains("cpu")), "{lines:?}");
    }

    #[test]
    fn what_a_program_has_of_the_host_becomes_lines() {
        let mut plan = plan();
        if let Program::Command { access, .. } = &mut plan.services[0].program {
            *access = Access {
                mounts: vec![BindMount {
                    from: "/etc".to_owned(),
                    to: "/my maps".to_owned(),
                    read_only: true,
                }],
                devices: vec!["/dev/null".to_owned()],
                user: Some("7:9".to_owned()),
                working_dir: Some("/my maps".to_owned()),
            };
        }
        let lines = lines(&plan);
        for line in [
            "lxc.mount.entry = /etc my\\040maps none bind,ro,create=dir 0 0",
            "lxc.mount.entry = /dev/null dev/null none bind,create=file 0 0",
            "lxc.cgroup.devices.allow = c 1:3 rwm",
            "lxc.init.uid = 7",
            "lxc.init.gid = 9",
            "lxc.init.cwd = /my maps",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
    }

    #[test]
    fn what_lines_cannot_hold_is_refused() {
        let mut plan = plan();
        if let Program::Command { env, .. } = &mut plan.services[0].program {
            *env = vec![("A".to_owned(), "one\ntwo".to_owned())];
        }
        let error = text(&plan, &plan.services[0], None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("lxc.environment"), "{error}");
    }
}
