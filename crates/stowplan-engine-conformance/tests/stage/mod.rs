//! An agent of the test's own, as a stage.

use stowplan_engine_conformance::AgentStage;
use stowplan_remote::AgentHost;
use stowplan_testkit::{agent_program, private_state};

pub fn stage(engine: &str) -> AgentStage {
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
    AgentStage::new(host, engine).unwrap()
}
