//! The fake engine and its deployments.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{
    Capabilities, CpuGroups, Deployment, Engine, EngineError, HealthSupport, LimitSupport, Probe,
    Variant, selected,
};
use stowplan_host::Host;
use stowplan_host::ledger::Object;
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, LimitsPlan, Locator, Program, Restarts, Select,
    StopMode,
};

use super::health::Checked;
use super::process::{FakeProcess, Life, NODE, behaviour_of};
use super::world::{DEFAULT_RESTART_NS, Fault, RESTART_NS, World};

/// An engine that starts nothing.
#[derive(Debug, Clone)]
pub struct FakeEngine {
    world: Rc<RefCell<World>>,
}

impl FakeEngine {
    pub(super) const fn new(world: Rc<RefCell<World>>) -> Self {
        Self { world }
    }

    pub(super) fn has_fault(&self, fault: Fault) {
        self.world.borrow_mut().fault = Some(fault);
    }
}

impl Engine for FakeEngine {
    fn name(&self) -> String {
        "fake".to_owned()
    }

    fn probe(&self, _: &dyn Host) -> Probe {
        Probe::Emulated {
            version: "1".to_owned(),
            reason: "nothing runs".to_owned(),
            hint: "use another engine".to_owned(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            variants: vec![Variant {
                pause: false,
                user: false,
                restarts: true,
                restarts_by_default_ms: Some(DEFAULT_RESTART_NS / 1_000_000),
                health: Some(HealthSupport::Ends),
                ..Variant::processes(
                    "",
                    CpuGroups::InRun,
                    LimitSupport {
                        scheduling: false,
                        ..LimitSupport::all()
                    },
                )
            }],
            max_services: Some(100),
        }
    }

    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities().require("fake", plan)?;
        for service in &plan.services {
            let is_known = match &service.program {
                Program::Node => true,
                Program::Command { command, .. } => {
                    command.first().is_some_and(|word| word == "/bin/sh")
                }
            };
            if !is_known {
                let error = EngineError::new(format!("no such program: {:?}", service.program));
                return Err(error.of_service(service.name.clone(), None));
            }
        }
        Ok(Box::new(FakeDeployment {
            world: Rc::clone(&self.world),
            host,
            plan: plan.clone(),
        }))
    }
}

struct FakeDeployment {
    world: Rc<RefCell<World>>,
    host: Rc<dyn Host>,
    plan: DeploymentPlan,
}

impl FakeDeployment {
    fn names(&self, which: &Select) -> Result<Vec<String>, EngineError> {
        Ok(selected(&self.plan, which)?
            .into_iter()
            .map(str::to_owned)
            .collect())
    }

    fn create_one(&self, name: &str) -> Result<(), EngineError> {
        let lives = |p: &FakeProcess| p.service == name && p.life != Life::Ended;
        if self.world.borrow().processes.iter().any(lives) {
            return Ok(());
        }
        let start = self.plan.services.iter().find(|s| s.name == name);
        let Some((start, (behaviour, argument, environment))) =
            start.and_then(|start| Some((start, behaviour_of(start)?)))
        else {
            return Err(EngineError::new("no such program").of_service(name, None));
        };
        let id = format!("{}/{name}", self.plan.run);
        self.host.enter(&Object::Container {
            engine: "fake".to_owned(),
            id,
        })?;
        let mut world = self.world.borrow_mut();
        let pid = world.next_pid();
        let limits = match world.fault {
            Some(Fault::DropsLimits) => LimitsPlan::default(),
            _ => start.limits.clone(),
        };
        world.processes.retain(|p| p.service != name);
        world.processes.push(FakeProcess {
            service: name.to_owned(),
            behaviour,
            argument,
            environment,
            limits,
            life: Life::Created,
            pid,
            start_ticks: u64::from(pid) * 3,
            cpu_ns: 0,
            ends_at: None,
            is_stopped: false,
            restarts_after: match start.restarts {
                Restarts::Never => None,
                Restarts::AtOnce => Some(RESTART_NS),
                Restarts::ByDefault => Some(DEFAULT_RESTART_NS),
            },
            begins_at: None,
            checked: start.health.as_ref().map(|_| Checked::not_yet()),
            is_frozen: false,
            pinged: None,
            log: String::new(),
        });
        world.advance(1_000_000);
        world.happened(name, EngineEventKind::Created);
        Ok(())
    }

    fn fault(&self, fault: Fault) -> bool {
        self.world.borrow().fault == Some(fault)
    }

