//! What Docker and Podman are asked for a deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::StartContainerOptions;
use stowplan_engine::{Deployment, EngineError};
use stowplan_engine_daemon::{
    Backend, ContainerDeployment, Happened, Images, Place, Prepared, RunGroup, Serving,
    container_entry, of_ground,
};
use stowplan_host::Host;
use stowplan_wire::deployment::{DeploymentPlan, StopMode};

use crate::client::Client;
use crate::events::Feed;
use crate::ground::{self, Ground, Holder};
use crate::images::{self, Store};
use crate::{config, container, fleet, group, label, logs, own};

/// Containers of one daemon.
struct DockerBackend {
    client: Client,
    feed: Feed,
    ground: Ground,
    run: String,
    /// That of all containers, where it is ours.
    group: Option<RunGroup>,
}

/// Loads images and lays the ground.
pub(crate) fn prepare(
    client: Client,
    images: &mut Images<Store>,
    holder: &Holder,
    plan: &DeploymentPlan,
    host: Rc<dyn Host>,
) -> Result<Box<dyn Deployment>, EngineError> {
    let tags = images.load_all(&client, plan)?;
    let distinct: BTreeSet<&String> = tags.iter().collect();
    let image_files = images::files(&client, &distinct);
    let mut group = group::of_run(&client, plan, host.as_ref())?;
    let laid = ground::lay(&client, images, holder, &plan.run, host.as_ref());
    let mut ground = laid.inspect_err(|_| {
        // Its own error is the lesser one, and the ledger has what stays.
        let _ = group.as_mut().map(|group| group.clear(host.as_ref()));
    })?;
    if let Some(group) = &group {
        ground.cgroup_parent = Some(group.parent().to_owned());
        ground.deviations.push(group::NOTE.to_owned());
    }
    let requests = plan
        .services
        .iter()
        .zip(&tags)
        .map(|(service, tag)| config::container(plan, service, &ground, tag));
    let prepared = Prepared {
        requests: requests.collect(),
        image_files,
        deviations: ground.deviations(plan.isolation.net),
        network_of: holder.of_process,
        network: config::network_mode(plan, &ground).to_owned(),
        waits_for_class: true,
    };
    let backend = DockerBackend {
        feed: Feed::open(&client, &plan.run),
        client,
        ground,
        run: plan.run.clone(),
        group,
    };
    Ok(Box::new(ContainerDeployment::new(
        backend, prepared, plan, host,
    )))
}

impl Backend for DockerBackend {
    type Request = ContainerCreateBody;

    fn engine(&self) -> &'static str {
        self.client.daemon().name()
    }

    fn serving(&self) -> &Serving {
        self.client.serving()
    }

    async fn make(&self, name: &str, request: &ContainerCreateBody) -> Result<String, EngineError> {
        fleet::make_one(&self.client, name, request.clone()).await
    }

    async fn begin(&self, id: &str) -> Result<(), EngineError> {
        let api = self.client.api();
        let started = api.start_container(id, None::<StartContainerOptions>).await;
        started.map_err(|error| self.client.error("start a container", error))
    }

    async fn end(&self, container: &str, how: StopMode) -> Result<(), EngineError> {
        container::end(&self.client, container, how).await
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        fleet::remove_one(&self.client, name).await
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
        label::read(&self.client, self.engine(), containers)
    }

    fn processes(&self, first: &[u32]) -> Vec<u32> {
        own::processes(&self.client, first, self.ground.holder_pid)
    }

    fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError> {
        if self.ground.network_mode != ground::HOST {
            let name = of_ground(&self.run);
            fleet::remove(&self.client, &name)?;
            host.gone(&container_entry(self.engine(), &name));
        }
        self.group
            .as_mut()
            .map_or(Ok(()), |group| group.clear(host))
    }
}
