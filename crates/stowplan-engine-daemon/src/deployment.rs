//! A prepared deployment: a container for each service.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::{Deployment, EngineError, ImageFiles, selected};
use stowplan_host::ledger::Object;
use stowplan_host::{Host, process, scheduling};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, EngineRequest, Locator, Select, StopMode,
};

use crate::classes;
use crate::place::{self, is_elsewhere};
use crate::service::{Service, State};
use crate::{Backend, Happened};

/// Time between two looks at what only the kernel tells.
const LOOK: Duration = Duration::from_millis(10);

/// Entry of a container in the ledger.
#[must_use]
pub fn container_entry(engine: &str, name: &str) -> Object {
    Object::Container {
        engine: engine.to_owned(),
        id: name.to_owned(),
    }
}

/// What has been made before any container of a service.
#[derive(Debug)]
pub struct Prepared<R> {
    /// What the daemon is asked for, for each service of the plan in its order.
    pub requests: Vec<R>,
    /// Where the daemon keeps the files of the images.
    pub image_files: ImageFiles,
    /// What is another way than the daemon's defaults.
    pub deviations: BTreeSet<String>,
    /// The process in whose network the services have to be.
    pub network_of: u32,
    /// How they are asked into it, for an error.
    pub network: String,
    /// Programs of real-time classes wait in the agent until they are given those.
    pub waits_for_class: bool,
}

/// Services in containers of one daemon.
pub struct ContainerDeployment<B: Backend> {
    plan: DeploymentPlan,
    host: Rc<dyn Host>,
    backend: B,
    services: Vec<Service<B::Request>>,
    image_files: ImageFiles,
    deviations: RefCell<BTreeSet<String>>,
    network_of: u32,
    network: String,
    waits_for_class: bool,
    /// What was asked of the daemon to create and start services.
    asked: RefCell<Vec<EngineRequest>>,
    destroyed: bool,
}

