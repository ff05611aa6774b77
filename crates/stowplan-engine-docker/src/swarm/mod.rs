//! Services of a swarm of one node, Docker's own orchestrator: its manager, scheduler and agent are in the daemon.
//!
//! Every service of a run is a service of the swarm with one task, which stays where it is when it has ended, unless it is to
//! restart. Its container is the daemon's, and looked at, stopped and logged as every other of it.

mod backend;
mod member;
mod probe;
mod remove;
mod service;
mod spec;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, Deployment, Engine, EngineError, HealthSupport, LimitSupport, Probe,
    SharedNetwork, Variant,
};
use stowplan_engine_daemon::Images;
use stowplan_host::Host;
use stowplan_wire::deployment::DeploymentPlan;

use crate::Daemon;
use crate::client::Client;
use crate::ground::Holder;
use crate::images::Store;

pub use remove::remove;

/// Name of the engine, as in a place.
pub const ENGINE: &str = "swarm";

/// The swarm that the Docker daemon of this machine manages. Dropping it removes the images that it has loaded.
pub struct SwarmEngine {
    holder: Holder,
    images: RefCell<Images<Store>>,
}

impl SwarmEngine {
    /// The engine, whose services are in `network`, which has to be that of the daemon; `agent` is the static agent program, of
    /// which a container is tried out.
    #[must_use]
    pub fn new(agent: &Path, network: SharedNetwork) -> Self {
        Self {
            holder: Holder {
                program: agent.to_owned(),
                of_process: network.of_process,
            },
            images: RefCell::new(Images::new(Store(Daemon::Docker))),
        }
    }
}

impl Engine for SwarmEngine {
    fn name(&self) -> String {
        ENGINE.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let mut images = self.images.borrow_mut();
        let tried = probe::try_out(&mut images, &self.holder);
        Probe::of(tried, || Daemon::Docker.hint())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                separate_create: false,
                restarts: true,
                // docker-service-create(1), `--restart-delay`.
                restarts_by_default_ms: Some(5_000),
                health: Some(HealthSupport::Ends),
                joins_network: false,
                command: false,
                devices: false,
                limits: LimitSupport {
                    cpu_quota: true,
                    memory: true,
                    ..LimitSupport::default()
                },
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
        self.capabilities().require(ENGINE, plan)?;
        let client = Client::connect(Daemon::Docker)?;
        let mut images = self.images.borrow_mut();
        backend::prepare(client, &mut images, &self.holder, plan, host)
    }
}
