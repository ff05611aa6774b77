//! Engines that run inside the agent.

use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::{Capabilities, Deployment, Engine, EngineError, Facts, Probe};
use stowplan_host::{Host, chain};
use stowplan_wire::agent::{Answer, Call, PreparedAnswer};
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineRequest, Locator, Select, StopMode,
};

use crate::AgentHost;

/// An engine of the agent, as if it were here.
#[derive(Debug, Clone)]
pub struct RemoteEngine {
    host: Rc<AgentHost>,
    name: String,
    capabilities: Capabilities,
}

impl RemoteEngine {
    /// The engine `name` of the agent.
    ///
    /// # Errors
    /// When the agent has no such engine.
    pub fn new(host: &Rc<AgentHost>, name: &str) -> Result<Self, EngineError> {
        Ok(Self {
            capabilities: host.capabilities(name)?,
            host: Rc::clone(host),
            name: name.to_owned(),
        })
    }
}

impl Engine for RemoteEngine {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn probe(&self, _host: &dyn Host) -> Probe {
        match self.host.probe(&self.name) {
            Ok(answer) => Probe::from(answer),
            Err(error) => Probe::Absent {
                reason: chain(&error),
                hint: error
                    .hint
                    .unwrap_or_else(|| "start stowplan again".to_owned()),
            },
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    /// The deployment is on the agent's machine, whatever `host` is.
    fn prepare(
        &self,
        plan: &DeploymentPlan,
        _host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        self.capabilities.require(&self.name, plan)?;
        let call = Call::Prepare {
            engine: self.name.clone(),
            plan: Box::new(plan.clone()),
        };
        match self.host.call(call)? {
            Answer::Prepared(prepared) => Ok(Box::new(RemoteDeployment {
                host: Rc::clone(&self.host),
                prepared,
                destroyed: false,
            })),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(answer: &Answer) -> EngineError {
    EngineError::new(format!("the agent answered something else: {answer:?}"))
}

struct RemoteDeployment {
    host: Rc<AgentHost>,
    prepared: PreparedAnswer,
    destroyed: bool,
}

impl RemoteDeployment {
    /// For verbs whose answer carries only that they are done.
    fn verb(&self, call: Call) -> Result<(), EngineError> {
        match self.host.call(call)? {
            Answer::Done | Answer::Clock(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

impl Deployment for RemoteDeployment {
    fn create(&mut self, which: &Select) -> Result<(), EngineError> {
        self.verb(Call::Create(which.clone()))
    }

    fn start(&mut self, which: &Select) -> Result<(), EngineError> {
        self.verb(Call::Start(which.clone()))
    }

    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError> {
        self.verb(Call::Stop(which.clone(), how))
    }

    fn destroy(&mut self) -> Result<(), EngineError> {
        if !self.destroyed {
            self.verb(Call::Destroy)?;
            self.destroyed = true;
        }
        Ok(())
    }

    fn pause(&mut self, service: &str) -> Result<(), EngineError> {
        self.verb(Call::Pause(service.to_owned()))
    }

    fn resume(&mut self, service: &str) -> Result<(), EngineError> {
        self.verb(Call::Resume(service.to_owned()))
    }

    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError> {
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let ms = u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
            let events = self.host.engine_events(ms)?;
            if !events.is_empty() || Instant::now() >= deadline {
                return Ok(events);
            }
        }
    }

    /// The agent speaks only when it is asked.
    fn event_fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn locators(&self) -> Result<Vec<Locator>, EngineError> {
        match self.host.call(Call::Locators)? {
            Answer::Locators(locators) => Ok(locators),
            other => Err(unexpected(&other)),
        }
    }

    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError> {
        let call = Call::Log {
            service: service.to_owned(),
            bytes,
        };
        match self.host.call(call)? {
            Answer::Log(text) => Ok(text),
            other => Err(unexpected(&other)),
        }
    }

    fn deviations(&self) -> Vec<String> {
        self.prepared.deviations.clone()
    }

    fn engine_processes(&self) -> Result<Vec<u32>, EngineError> {
        match self.host.call(Call::EngineProcesses)? {
            Answer::Pids(pids) => Ok(pids),
            other => Err(unexpected(&other)),
        }
    }

    fn engine_requests(&self) -> Result<Vec<EngineRequest>, EngineError> {
        match self.host.call(Call::EngineRequests)? {
            Answer::Requests(requests) => Ok(requests),
            other => Err(unexpected(&other)),
        }
    }

    fn label(&self) -> Result<Facts, EngineError> {
        match self.host.call(Call::Label)? {
            Answer::Label(facts) => Ok(facts),
            other => Err(unexpected(&other)),
        }
    }
}

impl Drop for RemoteDeployment {
    fn drop(&mut self) {
        // What cannot be removed stands in the agent's ledger, and nobody is left to tell.
        let _ = self.destroy();
    }
}
