//! The engine: what it can do, and preparing a deployment.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stowplan_engine::{
    Capabilities, CpuGroups, Deployment, Engine, EngineError, IsolationFeature, Probe,
    SharedNetwork, Variant,
};
use stowplan_engine_daemon::{ContainerDeployment, Images, Prepared, contents};
use stowplan_engine_tool::lxc;
use stowplan_host::cgroup::Tree;
use stowplan_host::{Host, scheduling};
use stowplan_wire::deployment::{DeploymentPlan, ServiceStart};

use crate::backend::LxdBackend;
use crate::client::Client;
use crate::config::{self, Ground};
use crate::pool::{self, Pool};
use crate::{Server, images, probe};

/// LXD or Incus on this machine. Dropping it removes the images that it has imported, and then the storage pool that it
/// has made.
pub struct LxdEngine {
    server: Server,
    agent: PathBuf,
    network_of: u32,
    images: RefCell<Images<Server>>,
    pool: RefCell<Pool>,
}

impl LxdEngine {
    /// The engine of `server`. Its services are in `network`; `agent` is the static agent
    /// program, which becomes programs whose arguments have blanks.
    #[must_use]
    pub fn new(server: Server, agent: &Path, network: SharedNetwork) -> Self {
        Self {
            server,
            agent: agent.to_owned(),
            network_of: network.of_process,
            images: RefCell::new(Images::new(server)),
            pool: RefCell::new(Pool::new(server)),
        }
    }

    /// Removes the images that it has imported and the pool that it has made, if there are any.
    ///
    /// # Errors
    /// When the server cannot remove one.
    pub fn remove_store(&self) -> Result<(), EngineError> {
        let images = self.images.borrow_mut().remove_all();
        images.and(self.pool.borrow_mut().remove_own())
    }
}

impl Engine for LxdEngine {
    fn name(&self) -> String {
        self.server.name().to_owned()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        let (mut images, mut pool) = (self.images.borrow_mut(), self.pool.borrow_mut());
        let tried = probe::try_out(
            self.server,
            &mut images,
            &mut pool,
            &self.agent,
            self.network_of,
        );
        Probe::of(tried, || self.server.hint())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                cpu_groups: CpuGroups::OnTop,
                command: false,
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
        self.capabilities().require(self.server.name(), plan)?;
        let client = Client::connect(self.server)?;
        let mut pool = self.pool.borrow_mut();
        let found = pool.choose(&client)?;
        let budget_us = scheduling::budget_at_top(plan)?;
        let ground = Ground {
            agent: &self.agent,
            network_of: (!plan.isolation.net).then_some(self.network_of),
            budget_us: budget_us.map(|budget| scheduling::share(budget, plan)),
            swap_accounting: Tree::detect()?.accounts_for_swap(),
            pool: &found.name,
        };
        let mut requests = Vec::new();
        let mut of_run = BTreeSet::new();
        for service in &plan.services {
            let of_service =
                |e: EngineError| e.of_service(&service.name, Some(service.log.clone()));
            let image = self.import(&client, plan, service).map_err(of_service)?;
            let request = config::service(&ground, plan, service, &image);
            requests.push(request.map_err(of_service)?);
            of_run.insert(image);
        }
        pool::unpack(&client, &ground, &found, &of_run, &plan.run, host.as_ref())?;
        let deviations =
            deviations(&found.driver, pool.is_ours(), ground.network_of.is_none()).into_iter();
        let prepared = Prepared {
            requests,
            image_files: images::files(&client, &found, &of_run),
            deviations: deviations
                .chain(lxc::class_note(plan))
                .chain(budget_us.map(scheduling::budget_note))
                .collect(),
            waits_for_class: false,
            network_of: self.network_of,
            network: ground.network_of.map_or_else(
                || "no interface".to_owned(),
                |process| format!("lxc.namespace.share.net = {}", config::network(process)),
            ),
        };
        let backend = LxdBackend::listen(client, plan)?;
        Ok(Box::new(ContainerDeployment::new(
            backend, prepared, plan, host,
        )))
    }
}

impl LxdEngine {
    /// The server's own name of the image of a service.
    fn import(
        &self,
        client: &Client,
        plan: &DeploymentPlan,
        service: &ServiceStart,
    ) -> Result<String, EngineError> {
        let tag = self
            .images
            .borrow_mut()
            .load(client, &contents(plan, service))?;
        images::fingerprint(client, &tag)?
            .ok_or_else(|| EngineError::new(format!("the image {tag} has vanished")))
    }
}

/// What is another way than the server's defaults.
fn deviations(driver: &str, own_pool: bool, own_networks: bool) -> BTreeSet<String> {
    let pool = own_pool.then(|| {
        format!(
            "storage pool: one of Stowplan's own with the driver {driver}, because there is none"
        )
    });
    let settings = [
        "profiles: none, so no network interface and no device but the root disk and what the service asks for",
        "security.privileged = true: no user namespace, as in containers of other engines",
        "boot.autostart = false: the server does not start again what an interrupted run has left",
        if own_networks {
            "no network interface: each instance has a network of its own with nothing but a loopback, which one exec of \
             Stowplan's agent sets up"
        } else {
            "lxc.namespace.share.net: instances join the run's network namespace in place of a bridge"
        },
        "lxc.init.cmd: the program is process 1 in place of /sbin/init; where its arguments have more than plain \
         characters, through one exec of Stowplan's agent",
        "lxc.signal.halt = SIGTERM: a program is asked to end by SIGTERM and not by SIGPWR",
        "lxc.log.level = info: liblxc's log has the first process and its exit status",
        "lxc.console.logfile, lxc.console.size, lxc.console.buffer.size: output goes through the console, a terminal, \
         into the log of the run, as a whole and not into a buffer of 128 KiB",
        "lxc.mount.entry: /dev/shm is a file system of its own, which the server leaves to an init system; files and \
         folders of the host are mounted by liblxc and not as devices",
        "lxc.cgroup.cpu…: CPU weight and quota are liblxc's settings, where there are any: the server's are whole \
         percents and milliseconds",
        "lxc.cgroup.memory.memsw…, lxc.cgroup2.memory.swap…: no swap beside a memory limit, where there is one: what the \
         server does is another thing in each version",
    ];
    settings
        .map(str::to_owned)
        .into_iter()
        .chain(pool)
        .collect()
}
