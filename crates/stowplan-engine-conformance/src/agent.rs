//! The engines of an agent, and those beside it, as stages.

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_host::Host;
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::Site as _;

use crate::setup::Stage;

/// An engine on the machine of an agent.
pub struct AgentStage {
    engine: Box<dyn Engine>,
    host: Rc<AgentHost>,
}

impl AgentStage {
    /// The engine of this name.
    ///
    /// # Errors
    /// When the agent has none of this name, or does not answer.
    pub fn new(host: Rc<AgentHost>, engine: &str) -> Result<Self, EngineError> {
        let engine = Box::new(RemoteEngine::new(&host, engine)?);
        Ok(Self { engine, host })
    }

    /// An engine that runs beside the agent.
    #[must_use]
    pub fn beside(host: Rc<AgentHost>, engine: Box<dyn Engine>) -> Self {
        Self { engine, host }
    }
}

impl Stage for AgentStage {
    fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    fn host(&self) -> Rc<dyn Host> {
        self.host.clone()
    }

    fn open_run(&self, run: &str) -> Result<String, EngineError> {
        self.host.open_run(run, vec![], String::new(), 0)
    }

    fn close_run(&self) -> Result<(), EngineError> {
        self.host.close_run()
    }
}
