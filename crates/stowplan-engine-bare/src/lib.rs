//! Services as plain processes: the reference that every other engine is compared with (docs/measuring.md §2).
//!
//! - `bare:flat`: all processes in one scheduling group and one session.
//! - `bare:session`: one session per service, as login shells start them.
//! - `bare:grouped`: one control group and one session per service with weights and limits, nothing else isolated. Its groups
//!   lie as `oci`, `docker`, `podman`, `cri` and `nspawn` have them; those of `bare:grouped-lxc` and `bare:grouped-lxd` as these do.
//!
//! In every variant each service has accounting of its own where the machine can account without scheduling.
//! Runs inside the agent: its caller must have one thread, because services die with the thread that made them.

mod affinity;
mod capabilities;
mod deployment;
mod groups;
mod program;
mod service;
mod spawn;

use std::rc::Rc;

use stowplan_engine::{CGROUPFS, Capabilities, Deployment, Engine, EngineError, Probe, parts};
use stowplan_host::Host;
use stowplan_host::cgroup::Tree;
use stowplan_wire::deployment::DeploymentPlan;

/// Engine name, as in a place.
pub const NAME: &str = "bare";

/// The engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bare;

impl Engine for Bare {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let kernel = rustix::system::uname();
        let kernel = kernel.release().to_string_lossy();
        let parts = match Tree::detect() {
            Ok(tree) => parts("none", "none", CGROUPFS, tree.layout.version()),
            // Plain processes can do without.
            Err(_) => parts("none", "none", "none", "because none are mounted"),
        };
        Probe::Available {
            version: format!("Linux {kernel}, {parts}"),
        }
    }

    fn capabilities(&self) -> Capabilities {
        capabilities::capabilities()
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require(NAME, plan)?;
        Ok(Box::new(deployment::BareDeployment::prepare(plan, host)?))
    }
}
