//! The engine: what it can do, and preparing a deployment.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, CpuGroups, Deployment, Engine, EngineError, HealthSupport, IsolationFeature,
    LimitSupport, Probe, SharedNetwork, Variant, WITH_HOST_NETWORK,
};
use stowplan_engine_daemon::cri::{self, image_digests};
use stowplan_engine_daemon::{ContainerDeployment, Images, Prepared, of_service};
use stowplan_host::{Host, network};
use stowplan_image::Contents;
use stowplan_wire::deployment::DeploymentPlan;

use crate::backend::{KubeBackend, Wanted};
use crate::cluster::Cluster;
use crate::ground::{self, Ground, Unpacked};
use crate::kubeconfig::{HINT, Source};
use crate::node::GPU;
use crate::pods::PodName;
use crate::registry::Registry;
use crate::store::NodeStore;
use crate::{ENGINE, admission, config, gpus, names, pods, probe, resources};

/// Most services of a deployment: a kubelet takes 110 pods unless it is told otherwise, and has some of its own.
const MOST_SERVICES: u32 = 100;

/// The Kubernetes that has this machine as a node. Dropping it removes the images that it has loaded, and waits until the
/// cluster has removed its namespaces.
pub struct KubeEngine {
    agent: PathBuf,
    network_of: u32,
    images: RefCell<Images<NodeStore>>,
    unpacked: RefCell<Unpacked>,
    going: Rc<RefCell<Vec<String>>>,
    /// Whether the node gave whole CPUs to pods when it was asked last.
    gives_cpus: Cell<bool>,
}

impl KubeEngine {
    /// The engine of the cluster that kubectl would use, whose services are in `network`; `agent` is the static agent program,
    /// which a probe starts.
    #[must_use]
    pub fn new(agent: &Path, network: SharedNetwork) -> Self {
        Self {
            agent: agent.to_owned(),
            network_of: network.of_process,
            images: RefCell::new(Images::new(NodeStore::default())),
            unpacked: RefCell::default(),
            going: Rc::default(),
            gives_cpus: Cell::new(false),
        }
    }

    /// The cluster, and the runtime of its node.
    fn connect(&self) -> Result<(Cluster, cri::Client), EngineError> {
        Registry::of_this_process()?;
        let cluster = Cluster::connect(&Source::of_this_process()?)?;
        self.gives_cpus.set(cluster.node.gives_cpus());
        let runtime = cri::Client::connect(&cluster.node.endpoint()).map_err(|error| {
            EngineError::new(format!(
                "the runtime of node {} cannot be given images",
                cluster.node.name
            ))
            .because(error)
            .hint("images are loaded by root on the node itself: run Stowplan as root there")
        })?;
        let own = runtime.daemon_pid().and_then(network::of_process);
        if own.is_some() && own != network::of_process(self.network_of) {
            return Err(EngineError::new(
                "Kubernetes has no way to give a pod the network of the run: it knows that of the node and those of plugins",
            )
            .hint(WITH_HOST_NETWORK));
        }
        Ok((cluster, runtime))
    }

    /// Starts a pod that does nothing; gives what the cluster is.
    fn try_out(&self) -> Result<String, EngineError> {
        let (cluster, runtime) = self.connect()?;
        let mut images = self.images.borrow_mut();
        let agent = Contents::Program {
            from: self.agent.clone(),
            name: "stowplan-agent".to_owned(),
        };
        let tag = images.load(&runtime, &agent)?;
        let image = images.daemon().name(&tag);
        probe::try_out(&cluster, &runtime, &image, &self.going)?;
        probe::version(&cluster, &runtime)
    }

