//! What a swarm is asked for a deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bollard::models::ServiceSpec;
use stowplan_engine::{Deployment, EngineError, WITH_HOST_NETWORK};
use stowplan_engine_daemon::{
    Backend, ContainerDeployment, Happened, Images, KnownBy, Part, Place, Prepared, Serving,
    parts_of,
};
use stowplan_host::Host;
use stowplan_wire::deployment::{DeploymentPlan, StopMode};

use super::member::manager;
use super::{ENGINE, service, spec};
use crate::client::Client;
use crate::events::Feed;
use crate::ground::{self, HOST, Holder};
use crate::images::{self, Store};
use crate::{container, label, logs, own};

/// Manager, scheduler, store and agent of a swarm are in its daemon.
const PARTS: [Part; 3] = [
    Part {
        name: "dockerd (manager, agent)",
        known_by: KnownBy::Program("dockerd"),
    },
    Part {
        name: "containerd",
        known_by: KnownBy::Program("containerd"),
    },
    Part {
        name: "containerd-shim",
        known_by: KnownBy::Program("containerd-shim"),
    },
];

/// Services of one swarm.
struct SwarmBackend {
    client: Client,
    feed: Feed,
    /// Whether any of them starts again when its task has ended.
    restarts: bool,
}

/// Loads images and lays the ground.
pub(super) fn prepare(
    client: Client,
    images: &mut Images<Store>,
    holder: &Holder,
    plan: &DeploymentPlan,
    host: Rc<dyn Host>,
) -> Result<Box<dyn Deployment>, EngineError> {
    let node = manager(&client)?.node;
    in_daemons_network(&client, holder)?;
    let tags = images.load_all(&client, plan)?;
    let distinct: BTreeSet<&String> = tags.iter().collect();
    let ground = ground::lay(&client, images, holder, &plan.run, host.as_ref())?;
    let mut ids: BTreeMap<&String, String> = BTreeMap::new();
    for tag in &distinct {
        ids.insert(tag, images::id(&client, tag)?);
    }
    let requests = plan.services.iter().zip(&tags);
    let requests =
        requests.map(|(start, tag)| spec::service(plan, start, &ground, &ids[tag], &node));
    let prepared = Prepared {
        requests: requests.collect(),
        image_files: images::files(&client, &distinct),
        deviations: ground.deviations(false),
        network_of: holder.of_process,
        network: HOST.to_owned(),
        waits_for_class: false,
    };
    let backend = SwarmBackend {
        feed: Feed::open(&client, &plan.run),
        client,
        restarts: plan
            .services
            .iter()
            .any(|service| service.restarts.is_asked()),
    };
    Ok(Box::new(ContainerDeployment::new(
        backend, prepared, plan, host,
    )))
}

/// A task can be in the daemon's network, or in one that the swarm makes; not in that of a container.
pub(super) fn in_daemons_network(client: &Client, holder: &Holder) -> Result<(), EngineError> {
    if holder.is_apart(client) {
        let message = "services of a swarm cannot be in a network that is not the daemon's";
        return Err(EngineError::new(message).hint(WITH_HOST_NETWORK));
    }
    Ok(())
}

impl Backend for SwarmBackend {
    type Request = ServiceSpec;

    const CREATES_APART: bool = false;

    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn serving(&self) -> &Serving {
        self.client.serving()
    }

    async fn make(&self, name: &str, request: &ServiceSpec) -> Result<String, EngineError> {
        service::make(&self.client, name, request.clone()).await
    }

    /// It has begun.
    async fn begin(&self, _id: &str) -> Result<(), EngineError> {
        Ok(())
    }

    /// As a container of the daemon: removing the service would remove its log.
    async fn end(&self, id: &str, how: StopMode) -> Result<(), EngineError> {
        if self.restarts {
            service::stays_ended(&self.client, id).await?;
        }
        container::end(&self.client, id, how).await
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        service::remove(&self.client, name).await
    }

    fn locate(&self, id: &str) -> Result<Place, EngineError> {
        container::locate(&self.client, id)
    }

    fn freeze(&self, id: &str, frozen: bool) -> Result<(), EngineError> {
        container::freeze(&self.client, id, frozen)
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        self.feed.next(&self.client, wait)
    }

    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError> {
        logs::tail(&self.client, id, bytes)
    }

    fn label(&self, containers: &[(String, u32)]) -> Result<BTreeMap<String, String>, EngineError> {
        label::read(&self.client, ENGINE, containers)
    }

    fn processes(&self, first: &[u32]) -> Vec<u32> {
        own::processes(&self.client, first, None)
    }

    fn orchestrator(&self, processes: &[u32]) -> BTreeMap<u32, String> {
        parts_of(&PARTS, processes.iter().copied())
    }

    /// Nothing stays but services.
    fn clear(&mut self, _host: &dyn Host) -> Result<(), EngineError> {
        Ok(())
    }
}