impl<B: Backend> ContainerDeployment<B> {
    /// The services of `plan`, none of them created.
    pub fn new(
        backend: B,
        prepared: Prepared<B::Request>,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Self {
        let requests = plan.services.iter().zip(prepared.requests);
        let mut deviations = prepared.deviations;
        if prepared.waits_for_class {
            deviations.extend(classes::note(plan));
        }
        Self {
            services: requests
                .map(|(service, request)| Service::new(&plan.run, service, request))
                .collect(),
            plan: plan.clone(),
            host,
            backend,
            image_files: prepared.image_files,
            deviations: RefCell::new(deviations),
            network_of: prepared.network_of,
            network: prepared.network,
            waits_for_class: prepared.waits_for_class,
            asked: RefCell::default(),
            destroyed: false,
        }
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
        let backend = &self.backend;
        let removed = backend
            .serving()
            .each(names, 0, |name| backend.remove(name));
        let mut results = Vec::new();
        for (index, result) in which.iter().zip(removed) {
            if result.is_ok() {
                let service = &mut self.services[*index];
                service.forget();
                let entry = container_entry(self.backend.engine(), &service.container);
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
        if happened.kind == EngineEventKind::Started
            && service.start.restarts.is_asked()
            && service.has_ended()
            && !service.stopped.contains(&happened.container)
        {
            // The daemon has started it again, in the same container or another.
            service.id = Some(happened.container);
            service.started();
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
    fn look(&self, service: &Service<B::Request>) -> Result<(), EngineError> {
        let Some(id) = service.id.as_ref().filter(|_| !service.is_placed()) else {
            return Ok(());
        };
        let place = self.backend.locate(id)?;
        if place.pid > 0 {
            let own = self.plan.isolation.net;
            if is_elsewhere(&place, self.network_of).is_some_and(|elsewhere| elsewhere != own) {
                let (found, network) = (if own { "in" } else { "not in" }, &self.network);
                return Err(EngineError::new(format!(
                    "it is {found} the network of the run, though it was created with '{network}'"
                )));
            }
            let ipc = self.plan.isolation.ipc;
            if place::has_own_ipc(&place).is_some_and(|own| own != ipc) {
                let whose = if ipc { "the machine's" } else { "its own" };
                return Err(EngineError::new(format!(
                    "it is in {whose} IPC namespace, though it was asked into the other"
                )));
            }
            let locator = service.locator(&place, &self.host.id());
            if let Ok(has) = self.host.limits(&locator) {
                let told = place::differences(&service.start.limits, &has);
                let name = &service.start.name;
                self.deviations
                    .borrow_mut()
                    .extend(told.iter().map(|told| format!("service '{name}': {told}")));
            }
        }
        service.keep(place);
        Ok(())
    }

    /// Gives those of these services that wait for one their scheduling class.
    fn give_classes(&self, which: &[usize]) -> Result<(), EngineError> {
        let waiting = which.iter().filter(|_| self.waits_for_class);
        for service in waiting.map(|index| &self.services[*index]) {
            let class = service.start.limits.real_time();
            let Some((id, class)) = service.id.as_ref().zip(class) else {
                continue;
            };
            let place = self.backend.locate(id).map_err(|e| service.about(e))?;
            let budget = classes::give(&self.plan, &service.start, class, &place);
            let budget = budget.map_err(|e| service.about(e))?;
            self.deviations
                .borrow_mut()
                .extend(budget.map(scheduling::budget_note));
        }
        Ok(())
    }

    /// Makes the containers of these services that have none, or one that has ended: which of them.
    fn make(&mut self, which: Vec<usize>) -> Result<Vec<usize>, EngineError> {
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
                .enter(&container_entry(self.backend.engine(), &service.container))?;
            service.entered = true;
        }
        let (backend, asked) = (&self.backend, &self.asked);
        let requests: Vec<_> = wanted.iter().map(|index| &self.services[*index]).collect();
        let made = backend
            .serving()
            .each(requests, self.plan.parallelism, |service| {
                let answer = backend.make(&service.container, &service.request);
                noted(asked, &service.start.name, answer)
            });
        let mut results = Vec::new();
        for (index, made) in wanted.iter().zip(made) {
            results.push(made.map(|id| self.services[*index].created(id)));
        }
        self.first_error(&wanted, results)?;
        Ok(wanted)
    }

    /// Lets the programs of these services run, which have containers.
    fn begin(&mut self, which: &[usize]) -> Result<(), EngineError> {
        let ids = which
            .iter()
            .map(|index| {
                let service = &self.services[*index];
                let missing = || service.about(EngineError::new("it has not been created"));
                let id = service.id.as_ref().ok_or_else(missing)?;
                Ok((service.start.name.as_str(), id.as_str()))
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        let (backend, asked) = (&self.backend, &self.asked);
        let results = backend
            .serving()
            .each(ids, self.plan.parallelism, |(service, id)| {
                noted(asked, service, backend.begin(id))
            });
        for (index, result) in which.iter().zip(&results) {
            if result.is_ok() {
                self.services[*index].started();
            }
        }
        self.first_error(which, results)
    }

    fn freeze(&self, service: &str, frozen: bool) -> Result<(), EngineError> {
        let service = &self.services[self.one(service)?];
        let missing = || service.about(EngineError::new("it has not been created"));
        let id = service.id.as_ref().ok_or_else(missing)?;
        self.backend
            .freeze(id, frozen)
            .map_err(|e| service.about(e))
    }
}

impl<B: Backend> Deployment for ContainerDeployment<B> {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        if B::CREATES_APART {
            self.make(which)?;
        }
        Ok(())
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let which = self.indexes(which)?;
        if B::CREATES_APART {
            self.begin(&which)?;
        } else {
            let made = self.make(which.clone())?;
            made.iter()
                .for_each(|index| self.services[*index].started());
        }
        self.give_classes(&which)
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
        let backend = &self.backend;
        let serving = backend.serving();
        let results = serving.each(ids, 0, |id| async move { backend.end(&id, how).await });
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
        let cleared = self.backend.clear(self.host.as_ref());
        removed.and(cleared)?;
        self.destroyed = true;
        Ok(())
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, true)
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, false)
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
            match self.backend.next(nap)? {
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
        let Some(id) = &service.id else {
            return Ok(String::new());
        };
        self.backend.log(id, bytes).map_err(|e| service.about(e))
    }

    fn deviations(&self) -> Vec<String> {
        self.deviations.borrow().iter().cloned().collect()
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
        self.backend.label(&running)
    }

    fn engine_processes(&self) -> Result<Vec<u32>, EngineError> {
        let first: Vec<u32> = self.services.iter().filter_map(Service::pid).collect();
        Ok(self.backend.processes(&first))
    }

    fn orchestrator(&self) -> Result<BTreeMap<u32, String>, EngineError> {
        Ok(self.backend.orchestrator(&self.engine_processes()?))
    }

    fn engine_requests(&self) -> Result<Vec<EngineRequest>, EngineError> {
        Ok(self.asked.borrow().clone())
    }

    fn image_files(&self) -> ImageFiles {
        self.image_files.clone()
    }
}

impl<B: Backend> Drop for ContainerDeployment<B> {
    fn drop(&mut self) {
        // Nobody is left to tell; the ledger still has what could not be removed.
        let _ = self.destroy();
    }
}

/// Waits for the answer to what is asked about a service, and notes when that was outstanding.
async fn noted<T>(
    asked: &RefCell<Vec<EngineRequest>>,
    service: &str,
    answer: impl Future<Output = T>,
) -> T {
    let begin_ns = process::clock_ns();
    let answer = answer.await;
    asked.borrow_mut().push(EngineRequest {
        service: service.to_owned(),
        begin_ns,
        end_ns: Some(process::clock_ns()),
    });
    answer
}
