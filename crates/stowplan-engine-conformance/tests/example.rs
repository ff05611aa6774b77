//! The example of an engine that is added, in an agent that has it.

use stowplan_engine::Probe;
use stowplan_engine_conformance::{AgentStage, Setup, Stage as _, run};
use stowplan_remote::AgentHost;
use stowplan_testkit::{example, private_state};

#[test]
fn an_engine_that_was_added_conforms() {
    let agent = example("setsid");
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let host = AgentHost::spawn_with(&agent, &state).unwrap();
    let stage = AgentStage::new(host, "setsid").unwrap();
    let probe = stage.engine().probe(&*stage.host());
    assert!(matches!(probe, Probe::Available { .. }), "{probe:?}");
    let report = run(&Setup::plain(&stage, None));
    assert_eq!(report.failures(), []);
    assert_eq!(report.matrix(), include_str!("matrix/setsid.txt"));
}
