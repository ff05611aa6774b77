//! A deployment of plain processes.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::{CpuGroups, Deployment, EngineError, selected};
use stowplan_host::cgroup::Tree;
use stowplan_host::{Host, chain, scheduling, tail, wait_readable};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, Locator, Select, StopMode,
};

use crate::capabilities::{cpu_groups, run_controllers, service_controllers};
use crate::groups::Above;
use crate::program;
use crate::service::{Service, State};

/// Services as plain processes.
pub(crate) struct BareDeployment {
    plan: DeploymentPlan,
    host: Rc<dyn Host>,
    cpu_groups: CpuGroups,
    /// Where the groups of services are; `None` without control groups.
    groups: Option<Above>,
    /// Controllers of each service's group.
    controllers: Vec<&'static str>,
    services: Vec<Service>,
    events: Vec<EngineEvent>,
    deviations: Vec<String>,
}

impl BareDeployment {
    pub(crate) fn prepare(plan: &DeploymentPlan, host: Rc<dyn Host>) -> Result<Self, EngineError> {
        let services = plan
            .services
            .iter()
            .map(|start| {
                let program = program::prepare(plan, start)
                    .map_err(|e| e.of_service(start.name.clone(), None))?;
                Ok(Service::new(start.clone(), program))
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        let cpu_groups = cpu_groups(plan.variant.as_deref());
        let mut deployment = Self {
            plan: plan.clone(),
            host,
            cpu_groups,
            groups: None,
            controllers: service_controllers(cpu_groups).to_vec(),
            services,
            events: Vec::new(),
            deviations: program::writable_mounts(plan).collect(),
        };
        deployment.make_run_group()?;
        Ok(deployment)
    }

    fn make_run_group(&mut self) -> Result<(), EngineError> {
        let mut controllers = run_controllers(self.cpu_groups).to_vec();
        let made = Tree::detect().and_then(|tree| {
            if !self.cpu_groups.is_grouped() && !tree.accounting_apart() {
                controllers.retain(|name| *name != "cpuacct");
                self.controllers.retain(|name| *name != "cpuacct");
                self.deviations.push(
                    "no CPU time per service: this machine mounts 'cpuacct' together with 'cpu'"
                        .to_owned(),
                );
            }
            // On v2 a controller of the run's group is one that it gives to the groups of its services.
            let v2 = tree.own.contains_key("unified");
            if v2 && self.cpu_groups == CpuGroups::Sessions {
                self.deviations.push(
                    "sessions act only among processes outside of control groups with 'cpu'; \
                     cgroup v2 accounts for no others"
                        .to_owned(),
                );
            }
            let wanted = if v2 { &self.controllers } else { &controllers };
            Above::make(&*self.host, tree, &self.plan.run, self.cpu_groups, wanted)
        });
        match made {
            Ok(groups) => {
                if let Some(run) = self.groups.insert(groups).run() {
                    let budget = scheduling::give_run_budget(run, &self.plan)?;
                    self.deviations.extend(budget.map(scheduling::budget_note));
                }
                Ok(())
            }
            Err(error) if self.cpu_groups.is_grouped() => Err(error.into()),
            Err(error) => {
                self.deviations.push(format!(
                    "no control groups, so no usage per service, no pause, and processes that leave \
                     their process group are not found: {}",
                    chain(&error)
                ));
                Ok(())
            }
        }
    }

    fn indices(&self, which: &Select) -> Result<Vec<usize>, EngineError> {
        let names = selected(&self.plan, which)?;
        Ok((0..self.services.len())
            .filter(|index| names.contains(&self.services[*index].start.name.as_str()))
            .collect())
    }

    fn event(&mut self, service: usize, kind: EngineEventKind) {
        self.events.push(EngineEvent {
            service: self.services[service].start.name.clone(),
            kind,
            t_ns: stowplan_host::process::clock_ns(),
            clock: self.host.clock_domain(),
        });
    }

    fn create_one(&mut self, index: usize) -> Result<(), EngineError> {
        let service = &mut self.services[index];
        if let Some(above) = &self.groups {
            service.make_groups(&*self.host, above, self.cpu_groups, &self.controllers)?;
            if let Some(group) = service.group() {
                scheduling::give_service_budget(group, &self.plan, &service.start.name)?;
            }
        }
        service.park(&*self.host, self.cpu_groups)
    }

    /// Runs the programs of these services and waits until the kernel executes them.
    fn start_some(&mut self, indices: &[usize]) -> Result<(), EngineError> {
        for index in indices {
            let service = &mut self.services[*index];
            let result = match &mut service.state {
                State::Created(child) => child.release(),
                State::Running(_) => Ok(()),
                State::None => {
                    return Err(service.error(EngineError::new("it is not created")));
                }
            };
            if let Err(error) = result {
                return Err(service.error(EngineError::new("cannot start it").because(error)));
            }
        }
        for index in indices {
            let service = &mut self.services[*index];
            let State::Created(child) = std::mem::replace(&mut service.state, State::None) else {
                continue;
            };
            let outcome = child.outcome();
            service.state = State::Running(child);
            if let Err(error) = outcome {
                let program = service.program.path.to_string_lossy().into_owned();
                let error = EngineError::new(format!("cannot execute {program}")).because(error);
                return Err(service.error(error));
            }
            self.event(*index, EngineEventKind::Started);
        }
        Ok(())
    }

    fn look(&mut self) {
        for index in 0..self.services.len() {
            for kind in self.services[index].look() {
                self.event(index, kind);
            }
        }
    }

    fn index_of(&self, service: &str) -> Result<usize, EngineError> {
        self.services
            .iter()
            .position(|s| s.start.name == service)
            .ok_or_else(|| EngineError::new(format!("no service '{service}' in this deployment")))
    }

    fn freeze(&mut self, service: &str, frozen: bool) -> Result<(), EngineError> {
        let index = self.index_of(service)?;
        let service = &mut self.services[index];
        let Some(group) = service.group().filter(|_| service.child().is_some()) else {
            let reason = if service.child().is_some() {
                "without control groups it cannot be frozen"
            } else {
                "it is not created"
            };
            return Err(service.error(EngineError::new(reason)));
        };
        group
            .freeze(frozen)
            .map_err(|error| service.error(error.into()))?;
        service.paused = frozen;
        self.event(
            index,
            if frozen {
                EngineEventKind::Paused
            } else {
                EngineEventKind::Resumed
            },
        );
        Ok(())
    }
}

impl Deployment for BareDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        for index in self.indices(which)? {
            if self.services[index].child().is_some_and(|c| !c.is_reaped()) {
                continue;
            }
            self.services[index].state = State::None;
            if let Err(error) = self.create_one(index) {
                let error = self.services[index].error(error);
                // What the failure leaves must not run; its own error is the lesser one.
                let _ = self.services[index].kill();
                return Err(error);
            }
            self.event(index, EngineEventKind::Created);
        }
        Ok(())
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let indices = self.indices(which)?;
        let at_once = match self.plan.parallelism {
            0 => indices.len().max(1),
            n => n as usize,
        };
        for some in indices.chunks(at_once) {
            self.start_some(some)?;
        }
        Ok(())
    }

    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError> {
        let indices = self.indices(which)?;
        self.look();
        if let StopMode::Terminate { grace_ms } = how {
            let deadline = Instant::now() + Duration::from_millis(grace_ms);
            for index in &indices {
                let name = self.services[*index].start.name.clone();
                if self.services[*index].paused {
                    self.freeze(&name, false)?;
                }
                self.services[*index].terminate();
            }
            for index in &indices {
                if let Some(child) = self.services[*index].child().filter(|c| !c.is_reaped()) {
                    wait_readable(&[child.ended_fd()], deadline);
                }
            }
        }
        let mut result = Ok(());
        for index in indices {
            if let Err(error) = self.services[index].kill() {
                result = Err(error);
            }
        }
        result
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        self.look();
        let mut result = Ok(());
        for index in 0..self.services.len() {
            let service = &mut self.services[index];
            let existed = service.group().is_some() || service.child().is_some();
            let removed = service.kill().and(service.remove_groups());
            match removed {
                Ok(()) if existed => self.event(index, EngineEventKind::Destroyed),
                Ok(()) => {}
                Err(error) => result = Err(error),
            }
        }
        if let Some(Above::Run(group)) = self.groups.take()
            && let Err(error) = group.remove()
        {
            result = Err(error.into());
        }
        result
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, true)
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        self.freeze(service, false)
    }

    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        let deadline = Instant::now() + wait;
        loop {
            self.look();
            if !self.events.is_empty() || Instant::now() >= deadline {
                return Ok(std::mem::take(&mut self.events));
            }
            wait_readable(&self.event_fds(), deadline);
        }
    }

    fn event_fds(&self) -> Vec<BorrowedFd<'_>> {
        self.services.iter().flat_map(Service::event_fds).collect()
    }

    fn locators(&self) -> Result<Vec<Locator>, EngineError> {
        let host = self.host.id();
        Ok(self
            .services
            .iter()
            .filter_map(|service| service.locator(&host))
            .collect())
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        let service = &self.services[self.index_of(service)?];
        tail(Path::new(&service.start.log), bytes)
            .map_err(|e| service.error(EngineError::new("cannot read its log").because(e)))
    }

    fn deviations(&self) -> Vec<String> {
        self.deviations.clone()
    }
}

impl Drop for BareDeployment {
    fn drop(&mut self) {
        // Nobody is left to tell; what cannot be removed stands in the ledger.
        let _ = self.destroy();
    }
}
