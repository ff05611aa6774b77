//! What the runtime is asked for a deployment: a pod with one container for each service, as Kubernetes does it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Deployment, EngineError};
use stowplan_engine_daemon::{
    Backend, ContainerDeployment, Happened, Images, Place, Prepared, Serving, watchers,
};
use stowplan_host::Host;
use stowplan_host::cgroup::Tree;
use stowplan_wire::deployment::{DeploymentPlan, EngineEventKind, StopMode};

use crate::config::Pod;
use crate::ground::{self, Ground, Holder};
use crate::network::{Network, give};
use crate::watch::Watch;
use crate::{ENGINE, config, label, pods};
use stowplan_engine_daemon::cri::api::runtime::v1::StopContainerRequest;
use stowplan_engine_daemon::cri::{
    Client, Runtime, Store, insist, is_absent, last_of_log, patient,
};

/// The word of both runtimes for an end by the kernel's OOM killer.
const OUT_OF_MEMORY: &str = "OOMKilled";

/// A pod that has been made.
#[derive(Debug, Clone)]
struct CreatedPod {
    service: String,
    sandbox: String,
    id: String,
    log: PathBuf,
}

/// Pods of one runtime.
struct CriBackend {
    client: Client,
    watch: Watch,
    ground: Ground,
    /// Of every container, where it is not that of the node.
    network: Option<Network>,
    run: String,
    /// By name.
    made: RefCell<BTreeMap<String, CreatedPod>>,
}

/// Loads images and lays the ground.
pub(crate) fn prepare(
    client: Client,
    images: &mut Images<Store>,
    holder: &Holder,
    plan: &DeploymentPlan,
    host: Rc<dyn Host>,
) -> Result<Box<dyn Deployment>, EngineError> {
    if plan.isolation.net && client.runtime == Runtime::CriO {
        let why = "CRI-O has no way to give a pod a network of its own: it knows that of the node and those of plugins";
        return Err(EngineError::new(why).hint("leave isolation.net out, or use containerd"));
    }
    let layout = Tree::detect()?.layout;
    let tags = images.load_all(&client, plan)?;
    let distinct: BTreeSet<String> = tags.iter().cloned().collect();
    let (run, variant) = (&plan.run, plan.variant.as_deref());
    let mut ground = ground::lay(
        &client,
        images,
        holder,
        variant,
        run,
        host.as_ref(),
        &distinct,
    )?;
    let pods = plan.services.iter().zip(&tags).map(|(service, tag)| {
        let (parent, agent) = (&ground.cgroup_parent, &holder.program);
        config::pod(plan, service, tag, parent, agent, layout)
            .map_err(|e| e.of_service(&service.name, Some(service.log.clone())))
    });
    let requests = match pods.collect::<Result<Vec<Pod>, _>>() {
        Ok(requests) => requests,
        Err(error) => {
            ground.clear(host.as_ref())?;
            return Err(error);
        }
    };
    let network = ground.network(plan.isolation.net);
    let told = network.map(|network| {
        let is = match network {
            Network::Of(_) => "that of the run",
            Network::Own => "a new one, with nothing but a loopback",
        };
        format!("network: the network namespace in the specification of each container is {is}, in place of its pod's")
    });
    let prepared = Prepared {
        requests,
        image_files: ground.image_files.clone(),
        deviations: ground.deviations.iter().cloned().chain(told).collect(),
        network_of: holder.of_process,
        network: match network {
            Some(Network::Own) => "a new network namespace in its specification",
            _ => "the network namespace of the run in its specification",
        }
        .to_owned(),
        waits_for_class: true,
    };
    let backend = CriBackend {
        watch: Watch::new(&client),
        client,
        ground,
        network,
        run: run.clone(),
        made: RefCell::default(),
    };
    Ok(Box::new(ContainerDeployment::new(
        backend, prepared, plan, host,
    )))
}

impl CriBackend {
    fn made(&self, id: &str) -> Option<CreatedPod> {
        let made = self.made.borrow();
        made.values().find(|made| made.id == id).cloned()
    }

