//! The conformance suite on containers of LXC, through the agent.

use stowplan_engine_conformance::{AgentStage, Setup, Stage as _, access, run};
use stowplan_remote::AgentHost;
use stowplan_testkit::{agent_program, available, private_state};

#[test]
fn conforms() {
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
    let stage = AgentStage::new(host, "lxc").unwrap();
    if !available(stage.engine(), &*stage.host()) {
        return;
    }
    let setup = Setup::plain(&stage, None);
    let report = run(&setup);
    assert_eq!(report.failures(), []);
    assert_eq!(report.matrix(), include_str!("matrix.txt"));
    assert_eq!(access(&setup).others(), Vec::<String>::new());
}
