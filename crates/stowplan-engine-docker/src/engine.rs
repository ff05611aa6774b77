//! The engine: what it can do, and preparing a deployment.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, Deployment, Engine, EngineError, LimitSupport, Probe, Variant,
};
use stowplan_host::Host;
use stowplan_wire::deployment::DeploymentPlan;

use crate::Daemon;
use crate::client::Client;
use crate::deployment::ContainerDeployment;
use crate::ground::Holder;
use crate::images::Images;
use crate::probe;

/// Docker or Podman on this machine. Dropping it removes the images that it has loaded.
pub struct DockerEngine {
    daemon: Daemon,
    holder: Holder,
    images: Rc<RefCell<Images>>,
}

impl DockerEngine {
    /// The engine of `daemon`. Its services are in the network of the process `network_of`; `agent` is the static
    /// agent program, which stands for that network in a container.
    #[must_use]
    pub fn new(daemon: Daemon, agent: &Path, network_of: u32) -> Self {
        Self {
            daemon,
            holder: Holder {
                program: agent.to_owned(),
                of_process: network_of,
            },
            images: Rc::new(RefCell::new(Images::new(daemon))),
        }
    }

    /// Removes the images that it has loaded and not removed, if there are any.
    ///
    /// # Errors
    /// When the daemon cannot remove one.
    pub fn remove_images(&self) -> Result<(), EngineError> {
        self.images.borrow_mut().remove_all()
    }
}

impl Engine for DockerEngine {
    fn name(&self) -> String {
        self.daemon.name().to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let mut images = self.images.borrow_mut();
        match probe::try_out(self.daemon, &mut images, &self.holder) {
            Ok(version) => Probe::Available { version },
            Err(error) => Probe::Absent {
                reason: stowplan_host::chain(&error),
                hint: error.hint.unwrap_or_else(|| self.daemon.hint()),
            },
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                name: String::new(),
                separate_create: true,
                pause: true,
                exit_status: true,
                oom_event: true,
                accounting: true,
                command: false,
                rootfs: true,
                mounts: true,
                user: true,
                limits: LimitSupport {
                    scheduling: false,
                    ..LimitSupport::all()
                },
                isolation: Vec::new(),
            }],
            max_services: None,
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require(self.daemon.name(), plan)?;
        let client = Client::connect(self.daemon)?;
        let mut images = self.images.borrow_mut();
        let deployment =
            ContainerDeployment::prepare(client, &mut images, &self.holder, plan, host)?;
        Ok(Box::new(deployment))
    }
}
