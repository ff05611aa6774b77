//! The engine: what it can do, and preparing a deployment.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, Deployment, Engine, EngineError, HealthSupport, IsolationFeature, Probe,
    SharedNetwork, Variant,
};
use stowplan_engine_daemon::Images;
use stowplan_host::Host;
use stowplan_image::Contents;
use stowplan_wire::deployment::DeploymentPlan;

use crate::Daemon;
use crate::backend;
use crate::client::Client;
use crate::ground::Holder;
use crate::images::Store;
use crate::probe;

/// Docker or Podman on this machine. Dropping it removes the images that it has loaded.
pub struct DockerEngine {
    daemon: Daemon,
    holder: Holder,
    images: RefCell<Images<Store>>,
}

impl DockerEngine {
    /// The engine of `daemon`. Its services are in `network`; `agent` is the static
    /// agent program, which stands for that network in a container.
    #[must_use]
    pub fn new(daemon: Daemon, agent: &Path, network: SharedNetwork) -> Self {
        Self {
            daemon,
            holder: Holder {
                program: agent.to_owned(),
                of_process: network.of_process,
            },
            images: RefCell::new(Images::new(Store(daemon))),
        }
    }

    /// Brings an image of these contents into the daemon's store, where it stays until this goes, and gives its tag: for
    /// who starts containers of it in another way.
    ///
    /// # Errors
    /// When the daemon does not answer or does not take them.
    pub fn load(&self, contents: &Contents) -> Result<String, EngineError> {
        let client = Client::connect(self.daemon)?;
        self.images.borrow_mut().load(&client, contents)
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
        let tried = probe::try_out(self.daemon, &mut images, &self.holder);
        Probe::of(tried, || self.daemon.hint())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                command: false,
                restarts: true,
                // Podman leaves its checks to timers of systemd.
                health: (self.daemon == Daemon::Docker).then_some(HealthSupport::Tells),
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
        self.capabilities().require(self.daemon.name(), plan)?;
        let client = Client::connect(self.daemon)?;
        let mut images = self.images.borrow_mut();
        backend::prepare(client, &mut images, &self.holder, plan, host)
    }
}