    fn deploy(
        &self,
        plan: &DeploymentPlan,
        host: &Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        let (cluster, runtime) = self.connect()?;
        resources::require_cpus(plan, &cluster.node)?;
        gpus::require(plan, &cluster.node)?;
        self.capabilities().require(ENGINE, plan)?;
        let mut images = self.images.borrow_mut();
        let tags = images.load_all(&runtime, plan)?;
        let store = images.daemon();
        let names: Vec<String> = tags.iter().map(|tag| store.name(tag)).collect();
        let distinct: BTreeSet<String> = names.iter().cloned().collect();
        let ground = Ground::lay(&cluster, &plan.run, host.as_ref())?;
        let prepared = ground
            .unpack(
                &cluster,
                &runtime,
                &distinct,
                &mut self.unpacked.borrow_mut(),
            )
            .and_then(|image_files| {
                let requests = wanted(&cluster, &runtime, &ground, plan, &names)?;
                let mut deviations = deviations(&requests);
                deviations.extend(store.stays(&tags));
                deviations.extend(gpus::notes(plan, &cluster.node));
                Ok(Prepared {
                    requests,
                    image_files,
                    deviations,
                    network_of: self.network_of,
                    network: format!("hostNetwork: {}", !plan.isolation.net),
                    waits_for_class: false,
                })
            });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                // Its own error is the lesser one, and the ledger has what stays.
                let _ = ground.clear(&cluster, host.as_ref());
                self.going.borrow_mut().push(ground.namespace);
                return Err(error);
            }
        };
        let arrived = store.told(&tags);
        let backend = KubeBackend::new(cluster, runtime, ground, arrived, Rc::clone(&self.going));
        let host = Rc::clone(host);
        Ok(Box::new(ContainerDeployment::new(
            backend, prepared, plan, host,
        )))
    }
}

/// What is asked for each service, which the API server has said that it would take.
fn wanted(
    cluster: &Cluster,
    runtime: &cri::Client,
    ground: &Ground,
    plan: &DeploymentPlan,
    images: &[String],
) -> Result<Vec<Wanted>, EngineError> {
    let mut all = Vec::new();
    for (service, image) in plan.services.iter().zip(images) {
        let about = |error: EngineError| error.of_service(&service.name, Some(service.log.clone()));
        let namespace = &ground.namespace;
        let made = config::of(plan, service, image, namespace, &cluster.node);
        let (mut pod, parameters) = made.map_err(about)?;
        ground.let_pull(&mut pod);
        let labels = names::labels(&plan.run, Some(&service.name));
        let made = parameters.make(cluster, namespace, &labels);
        made.map_err(about)?;
        all.push(Wanted {
            service: service.name.clone(),
            pod: names::plain(&of_service(&plan.run, &service.name)),
            object: config::json(&pod)?,
            changes: Vec::new(),
            image: image_digests(runtime, image)?.join(" "),
            restarts: service.restarts.is_asked(),
            is_checked: service.health.is_some(),
        });
    }
    let dry = cluster
        .serving()
        .each(all.iter().collect(), 0, |wanted: &Wanted| async move {
            let at = PodName {
                namespace: &ground.namespace,
                name: &wanted.pod,
            };
            pods::create(cluster, at, &wanted.object, true).await
        });
    for ((wanted, made), service) in all.iter_mut().zip(dry).zip(&plan.services) {
        let made =
            made.map_err(|error| error.of_service(&service.name, Some(service.log.clone())))?;
        wanted.changes = admission::changes(&wanted.object, &made);
    }
    Ok(all)
}

/// What admission changes, and for whom.
fn deviations(requests: &[Wanted]) -> BTreeSet<String> {
    let told = requests.iter().flat_map(|wanted| {
        let service = &wanted.service;
        let changes = wanted.changes.iter();
        changes.map(move |change| format!("service '{service}': the cluster's admission: {change}"))
    });
    told.collect()
}

impl Drop for KubeEngine {
    fn drop(&mut self) {
        let going = self.going.take();
        if !going.is_empty() {
            // They go by themselves. Nobody is left to tell that they do not.
            let _ = Source::of_this_process()
                .and_then(|source| Cluster::connect(&source))
                .and_then(|cluster| ground::are_gone(&cluster, &going));
        }
    }
}

impl Engine for KubeEngine {
    fn name(&self) -> String {
        ENGINE.to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        Probe::of(self.try_out(), || HINT.to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        let limits = LimitSupport {
            // The kubelet chooses which ones; a result tells them.
            cpuset: self.gives_cpus.get(),
            // A budget of the kernel would have to be given to groups that are the kubelet's.
            scheduling: false,
            ..LimitSupport::all()
        };
        let variant = Variant {
            cpu_groups: CpuGroups::InCluster,
            separate_create: false,
            joins_network: false,
            pause: false,
            command: false,
            devices: false,
            device_kinds: vec![GPU.to_owned()],
            default_weight: false,
            restarts: true,
            health: Some(HealthSupport::Ends),
            limits,
            isolation: vec![IsolationFeature::Ipc, IsolationFeature::Net],
            ..Variant::container("")
        };
        Capabilities {
            variants: vec![variant],
            max_services: Some(MOST_SERVICES),
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.deploy(plan, &host)
    }
}
