//! `lxc-start` as a tool that holds containers.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_engine_tool::{InnerGroup, Invocation, Tool, command_in_root, lxc};
use stowplan_host::{Host, HostError};
use stowplan_wire::deployment::{DeploymentPlan, ServiceStart};

use crate::PROGRAM;
use crate::config::{self, Files};

/// Where LXC keeps the locks of containers, below their `lxcpath`; it never removes them.
const LOCKS: &str = "/run/lxc/lock";

/// The tool.
#[derive(Debug, Default)]
pub(crate) struct LxcTool {
    /// What to tell of scheduling classes, where there are some.
    class_note: Option<String>,
}

impl Tool for LxcTool {
    fn program(&self) -> &'static str {
        PROGRAM
    }

    fn prepare(&mut self, plan: &DeploymentPlan, _host: &dyn Host) -> Result<(), EngineError> {
        self.class_note = lxc::class_note(plan);
        for service in &plan.services {
            let checked = command_in_root(plan, service, config::root_of(plan, &service.program))
                .and_then(|_| config::text(plan, service, None));
            checked.map_err(|e| e.of_service(&service.name, Some(service.log.clone())))?;
            // The folder that the service sees of the run is there already when it has node programs.
            make(&Path::new(&plan.run_dir).join(&service.name))?;
        }
        Ok(())
    }

    fn invocation(
        &self,
        plan: &DeploymentPlan,
        service: &ServiceStart,
        budget_us: Option<u64>,
    ) -> Result<Invocation, EngineError> {
        let files = Files::of(plan, service);
        // Every start begins with an empty upper layer, in the run folder, which the ledger has.
        match fs::remove_dir_all(&files.folder) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(HostError::io("remove", &files.folder, e).into());
            }
            _ => make(&files.upper)?,
        }
        fs::write(&files.config, config::text(plan, service, budget_us)?)
            .map_err(|e| HostError::io("write", &files.config, e))?;
        let root = config::root_of(plan, &service.program);
        let mut arguments: Vec<OsString> = ["--foreground", "--name", &service.name]
            .map(OsString::from)
            .into();
        for (option, path) in [
            ("--lxcpath", &files.lxc_path),
            ("--rcfile", &files.config),
            ("--logfile", &files.log),
        ] {
            arguments.extend([option.into(), path.into()]);
        }
        // The first process and its status are told from there on.
        arguments.extend(["--logpriority", "INFO", "--"].map(OsString::from));
        arguments.extend(
            command_in_root(plan, service, root)?
                .into_iter()
                .map(OsString::from),
        );
        let locks = Path::new(LOCKS).join(plan.run_dir.trim_start_matches('/'));
        Ok(Invocation {
            program: PROGRAM.to_owned(),
            arguments,
            environment: Vec::new(),
            log: Some(files.log),
            group: Some(InnerGroup {
                name: format!("lxc.payload.{}", service.name),
                limited: true,
            }),
            gives_class: true,
            leaves: vec![locks],
        })
    }

    fn leader(&self, said: &str) -> Option<u32> {
        lxc::leader(said)
    }

    fn status(&self, status: i32, words: &str) -> i32 {
        lxc::status(status, words)
    }

    fn remove(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn deviations(&self) -> Vec<String> {
        let always = [
            "lxc.cgroup.relative = 1: LXC's control groups are made below that of the run; a CPU weight is also set on \
             the group above, where services compete",
            "lxc.rootfs.path = overlay:…: the root is an overlay on the image whose upper layer is in memory",
            "lxc.console.path = none: output goes to the log file and not through a terminal",
            "lxc.apparmor.profile = unconfined: the program is confined by LXC's capabilities, device rules and system \
             call filter alone",
            "/dev/shm is a file system of its own, which LXC's own settings do not make",
            "lxc-start writes its own log at level INFO, and adds the variable 'container' to the environment",
        ];
        let always = always.into_iter().map(str::to_owned);
        always.chain(self.class_note.clone()).collect()
    }
}

fn make(folder: &Path) -> Result<(), EngineError> {
    fs::create_dir_all(folder).map_err(|e| HostError::io("create", folder, e).into())
}
