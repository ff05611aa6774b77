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
    CGROUPFS, Capabilities, Deployment, Engine, EngineError, IsolationFeature, Probe, Variant,
    parts,
};
use stowplan_engine_tool::{ToolDeployment, ask, try_out};
use stowplan_host::cgroup::Tree;
use stowplan_host::{Host, chain, network};
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
        if !network::may_have_own() {
            return absent(
                format!("{PROGRAM} needs CAP_SYS_ADMIN, which root does not have here"),
                "run outside of a container, or give it CAP_SYS_ADMIN",
            );
        }
        let tree = match Tree::detect() {
            Err(error) => return absent(chain(&error), "mount control groups on /sys/fs/cgroup"),
            Ok(tree) => tree,
        };
        let parts = parts("overlay", PROGRAM, CGROUPFS, tree.layout.version());
        let tried = try_out(self).map(|_| format!("LXC {version}, {parts}"));
        Probe::of(tried, || {
            format!("see what {PROGRAM} says; '{INSTALL}' installs the whole of it")
        })
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
        Ok(Box::new(ToolDeployment::prepare(
            Box::new(tool::LxcTool::default()),
            plan,
            host,
        )?))
    }
}