    fn has(&self, service: &str) -> Result<(), EngineError> {
        self.names(&Select::Services(vec![service.to_owned()]))
            .map(|_| ())
    }
}

impl Deployment for FakeDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        self.names(which)?
            .iter()
            .try_for_each(|name| self.create_one(name))?;
        if self.fault(Fault::CreateRuns) {
            return self.start(which);
        }
        Ok(())
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        let names = self.names(which)?;
        let mut world = self.world.borrow_mut();
        for name in names {
            let now = world.now();
            let process = world.processes.iter_mut().find(|p| p.service == name);
            let Some(process) = process.filter(|p| p.life != Life::Ended) else {
                return Err(EngineError::new("it is not created").of_service(name, None));
            };
            if process.life == Life::Created {
                process.begin(now);
                let is_node = process.behaviour == NODE;
                let eats = process.behaviour == "eat" && process.limits.memory_bytes.is_some();
                world.happened(&name, EngineEventKind::Started);
                if eats {
                    world.happened(&name, EngineEventKind::OutOfMemory);
                }
                if is_node {
                    world.node_began(&name);
                }
            }
        }
        Ok(())
    }

    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError> {
        let names = self.names(which)?;
        if self.fault(Fault::StopsNothing) {
            return Ok(());
        }
        let told = self
            .fault(Fault::TellsStops)
            .then_some(EngineEventKind::Exited(0));
        let mut world = self.world.borrow_mut();
        for name in names {
            if let StopMode::Terminate { grace_ms } = how
                && let Some(process) = world.processes.iter_mut().find(|p| p.service == name)
                && process.life == Life::Running
            {
                match process.behaviour.as_str() {
                    "graceful" => process.log.push_str("ended\n"),
                    "stubborn" => world.advance(grace_ms * 1_000_000),
                    _ => {}
                }
            }
            world.end(&name, told);
        }
        Ok(())
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        let names = self.names(&Select::All)?;
        let mut world = self.world.borrow_mut();
        for name in names {
            world.end(&name, None);
            if world.processes.iter().any(|p| p.service == name) {
                world.processes.retain(|p| p.service != name);
                world.happened(&name, EngineEventKind::Destroyed);
            }
        }
        Ok(())
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        self.has(service)?;
        if self.fault(Fault::PretendsToPause) {
            return Ok(());
        }
        Err(EngineError::new("it cannot pause").of_service(service, None))
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        self.has(service)?;
        Err(EngineError::new("it cannot resume").of_service(service, None))
    }

    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        let mut world = self.world.borrow_mut();
        let until = world.now() + u64::try_from(wait.as_nanos()).unwrap_or(0);
        loop {
            let told = world.due_events();
            let now = world.now();
            if !told.is_empty() || now >= until {
                return Ok(told);
            }
            let next = world.next(until);
            world.advance(next.saturating_sub(now));
        }
    }

    fn event_fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn locators(&self) -> Result<Vec<Locator>, EngineError> {
        let world = self.world.borrow();
        Ok(world
            .processes
            .iter()
            .map(|process| Locator {
                service: process.service.clone(),
                host: world.name.clone(),
                pid: process.pid + u32::from(world.fault == Some(Fault::LocatorsLie)),
                start_ticks: process.start_ticks,
                cgroups: BTreeMap::from([("unified".to_owned(), world.group(&process.service))]),
                namespaces: BTreeMap::from([(
                    "pid".to_owned(),
                    // All of them are in one, as the host says.
                    match world.fault {
                        Some(Fault::NamespacesLie) => u64::from(process.pid),
                        _ => 1,
                    },
                )]),
                log: format!("{}.log", world.group(&process.service)),
            })
            .collect())
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        self.has(service)?;
        let world = self.world.borrow();
        let process = world.processes.iter().find(|p| p.service == service);
        let log = process.map_or("", |process| process.log.as_str());
        let bytes = if world.fault == Some(Fault::WholeLogs) {
            usize::MAX
        } else {
            usize::try_from(bytes).unwrap_or(usize::MAX)
        };
        Ok(log[log.len().saturating_sub(bytes)..].to_owned())
    }

    fn deviations(&self) -> Vec<String> {
        vec!["nothing runs".to_owned()]
    }
}

impl Drop for FakeDeployment {
    fn drop(&mut self) {
        if !self.fault(Fault::LeavesServices) {
            // Nothing can go wrong where nothing runs.
            let _ = self.destroy();
        }
    }
}
