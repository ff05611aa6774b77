//! The conformance suite on containers, through the agent. Needs root.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use stowplan_engine_conformance::{AgentStage, Setup, access, run};
use stowplan_remote::AgentHost;
use stowplan_testkit::{agent_program, is_root, private_state};
use stowplan_wire::deployment::IsolationPlan;

fn conforms(isolation: IsolationPlan) {
    if !is_root("make containers") {
        return;
    }
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
    let stage = AgentStage::new(host, "oci").unwrap();
    let mut setup = Setup::plain(&stage, None);
    setup.isolation = isolation;
    let report = run(&setup);
    // This engine claims every capability of the suite but a restart policy and health checks.
    let others = report.others();
    let expected = [
        "ends.restarted unsupported(restarts)",
        "ends.unhealthy unsupported(health)",
    ];
    assert_eq!(others, expected, "{isolation:?}");
    if isolation.mount {
        let others = access(&setup).others();
        assert_eq!(others, Vec::<String>::new(), "{isolation:?}");
    }
}

#[test]
fn with_a_cgroup_alone() {
    conforms(IsolationPlan {
        cgroup: true,
        ..IsolationPlan::default()
    });
}

#[test]
fn isolated_as_docker_does() {
    conforms(IsolationPlan::CONTAINER);
}
