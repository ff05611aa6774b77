//! The conformance suite on the real server. Needs it to run, and root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has to
//! be there.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use stowplan_engine_conformance::{AgentStage, Outcome, Setup, access, run, run_some};
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{ShellRoot, agent_program, available};

fn conforms(server: Server) {
    let host = AgentHost::spawn(agent_program(), Network::Machine).unwrap();
    let engine = LxdEngine::new(server, agent_program(), host.agent_pid());
    if !available(&engine, host.as_ref()) {
        return;
    }
    let stage = AgentStage::beside(host, Box::new(engine));
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let mut setup = Setup::plain(&stage, None);
    setup.rootfs = Some(root.path());
    let report = run(&setup);
    assert_eq!(report.failures(), [], "{server:?}");
    assert_eq!(report.matrix(), include_str!("matrix.txt"), "{server:?}");
    let others = access(&setup).others();
    assert_eq!(others, Vec::<String>::new(), "{server:?}");
}

#[test]
fn lxd() {
    conforms(Server::Lxd);
}

#[test]
fn incus() {
    conforms(Server::Incus);
}

/// Where the agent has a network of its own, the instances are in it: the engine refuses to say where they are
/// otherwise.
fn joins_the_agents_network(server: Server) {
    let host = AgentHost::spawn(agent_program(), Network::Own).unwrap();
    let engine = LxdEngine::new(server, agent_program(), host.agent_pid());
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
    assert_eq!(report.cases[0].outcome, Outcome::Passed, "{server:?}");
}

#[test]
fn lxd_joins_the_agents_network() {
    joins_the_agents_network(Server::Lxd);
}

#[test]
fn incus_joins_the_agents_network() {
    joins_the_agents_network(Server::Incus);
}