    /// Pids of the pause processes.
    fn pauses(&self) -> Vec<u32> {
        let made = self.made.borrow();
        let sandboxes: Vec<&str> = made.values().map(|made| made.sandbox.as_str()).collect();
        let found = self.client.serving().each(sandboxes, 0, |id| async move {
            let inside = self.client.sandbox(id).await.ok()?;
            u32::try_from(inside["pid"].as_u64()?).ok()
        });
        found.into_iter().flatten().filter(|pid| *pid > 0).collect()
    }
}

impl Backend for CriBackend {
    type Request = Pod;

    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn serving(&self) -> &Serving {
        self.client.serving()
    }

    async fn make(&self, name: &str, pod: &Pod) -> Result<String, EngineError> {
        let client = &self.client;
        let sandbox = pods::run(client, &pod.sandbox, &self.ground.asked_handler).await?;
        let id = ground::create(client, &sandbox, &pod.container, &pod.sandbox).await?;
        if let Some(network) = self.network {
            give(client, &id, network).await?;
        }
        let log = Path::new(&pod.sandbox.log_directory).join(&pod.container.log_path);
        let made = CreatedPod {
            service: pod.service.clone(),
            sandbox,
            id: id.clone(),
            log,
        };
        self.made.borrow_mut().insert(name.to_owned(), made);
        self.watch.done(&pod.service, &id, EngineEventKind::Created);
        Ok(id)
    }

    async fn begin(&self, id: &str) -> Result<(), EngineError> {
        ground::start(&self.client, id).await?;
        if let Some(made) = self.made(id) {
            self.watch.started(&made.service, id);
        }
        Ok(())
    }

    async fn end(&self, id: &str, how: StopMode) -> Result<(), EngineError> {
        let grace_s = match how {
            // The API has whole seconds, and kills at once for none.
            StopMode::Terminate { grace_ms } => grace_ms.div_ceil(1000),
            StopMode::Kill => 0,
        };
        let stop = StopContainerRequest {
            container_id: id.to_owned(),
            timeout: i64::try_from(grace_s).unwrap_or(i64::MAX),
        };
        let stopped = insist(|| async {
            let asked = patient(stop.clone(), Duration::from_secs(grace_s));
            self.client.runtime().stop_container(asked).await
        });
        match stopped.await {
            Ok(_) => Ok(()),
            Err(status) if is_absent(&status) => Ok(()),
            Err(status) => Err(self.client.error("stop a container", status)),
        }
    }

    async fn remove(&self, name: &str) -> Result<bool, EngineError> {
        let removed = pods::remove(&self.client, name).await?;
        let made = self.made.borrow_mut().remove(name);
        if let Some(made) = made.filter(|_| removed) {
            self.watch
                .done(&made.service, &made.id, EngineEventKind::Destroyed);
        }
        Ok(removed)
    }

    fn locate(&self, id: &str) -> Result<Place, EngineError> {
        let (status, info) = self
            .client
            .wait(self.client.container(id))
            .map_err(|status| self.client.error("tell of a container", status))?;
        let pid = info["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        Ok(Place {
            out_of_memory: status.reason == OUT_OF_MEMORY,
            ..Place::find(pid.unwrap_or_default(), id)?
        })
    }

    fn freeze(&self, _id: &str, _frozen: bool) -> Result<(), EngineError> {
        Err(EngineError::new("the CRI has no way to freeze a container"))
    }

    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError> {
        self.watch.next(&self.client, wait)
    }

    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError> {
        self.made(id)
            .map_or_else(|| Ok(String::new()), |made| last_of_log(&made.log, bytes))
    }

    fn label(&self, containers: &[(String, u32)]) -> Result<BTreeMap<String, String>, EngineError> {
        label::read(&self.client, &self.ground.handler, &self.run, containers)
    }

    fn processes(&self, first: &[u32]) -> Vec<u32> {
        let daemon = self.client.daemon_pid();
        let shims = watchers(first);
        daemon
            .into_iter()
            .chain(shims)
            .chain(self.pauses())
            .collect()
    }

    fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError> {
        self.ground.clear(host)
    }
}
