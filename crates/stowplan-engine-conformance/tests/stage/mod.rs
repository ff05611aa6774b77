//! An engine of the agent as a stage.

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_engine_conformance::Stage;
use stowplan_host::Host;
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_testkit::{agent_program, private_state};

pub struct AgentStage {
    engine: RemoteEngine,
    host: Rc<AgentHost>,
}

impl AgentStage {
    pub fn new(engine: &str) -> Self {
        let state = [("STOWPLAN_STATE", private_state().as_os_str())];
        let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
        Self {
            engine: RemoteEngine::new(&host, engine).unwrap(),
            host,
        }
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
