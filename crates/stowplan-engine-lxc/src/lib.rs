//! Services in containers of LXC, one `lxc-start` in the foreground each.
//!
//! As `lxc-start` makes them with the settings that LXC ships for all containers (`common.conf`): namespaces for mounts,
//! processes, IPC, host name and control groups, the host's network, LXC's capabilities, device rules and system call
//! filter. What differs from that stands in the deviations of each deployment.

mod config;
mod tool;

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use rustix::process::geteuid;
use stowplan_engine::{
    Capabilities, CpuGroups, Deployment, Engine, EngineError, IsolationFeature, Probe, Variant,
};
use stowplan_engine_tool::{ToolDeployment, ask, probe_tool};
use stowplan_host::{Host, chain};
use stowplan_wire::deployment::DeploymentPlan;

/// Engine name, as in a place.
pub const NAME: &str = "lxc";

const PROGRAM: &str = "lxc-start";
const INSTALL: &str = "apt-get install lxc";

/// Settings that LXC ships for all containers.
const COMMON: &str = "/usr/share/lxc/config/common.conf";

/// The engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lxc;

impl Engine for Lxc {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let absent = |reason: String, hint: &str| Probe::Absent {
            reason,
            hint: hint.to_owned(),
        };
        let version = match ask(PROGRAM, &["--version"], Duration::from_secs(10)) {
            Ok(version) => version,
            Err(error) => return absent(chain(&error), INSTALL),
        };
        if !Path::new(COMMON).exists() {
            return absent(format!("{COMMON} is missing"), INSTALL);
        }
        if !geteuid().is_root() {
            let reason = format!("{PROGRAM} with the host's network needs root");
            return absent(reason, "run as root");
        }
        probe_tool(self, PROGRAM, INSTALL, &format!("LXC {version}"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                cpu_groups: CpuGroups::WithPayload,
                separate_create: false,
                isolation: vec![IsolationFeature::Ipc, IsolationFeature::Net],
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
        Ok(Box::new(ToolDeployment::prepare(
            Box::new(tool::LxcTool::default()),
            plan,
            host,
        )?))
    }
}
