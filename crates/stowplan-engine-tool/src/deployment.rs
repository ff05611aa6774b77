//! A deployment of containers that tools hold.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::{Deployment, EngineError, Facts, selected};
use stowplan_host::{Host, scheduling, tail, wait_readable};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, EngineRequest, Locator, Select, StopMode,
};

use crate::groups::RunGroups;
use crate::label;
use crate::service::{Come, Service};
use crate::tool::Tool;

/// How long a tool may take until the program runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Services in containers that a tool holds, one process of the tool each.
pub struct ToolDeployment {
    tool: Box<dyn Tool>,
    plan: DeploymentPlan,
    host: Rc<dyn Host>,
    /// `None` once it is destroyed.
    groups: Option<RunGroups>,
    services: Vec<Service>,
    events: Vec<EngineEvent>,
    /// Starts of the tool.
    asked: Vec<EngineRequest>,
}

impl ToolDeployment {
    /// Makes the groups of the run and what the tool needs.
    ///
    /// # Errors
    /// When something cannot be made; what was made until then is removed.
    pub fn prepare(
        tool: Box<dyn Tool>,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Self, EngineError> {
        let groups = RunGroups::make(host.as_ref(), plan)?;
        let mut deployment = Self {
            tool,
            plan: plan.clone(),
            host,
            groups: Some(groups),
            services: plan.services.iter().cloned().map(Service::new).collect(),
            events: Vec::new(),
            asked: Vec::new(),
        };
        // From here on, dropping it removes what was made.
        deployment.tool.prepare(plan, deployment.host.as_ref())?;
        Ok(deployment)
    }

    fn indices(&self, which: &Select) -> Result<Vec<usize>, EngineError> {
        let names = selected(&self.plan, which)?;
        Ok((0..self.services.len())
            .filter(|index| names.contains(&self.services[*index].start.name.as_str()))
            .collect())
    }

    fn index_of(&self, service: &str) -> Result<usize, EngineError> {
        let found = self.services.iter().position(|s| s.start.name == service);
        found.ok_or_else(|| EngineError::new(format!("no service '{service}' in this deployment")))
    }

    fn event(&mut self, service: usize, kind: EngineEventKind) {
        self.events.push(EngineEvent {
            service: self.services[service].start.name.clone(),
            kind,
            t_ns: stowplan_host::process::clock_ns(),
            clock: self.host.clock_domain(),
        });
    }

    fn start_some(&mut self, indices: &[usize]) -> Result<(), EngineError> {
        for index in indices {
            let Some(groups) = &self.groups else {
                return Err(EngineError::new("the deployment has been destroyed"));
            };
            let service = &mut self.services[*index];
            let begun = service.begin(&*self.tool, &self.plan, &*self.host, groups);
            self.asked.push(EngineRequest {
                begin_ns: begun.map_err(|error| service.error(error))?,
                service: service.start.name.clone(),
                end_ns: None,
            });
            self.event(*index, EngineEventKind::Created);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut coming = indices.to_vec();
        while let Some(first) = coming.first() {
            if Instant::now() >= deadline {
                let service = &self.services[*first];
                return Err(service.error(service.overdue(PATIENCE)));
            }
            let fds = coming
                .iter()
                .flat_map(|index| self.services[*index].coming_fds());
            wait_readable(&fds.collect::<Vec<_>>(), deadline);
            coming = self.still_coming(coming)?;
        }
        Ok(())
    }

    fn still_coming(&mut self, coming: Vec<usize>) -> Result<Vec<usize>, EngineError> {
        let mut left = Vec::new();
        for index in coming {
            let Some(groups) = &self.groups else {
                continue;
            };
            let service = &mut self.services[index];
            match service
                .come(&*self.tool, groups)
                .map_err(|error| service.error(error))?
            {
                Come::NotYet => left.push(index),
                Come::Up => self.event(index, EngineEventKind::Started),
            }
        }
        Ok(left)
    }

    fn look(&mut self) {
        for index in 0..self.services.len() {
            for kind in self.services[index].look(&*self.tool) {
                self.event(index, kind);
            }
        }
    }

    fn freeze(&mut self, service: &str, frozen: bool) -> Result<(), EngineError> {
        let index = self.index_of(service)?;
        let service = &mut self.services[index];
        service
            .freeze(frozen)
            .map_err(|error| service.error(error))?;
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

impl Deployment for ToolDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        // The tool does both at once.
        self.indices(which).map(drop)
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let mut indices = self.indices(which)?;
        self.look();
        indices.retain(|index| !self.services[*index].is_held());
        let at_once = match self.plan.parallelism {
            0 => indices.len().max(1),
            n => n as usize,
        };
        for some in indices.chunks(at_once) {
            if let Err(error) = self.start_some(some) {
                // What the failure leaves must not run; its own error is the lesser one.
                for index in some {
                    let _ = self.services[*index].kill();
                }
                return Err(error);
            }
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
                self.services[*index].wait(deadline.saturating_duration_since(Instant::now()));
            }
        }
        let mut result = Ok(());
        for index in indices {
            result = result.and(self.services[index].kill());
        }
        result
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        self.look();
        let mut result = Ok(());
        for index in 0..self.services.len() {
            let service = &mut self.services[index];
            let killed = service.kill();
            match service.remove_groups() {
                Ok(true) if killed.is_ok() => self.event(index, EngineEventKind::Destroyed),
                Ok(_) => result = result.and(killed),
                Err(error) => result = result.and(killed).and(Err(error)),
            }
        }
        result = result.and(self.tool.remove());
        if let Some(groups) = self.groups.take()
            && let Err(error) = groups.remove()
        {
            result = result.and(Err(error.into()));
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
        let located = self.services.iter().filter_map(|s| s.locator(&host));
        Ok(located.collect())
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        let service = &self.services[self.index_of(service)?];
        tail(Path::new(&service.start.log), bytes)
            .map_err(|e| service.error(EngineError::new("cannot read its log").because(e)))
    }

    fn deviations(&self) -> Vec<String> {
        let mut deviations = self.tool.deviations();
        let budget = self.groups.as_ref().and_then(|groups| groups.budget_us);
        deviations.extend(budget.map(scheduling::budget_note));
        deviations
    }

    fn engine_processes(&self) -> Result<Vec<u32>, EngineError> {
        Ok(self.services.iter().filter_map(Service::holder).collect())
    }

    fn label(&self) -> Result<Facts, EngineError> {
        let host = self.host.id();
        let running = self.services.iter().filter_map(|service| {
            Some(label::Container {
                first: service.locator(&host)?.pid,
                holder: service.holder()?,
                service: &service.start.name,
            })
        });
        let running: Vec<label::Container<'_>> = running.collect();
        label::read(self.tool.program(), &self.plan.run, &running)
    }

    fn engine_requests(&self) -> Result<Vec<EngineRequest>, EngineError> {
        Ok(self.asked.clone())
    }
}

impl Drop for ToolDeployment {
    fn drop(&mut self) {
        // Nobody is left to tell; what cannot be removed stands in the ledger.
        let _ = self.destroy();
    }
}
