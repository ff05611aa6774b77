//! The conformance suite on containers, through the agent. Needs root.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::rc::Rc;

use stowplan_engine::{Engine, EngineError};
use stowplan_engine_conformance::{Setup, Stage, run};
use stowplan_host::Host;
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_testkit::{agent_program, private_state};
use stowplan_wire::deployment::IsolationPlan;

struct AgentStage {
    engine: RemoteEngine,
    host: Rc<AgentHost>,
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

fn conforms(isolation: IsolationPlan) {
    // SAFETY: geteuid(2) has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: containers need root here");
        return;
    }
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let host = AgentHost::spawn_with(agent_program(), &state).unwrap();
    let stage = AgentStage {
        engine: RemoteEngine::new(&host, "oci").unwrap(),
        host,
    };
    let mut setup = Setup::plain(&stage, None);
    setup.isolation = isolation;
    let report = run(&setup);
    assert_eq!(report.failures(), [], "{isolation:?}");
    let matrix = report.matrix();
    // This engine claims every capability of the suite.
    let others: Vec<_> = matrix
        .lines()
        .filter(|line| !line.ends_with(" passed"))
        .collect();
    assert_eq!(others, Vec::<&str>::new());
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
