//! Services in containers of systemd-nspawn, one `systemd-nspawn` in the foreground each.
//!
//! As `systemd-nspawn --directory=IMAGE PROGRAM` makes them: namespaces for mounts, processes, IPC, host name and control
//! groups, the host's network, systemd's capabilities and system call filter. What differs from that stands in
//! [`Nspawn::deviations`](stowplan_engine::Deployment::deviations) of each deployment.

mod arguments;
mod name;
mod root;
mod signals;
mod tool;

use std::rc::Rc;
use std::time::Duration;

use rustix::process::geteuid;
use stowplan_engine::{
    Capabilities, Deployment, Engine, EngineError, IsolationFeature, Probe, Variant,
};
use stowplan_engine_tool::{ToolDeployment, ask, probe_tool};
use stowplan_host::{Host, chain};
use stowplan_wire::deployment::DeploymentPlan;

/// Engine name, as in a place.
pub const NAME: &str = "nspawn";

const PROGRAM: &str = "systemd-nspawn";
const INSTALL: &str = "apt-get install systemd-container";

/// The engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nspawn;

impl Engine for Nspawn {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let absent = |reason: String, hint: &str| Probe::Absent {
            reason,
            hint: hint.to_owned(),
        };
        let version = match version() {
            Ok(version) => version,
            Err(error) => return absent(chain(&error), INSTALL),
        };
        if !geteuid().is_root() {
            return absent(format!("{PROGRAM} needs root"), "run as root");
        }
        probe_tool(self, PROGRAM, INSTALL, &format!("systemd {version}"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
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
        let tool = Box::new(tool::NspawnTool::default());
        Ok(Box::new(ToolDeployment::prepare(tool, plan, host)?))
    }
}

/// The version in the first line, which is `systemd 252 (252.39-1~deb12u2)`.
fn version() -> Result<String, EngineError> {
    let text = ask(PROGRAM, &["--version"], Duration::from_secs(10))?;
    let first = text.lines().next().unwrap_or_default();
    let version = first.strip_prefix("systemd ").map(str::trim);
    version.map(str::to_owned).ok_or_else(|| {
        EngineError::new(format!(
            "'{PROGRAM} --version' says '{first}', which is no version"
        ))
    })
}
