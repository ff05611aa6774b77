//! A prepared deployment: a container for each service.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    KillContainerOptionsBuilder, StartContainerOptions, StopContainerOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use futures_util::StreamExt;
use stowplan_engine::{Deployment, EngineError, selected};
use stowplan_host::cgroup::Tree;
use stowplan_host::{Host, process};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, Locator, Program, Select, StopMode,
};

use crate::client::{Client, PATIENCE_S, is_absent, status};
use crate::events::{Feed, Happened};
use crate::ground::{self, Ground, Holder};
use crate::images::{self, Images};
use crate::service::{Service, State};
use crate::{config, fleet, label, locate, logs, names, own};

/// Time between two looks at what only the kernel tells.
const LOOK: Duration = Duration::from_millis(10);

/// Services in containers of one daemon.
pub(crate) struct ContainerDeployment {
    plan: DeploymentPlan,
    host: Rc<dyn Host>,
    client: Client,
    feed: Feed,
    ground: Ground,
    holder: Holder,
    services: Vec<Service>,
    /// Folders of the daemon with the files of the images.
    folders: Vec<String>,
    deviations: RefCell<BTreeSet<String>>,
    destroyed: bool,
}

impl ContainerDeployment {
    /// Loads images and lays the ground.
    pub(crate) fn prepare(
        client: Client,
        images: &mut Images,
        holder: &Holder,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Self, EngineError> {
        let layout = Tree::detect()?.layout;
        let mut tags = Vec::new();
        for service in &plan.services {
            let tag = images
                .load(&client, &config::contents(plan, service))
                .map_err(|e| e.of_service(&service.name, Some(service.log.clone())))?;
            tags.push(tag);
        }
        let distinct: BTreeSet<&String> = tags.iter().collect();
        let folders: BTreeSet<String> = distinct
            .into_iter()
            .flat_map(|tag| images::folders(&client, tag))
            .map(|folder| folder.display().to_string())
            .collect();
        let ground = ground::lay(&client, images, holder, &plan.run, host.as_ref())?;
        let services = plan.services.iter().zip(&tags).map(|(service, tag)| {
            let body = config::container(plan, service, &ground, tag, layout);
            Service::new(&plan.run, service, body)
        });
        Ok(Self {
            services: services.collect(),
            feed: Feed::open(&client, &plan.run),
            plan: plan.clone(),
            holder: holder.clone(),
            folders: folders.into_iter().collect(),
            deviations: RefCell::new(ground.told()),
            destroyed: false,
            ground,
            host,
            client,
        })
    }

    fn indexes(&self, which: &Select) -> Result<Vec<usize>, EngineError> {
        let names = selected(&self.plan, which)?;
        Ok((0..self.services.len())
            .filter(|index| names.contains(&self.services[*index].start.name.as_str()))
            .collect())
    }

    fn one(&self, service: &str) -> Result<usize, EngineError> {
        let one = Select::Services(vec![service.to_owned()]);
        let found = self.indexes(&one)?;
        Ok(found[0])
    }

    /// What came of a verb on each service: the first error.
    fn first_error(
        &self,
        which: &[usize],
        results: Vec<Result<(), EngineError>>,
    ) -> Result<(), EngineError> {
        for (index, result) in which.iter().zip(results) {
            result.map_err(|error| self.services[*index].about(error))?;
        }
        Ok(())
    }

    /// Removes the containers of these services, entered in the ledger or not.
    fn remove(&mut self, which: &[usize]) -> Result<(), EngineError> {
        for index in which {
            // What the daemon says of it from now on is our own doing.
            self.services[*index].is_being_stopped();
        }
        let names: Vec<&str> = which
            .iter()
            .map(|index| self.services[*index].container.as_str())
            .collect();
        let client = &self.client;
        let removed = client.each(names, 0, |name| fleet::remove_one(client, name));
        let mut results = Vec::new();
        for (index, result) in which.iter().zip(removed) {
            if result.is_ok() {
                let service = &mut self.services[*index];
                service.forget();
                let entry = fleet::entry(self.client.daemon(), &service.container);
                if std::mem::take(&mut service.entered) {
                    self.host.gone(&entry);
                }
            }
            results.push(result.map(drop));
        }
        self.first_error(which, results)
    }

    /// Takes an event in; gives it on unless it tells of our own doing.
    fn take(&mut self, happened: Happened) -> Option<EngineEvent> {
        let service = self
            .services
            .iter_mut()
            .find(|service| service.start.name == happened.service)?;
        if let EngineEventKind::Exited(_) = happened.kind {
            if service.stopped.contains(&happened.container) {
                return None;
            }
            if service.id.as_deref() == Some(&happened.container) {
                service.state = State::Stopped;
            }
        }
        Some(EngineEvent {
            service: happened.service,
            kind: happened.kind,
            t_ns: happened.t_ns,
            clock: self.host.clock_domain(),
        })
    }

    /// Processes that the kernel has ended for lack of memory.
    fn out_of_memory(&mut self) -> Result<Vec<EngineEvent>, EngineError> {
        let mut events = Vec::new();
        for service in &mut self.services {
            if service.out_of_memory() {
                events.push(EngineEvent {
                    service: service.start.name.clone(),
                    kind: EngineEventKind::OutOfMemory,
                    t_ns: self.host.clock()?,
                    clock: self.host.clock_domain(),
                });
            }
        }
        Ok(events)
    }

    /// Finds where a service is, once, and compares it with what was asked for.
    fn look(&self, service: &Service) -> Result<(), EngineError> {
        let Some(id) = service.id.as_ref().filter(|_| !service.is_placed()) else {
            return Ok(());
        };
        let place = locate::locate(&self.client, id)?;
        if place.pid > 0 {
            if locate::is_elsewhere(&place, self.holder.of_process) {
                return Err(EngineError::new(format!(
                    "it is not in the network of the run, though it was created with '{}'",
                    self.ground.network_mode
                )));
            }
            let locator = service.locator(&place, &self.host.id());
            if let Ok(has) = self.host.limits(&locator) {
                let told = locate::differences(&service.start.limits, &has);
                let name = &service.start.name;
                self.deviations
                    .borrow_mut()
                    .extend(told.iter().map(|told| format!("service '{name}': {told}")));
            }
        }
        service.keep(place);
        Ok(())
    }

    /// Asks the program of a container to end, or ends it, and waits until it has.
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
            StopMode::Kill => {
                let options = KillContainerOptionsBuilder::default()
                    .signal("SIGKILL")
                    .build();
                let api = self.client.api();
                api.kill_container(container, Some(options)).await
            }
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
}

impl Deployment for ContainerDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        let ended: Vec<usize> = which
            .iter()
            .copied()
            .filter(|index| self.services[*index].has_ended())
            .collect();
        self.remove(&ended)?;
        let wanted: Vec<usize> = which
            .into_iter()
            .filter(|index| self.services[*index].state == State::Absent)
            .collect();
        for index in &wanted {
            let service = &mut self.services[*index];
            self.host
                .enter(&fleet::entry(self.client.daemon(), &service.container))?;
            service.entered = true;
        }
        let client = &self.client;
        let bodies: Vec<_> = wanted
            .iter()
            .map(|index| &self.services[*index])
            .map(|service| (service.container.as_str(), service.body.clone()))
            .collect();
        let made = client.each(bodies, self.plan.parallelism, |(name, body)| {
            fleet::make_one(client, name, body)
        });
        let mut results = Vec::new();
        for (index, made) in wanted.iter().zip(made) {
            results.push(made.map(|id| self.services[*index].created(id)));
        }
        self.first_error(&wanted, results)
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        let ids = which
            .iter()
            .map(|index| {
                let service = &self.services[*index];
                let missing = || service.about(EngineError::new("it has not been created"));
                service.id.clone().ok_or_else(missing)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let client = &self.client;
        let results = client.each(ids, self.plan.parallelism, |id| async move {
            let started = client
                .api()
                .start_container(&id, None::<StartContainerOptions>)
                .await;
            started.map_err(|error| client.error("start a container", error))
        });
        for (index, result) in which.iter().zip(&results) {
            if result.is_ok() {
                self.services[*index].started();
            }
        }
        self.first_error(&which, results)
    }

    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError> {
        let mut which = self.indexes(which)?;
        which.retain(|index| self.services[*index].id.is_some());
        for index in &which {
            self.services[*index].is_being_stopped();
        }
        let ids: Vec<String> = which
            .iter()
            .filter_map(|index| self.services[*index].id.clone())
            .collect();
        let (client, this) = (&self.client, &*self);
        let results = client.each(ids, 0, |id| async move { this.end(&id, how).await });
        self.first_error(&which, results)
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        if self.destroyed {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.services.len())
            .filter(|index| self.services[*index].entered)
            .collect();
        let removed = self.remove(&all);
        // Last: the others are in its network.
        let name = names::of_ground(&self.plan.run);
        let ground = if self.ground.network_mode == ground::HOST {
            Ok(())
        } else {
            fleet::remove(&self.client, &name).map(|_| {
                self.host.gone(&fleet::entry(self.client.daemon(), &name));
            })
        };
        removed.and(ground)?;
        self.destroyed = true;
        Ok(())
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        let service = &self.services[self.one(service)?];
        let paused = self.client.api().pause_container(&service.container);
        self.client
            .wait(paused)
            .map_err(|e| service.about(self.client.error("pause a container", e)))
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        let service = &self.services[self.one(service)?];
        let resumed = self.client.api().unpause_container(&service.container);
        self.client
            .wait(resumed)
            .map_err(|e| service.about(self.client.error("resume a container", e)))
    }

    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        let deadline = Instant::now() + wait;
        let mut events = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let nap = if events.is_empty() {
                left.min(LOOK)
            } else {
                Duration::ZERO
            };
            match self.feed.next(&self.client, nap)? {
                Some(happened) => events.extend(self.take(happened)),
                None => {
                    events.extend(self.out_of_memory()?);
                    if !events.is_empty() || left.is_zero() {
                        return Ok(events);
                    }
                }
            }
        }
    }

    /// What the daemon sends is seen only when it is asked for.
    fn event_fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn locators(&self) -> Result<Vec<Locator>, EngineError> {
        let host = self.host.id();
        let mut locators = Vec::new();
        for service in &self.services {
            self.look(service).map_err(|error| service.about(error))?;
            locators.extend(service.placed(&host));
        }
        Ok(locators)
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        let service = &self.services[self.one(service)?];
        if service.id.is_none() {
            return Ok(String::new());
        }
        logs::tail(&self.client, &service.container, bytes).map_err(|e| service.about(e))
    }

    fn deviations(&self) -> Vec<String> {
        self.deviations.borrow().iter().cloned().collect()
    }

    fn shared_inodes(&self) -> Option<bool> {
        let nodes = self
            .services
            .iter()
            .filter(|service| service.start.program == Program::Node);
        let inodes = nodes
            .map(|service| locate::program_inode(service.pid()?))
            .collect::<Option<BTreeSet<_>>>()?;
        (!inodes.is_empty()).then_some(inodes.len() == 1)
    }

    fn label(&self) -> Result<BTreeMap<String, String>, EngineError> {
        let running = self
            .services
            .iter()
            .filter_map(|service| Some((service.id.clone()?, service.pid()?)));
        // Of a program that has done its work there is nothing to read.
        let running: Vec<(String, u32)> = running
            .filter(|(_, pid)| process::start_ticks(*pid).is_some())
            .collect();
        label::read(&self.client, &running)
    }

    fn engine_processes(&self) -> Result<Vec<u32>, EngineError> {
        let first: Vec<u32> = self.services.iter().filter_map(Service::pid).collect();
        Ok(own::processes(&self.client, &first, self.ground.holder_pid))
    }

    fn image_files(&self) -> Vec<String> {
        self.folders.clone()
    }
}

impl Drop for ContainerDeployment {
    fn drop(&mut self) {
        // Nobody is left to tell; the ledger still has what could not be removed.
        let _ = self.destroy();
    }
}
