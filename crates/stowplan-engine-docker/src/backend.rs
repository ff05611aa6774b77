//! What Docker and Podman are asked for a deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    StartContainerOptions, StopContainerOptionsBuilder, WaitContainerOptionsBuilder,
};
use futures_util::StreamExt;
use stowplan_engine::{Deployment, EngineError, ImageFiles};
use stowplan_engine_daemon::{
    Backend, ContainerDeployment, Happened, Images, Place, Prepared, RunGroup, Serving,
    container_entry, of_ground,
};
use stowplan_host::Host;
use stowplan_wire::deployment::{DeploymentPlan, StopMode};

use crate::client::{Client, PATIENCE_S, is_absent, status};
use crate::events::Feed;
use crate::ground::{self, Ground, Holder};
use crate::images::{self, Store};
use crate::{config, fleet, group, label, logs, own};

/// Told where a daemon's answer has no folders of an image, as with Docker's store of containerd, or the driver `vfs`.
const UNTOLD_FILES: &str = "the daemon does not tell where it keeps the files of images";

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
    let image_files = image_files(&client, &distinct);
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

/// Where the daemon keeps the files of these images.
fn image_files(client: &Client, tags: &BTreeSet<&String>) -> ImageFiles {
    let mut found = BTreeSet::new();
    let mut unshown = None;
    for tag in tags {
        let folders = images::folders(client, tag);
        if folders.is_empty() {
            unshown = Some(UNTOLD_FILES.to_owned());
        }
        found.extend(folders.iter().map(|folder| folder.display().to_string()));
    }
    ImageFiles {
        paths: found.into_iter().collect(),
        unshown,
    }
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
        let failed = |error| self.client.error("stop a container", error);
        let stopped = match how {
            StopMode::Terminate { grace_ms } => {
                // The API has whole seconds.
                let grace_s = grace_ms.div_ceil(1000);
                let options = StopContainerOptionsBuilder::default()
                    .t(i32::try_from(grace_s).unwrap_or(i32::MAX))
                    .build();
                let limit = Duration::from_secs(PATIENCE_S.saturating_add(grace_s));
                let api = self.client.patient(limit);
                api.stop_container(container, Some(options)).await
            }
            StopMode::Kill => fleet::kill(&self.client, container).await,
        };
        match stopped {
            Ok(()) => {}
            // It is gone, or it has ended already.
            Err(error) if is_absent(&error) || status(&error) == Some(409) => {}
            Err(error) => return Err(failed(error)),
        }
        let options = WaitContainerOptionsBuilder::default()
            .condition("not-running")
            .build();
        let mut ended = self.client.api().wait_container(container, Some(options));
        match ended.next().await {
            // The status of the program is told as an error.
            None | Some(Ok(_) | Err(bollard::errors::Error::DockerContainerWaitError { .. })) => {
                Ok(())
            }
            Some(Err(error)) if is_absent(&error) => Ok(()),
            Some(Err(error)) => Err(failed(error)),
        }
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        fleet::remove_one(&self.client, name).await
    }

    fn locate(&self, id: &str) -> Result<Place, EngineError> {
        let found = self
            .client
            .wait(self.client.inspect(id))
            .map_err(|error| self.client.error("tell of a container", error))?;
        let state = found.state.unwrap_or_default();
        let pid = u32::try_from(state.pid.unwrap_or_default()).unwrap_or_default();
        Ok(Place {
            out_of_memory: state.oom_killed.unwrap_or_default(),
            log: found.log_path.filter(|path| !path.is_empty()),
            ..Place::find(pid, id)?
        })
    }

    fn freeze(&self, id: &str, frozen: bool) -> Result<(), EngineError> {
        let api = self.client.api();
        if frozen {
            let paused = self.client.wait(api.pause_container(id));
            paused.map_err(|e| self.client.error("pause a container", e))
        } else {
            let resumed = self.client.wait(api.unpause_container(id));
            resumed.map_err(|e| self.client.error("resume a container", e))
        }
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        self.feed.next(&self.client, wait)
    }

    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError> {
        logs::tail(&self.client, id, bytes)
    }

    fn label(&self, containers: &[(String, u32)]) -> Result<BTreeMap<String, String>, EngineError> {
        label::read(&self.client, containers)
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
