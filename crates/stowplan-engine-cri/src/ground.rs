//! What the pods of a run stand on: a handler that works here, a pause process, a cgroup, images that are unpacked and the
//! network, all found out with a pod that does nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use stowplan_engine::{EngineError, ImageFiles, WITH_HOST_NETWORK};
use stowplan_engine_daemon::{Images, RunGroup, container_entry, of_ground};
use stowplan_host::{Host, network};
use stowplan_image::Contents;

use crate::ENGINE;
use crate::network::{Network, apart, give};
use crate::{config, pods};
use stowplan_engine_daemon::cri::api::runtime::v1::{
    ContainerConfig, CreateContainerRequest, PodSandboxConfig, StartContainerRequest,
};
use stowplan_engine_daemon::cri::{
    Client, Handler, Runtime, Store, image_folders, provide_pause, request,
};

/// Slice for containers whose cgroups systemd makes, as Docker has it.
const SLICE: &str = "system.slice";
/// Told where the files of an image are no folders of an overlay.
const UNKNOWN_FILES: &str =
    "where a store that makes no overlay keeps the files of images is not known";

/// Who has the network of the run.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// The static program that does nothing when it is told to hold.
    pub(crate) program: PathBuf,
    /// The process in whose network the services are to be.
    pub(crate) of_process: u32,
}

/// What the pods of a run get.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) handler: Handler,
    /// Name of the handler to ask for; empty is the default.
    pub(crate) asked_handler: String,
    pub(crate) cgroup_parent: String,
    /// The process whose network they join, where that of the node is another one.
    pub(crate) network: Option<u32>,
    /// Where the files of the images are.
    pub(crate) image_files: ImageFiles,
    /// Settings that are another way than the runtime's defaults.
    pub(crate) deviations: BTreeSet<String>,
    /// The cgroup of all pods, where it is ours.
    group: Option<RunGroup>,
}

impl Ground {
    /// The network of every container of a plan, where it is not that of the node: of its own, if it is asked to have one.
    pub(crate) fn network(&self, own: bool) -> Option<Network> {
        if own {
            Some(Network::Own)
        } else {
            self.network.map(Network::Of)
        }
    }

    /// Removes the cgroup of all pods, and what is left in it.
    pub(crate) fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError> {
        self.group
            .as_mut()
            .map_or(Ok(()), |group| group.clear(host))
    }
}

/// Finds out how pods can be had here, and has the images of `tags` unpacked.
pub(crate) fn lay(
    client: &Client,
    images: &mut Images<Store>,
    holder: &Holder,
    variant: Option<&str>,
    run: &str,
    host: &dyn Host,
    tags: &BTreeSet<String>,
) -> Result<Ground, EngineError> {
    let handler = client.settings.handler(variant)?;
    let pause = provide_pause(client, images, holder.program.clone())?;
    let own = images.load(
        client,
        &Contents::Program {
            from: holder.program.clone(),
            name: "stowplan-agent".to_owned(),
        },
    )?;
    let network = apart(client, holder.of_process);
    if network.is_some() && client.runtime == Runtime::CriO {
        // It makes the process of a container at once, where containerd only writes down what it is to be.
        return Err(EngineError::new(
            "CRI-O has no way to give a pod the network of the run: it knows that of the node and those of plugins",
        )
        .hint(WITH_HOST_NETWORK));
    }
    let mut ground = Ground {
        asked_handler: variant.unwrap_or_default().to_owned(),
        cgroup_parent: SLICE.to_owned(),
        network,
        image_files: ImageFiles::default(),
        deviations: pause.into_iter().collect(),
        group: None,
        handler,
    };
    if !ground.handler.systemd_cgroup {
        let group = RunGroup::enter(host, run)?;
        group.parent().clone_into(&mut ground.cgroup_parent);
        ground.group = Some(group);
    }
    let tried = try_out(client, &mut ground, holder, run, host, &own, tags);
    if tried.is_err() {
        // Its own error is the lesser one, and the ledger has what stays.
        let _ = ground.clear(host);
    }
    tried.map(|()| ground)
}

/// Makes a pod, where containerd unpacks images for containers a container of each, starts one, and removes all.
fn try_out(
    client: &Client,
    ground: &mut Ground,
    holder: &Holder,
    run: &str,
    host: &dyn Host,
    own: &str,
    tags: &BTreeSet<String>,
) -> Result<(), EngineError> {
    let name = of_ground(run);
    host.enter(&container_entry(ENGINE, &name))?;
    let sandbox = config::sandbox(&name, run, None, &ground.cgroup_parent);
    let tried = client.wait(async {
        let pod = pods::run(client, &sandbox, &ground.asked_handler).await?;
        let mut found = BTreeSet::new();
        for (number, tag) in tags.iter().enumerate() {
            let folders = match &client.settings.storage {
                // There it is unpacked since it was loaded.
                Some(storage) => storage.folders(tag)?,
                None => {
                    let name = format!("image-{number}");
                    let container = config::plain(&name, tag, vec!["/".to_owned()]);
                    let id = create(client, &pod, &container, &sandbox).await?;
                    image_folders(client, &id).await?
                }
            };
            if folders.is_empty() {
                ground.image_files.unshown = Some(UNKNOWN_FILES.to_owned());
            }
            found.extend(folders);
        }
        ground.image_files.paths = found.into_iter().collect();
        let container = config::plain("hold", own, Vec::new());
        let id = create(client, &pod, &container, &sandbox).await?;
        if let Some(network) = ground.network(false) {
            give(client, &id, network).await?;
        }
        start(client, &id).await?;
        is_in_network(client, &id, holder.of_process).await
    });
    client.wait(pods::remove(client, &name))?;
    host.gone(&container_entry(ENGINE, &name));
    tried
}

/// Makes a container; gives its id.
pub(crate) async fn create(
    client: &Client,
    pod: &str,
    container: &ContainerConfig,
    sandbox: &PodSandboxConfig,
) -> Result<String, EngineError> {
    let asked = request(CreateContainerRequest {
        pod_sandbox_id: pod.to_owned(),
        config: Some(container.clone()),
        sandbox_config: Some(sandbox.clone()),
    });
    let made = client.runtime().create_container(asked).await;
    made.map(|made| made.into_inner().container_id)
        .map_err(|status| client.error("create a container", status))
}

/// Lets the program of a container run.
pub(crate) async fn start(client: &Client, id: &str) -> Result<(), EngineError> {
    let asked = request(StartContainerRequest {
        container_id: id.to_owned(),
    });
    let started = client.runtime().start_container(asked).await;
    started
        .map(drop)
        .map_err(|status| client.error("start a container", status))
}

async fn is_in_network(client: &Client, id: &str, of_process: u32) -> Result<(), EngineError> {
    let (_, info) = client
        .container(id)
        .await
        .map_err(|status| client.error("tell of a container", status))?;
    let pid = info["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let has = pid.and_then(network::of_process);
    if has.is_some() && has == network::of_process(of_process) {
        return Ok(());
    }
    Err(
        EngineError::new("a container does not get into the network of the run")
            .hint(WITH_HOST_NETWORK),
    )
}
