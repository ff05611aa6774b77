//! The engines of an agent as stages.

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_host::Host;
use stowplan_remote::{AgentHost, RemoteEngine};

use crate::setup::Stage;

/// An engine of an agent.
#[derive(Debug)]
pub struct AgentStage {
    engine: RemoteEngine,
    host: Rc<AgentHost>,
}

impl AgentStage {
    /// The engine of this name.
    ///
    /// # Errors
    /// When the agent has none of this name, or does not answer.
    pub fn new(host: Rc<AgentHost>, engine: &str) -> Result<Self, EngineError> {
        let engine = RemoteEngine::new(&host, engine)?;
        Ok(Self { engine, host })
    }
}

impl Stage for AgentStage {
    fn engine(&self) -> &dyn Engine {
        &self.engine
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
