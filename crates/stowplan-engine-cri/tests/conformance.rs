//! The conformance suite on a real containerd. Needs it to run, and root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has to
//! be there.

use stowplan_engine_conformance::{AgentStage, Outcome, Setup, access, run, run_some};
use stowplan_engine_cri::CriEngine;
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{ShellRoot, agent_program, available};

#[test]
fn conforms() {
    let host = AgentHost::spawn(agent_program(), Network::Machine).unwrap();
    let engine = CriEngine::new(None, agent_program(), host.agent_pid());
    if !available(&engine, host.as_ref()) {
        return;
    }
    let stage = AgentStage::beside(host, Box::new(engine));
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let mut setup = Setup::plain(&stage, None);
    setup.rootfs = Some(root.path());
    let report = run(&setup);
    assert_eq!(report.failures(), []);
    assert_eq!(report.matrix(), include_str!("matrix.txt"));
    // Without a network plugin a pod has the network of the node or none.
    let others = access(&setup).others();
    assert_eq!(others, ["access.own-network unsupported(isolation.net)"]);
}

/// Where the agent has a network of its own, the pods are in it: the engine refuses to say where they are otherwise.
#[test]
fn pods_are_in_the_agents_network() {
    let host = AgentHost::spawn(agent_program(), Network::Own).unwrap();
    let engine = CriEngine::new(None, agent_program(), host.agent_pid());
    if !available(&engine, host.as_ref()) {
        return;
    }
    let of = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    assert_ne!(of(host.agent_pid()), of(std::process::id()));
    let stage = AgentStage::beside(host, Box::new(engine));
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let mut setup = Setup::plain(&stage, None);
    setup.rootfs = Some(root.path());
    let report = run_some(&setup, |name| name == "life.locators-true");
    assert_eq!(report.cases[0].outcome, Outcome::Passed);
}
