//! The conformance suite on a real Kubernetes. Needs one whose node is this machine, and root; an engine in
//! `$STOWPLAN_REQUIRE_ENGINES` has to be there.

use std::path::Path;

use stowplan_engine::{Engine, Probe, SharedNetwork, WITH_HOST_NETWORK};
use stowplan_engine_conformance::conforms;
use stowplan_engine_kube::KubeEngine;
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::agent_program;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

fn engine(agent: &Path, network_of: SharedNetwork) -> Box<dyn Engine> {
    Box::new(KubeEngine::new(agent, network_of))
}

#[test]
fn kubernetes() {
    conforms(
        &engine,
        SCRATCH,
        include_str!("matrix.txt"),
        &["access.device unsupported(program.devices)"],
    );
}

/// Pods are in the network of their node: one that the agent has for itself is none of theirs.
#[test]
fn a_network_that_no_pod_can_have_is_refused_with_its_reason() {
    let machine = AgentHost::spawn(agent_program(), Network::Machine).unwrap();
    let own = AgentHost::spawn(agent_program(), Network::Own).unwrap();
    let on_machine = engine(agent_program(), machine.shared_network());
    if !stowplan_testkit::available(on_machine.as_ref(), machine.as_ref()) {
        return;
    }
    let probe = engine(agent_program(), own.shared_network()).probe(own.as_ref());
    let Probe::Absent { reason, hint } = probe else {
        panic!("{probe:?}");
    };
    assert!(reason.contains("network of the run"), "{reason}");
    assert_eq!(hint, WITH_HOST_NETWORK);
}
