//! The engine: what it can do, and preparing a deployment.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, Deployment, Engine, EngineError, IsolationFeature, Probe, SharedNetwork, Variant,
};
use stowplan_engine_daemon::{Daemon, Images};
use stowplan_host::Host;
use stowplan_wire::deployment::DeploymentPlan;

use crate::ground::Holder;
use crate::{ENGINE, Endpoint, HANDLERS, backend, probe, store};
use stowplan_engine_daemon::cri::Store;

/// The runtime of this machine that speaks the Kubernetes CRI. Dropping it removes the images that it has loaded.
pub struct CriEngine {
    endpoint: Option<Endpoint>,
    holder: Holder,
    images: RefCell<Images<Store>>,
}

impl CriEngine {
    /// The engine of the runtime on `endpoint`, or where `crictl` would look for one. Its services are in
    /// `network`; `agent` is the static agent program, which is the pause process where there is no other.
    #[must_use]
    pub fn new(endpoint: Option<Endpoint>, agent: &Path, network: SharedNetwork) -> Self {
        Self {
            images: RefCell::new(Images::new(store(endpoint.clone()))),
            endpoint,
            holder: Holder {
                program: agent.to_owned(),
                of_process: network.of_process,
            },
        }
    }

    /// Removes the images that it has loaded and not removed, if there are any.
    ///
    /// # Errors
    /// When the runtime cannot remove one.
    pub fn remove_images(&self) -> Result<(), EngineError> {
        self.images.borrow_mut().remove_all()
    }
}

impl Engine for CriEngine {
    fn name(&self) -> String {
        ENGINE.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let mut images = self.images.borrow_mut();
        let store = store(self.endpoint.clone());
        let tried = store
            .connect()
            .and_then(|client| probe::try_out(&client, &mut images, &self.holder));
        Probe::of(tried, || store.hint())
    }

    fn capabilities(&self) -> Capabilities {
        let variant = |name: &str| Variant {
            pause: false,
            command: false,
            isolation: vec![IsolationFeature::Ipc, IsolationFeature::Net],
            ..Variant::container(name)
        };
        Capabilities {
            // The first is the runtime's default handler.
            variants: std::iter::once("").chain(HANDLERS).map(variant).collect(),
            max_services: None,
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require(ENGINE, plan)?;
        let client = store(self.endpoint.clone()).connect()?;
        let mut images = self.images.borrow_mut();
        backend::prepare(client, &mut images, &self.holder, plan, host)
    }
}
