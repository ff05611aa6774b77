//! The suite on an engine with a daemon: it runs beside the agent, which is its host.

use std::path::Path;

use stowplan_engine::{Engine, SharedNetwork};
use stowplan_host::network;
use stowplan_remote::{AgentHost, Network};
use stowplan_testkit::{ShellRoot, agent_program, available};

use crate::{AgentStage, Setup, access, run, run_some};

/// Makes an engine, of the agent program, for services in the network of a process.
pub type Make<'a> = &'a dyn Fn(&Path, SharedNetwork) -> Box<dyn Engine>;

/// Runs every case of [`run`] and of [`access`], where the engine is available; a root file system for services is made
/// below `scratch`. Those of `run` have to give this matrix, of those of `access` all but `others` to pass.
///
/// # Panics
/// When they do not, when there is no agent, or when the engine is not available and `$STOWPLAN_REQUIRE_ENGINES` names it.
pub fn conforms(make: Make<'_>, scratch: &str, matrix: &str, others: &[&str]) {
    conforms_as(make, None, scratch, matrix, others);
}

/// The same on a variant of the engine.
///
/// # Panics
/// As [`conforms`].
pub fn conforms_as(
    make: Make<'_>,
    variant: Option<&str>,
    scratch: &str,
    matrix: &str,
    others: &[&str],
) {
    beside(make, variant, Network::Machine, scratch, |setup| {
        let report = run(setup);
        assert_eq!(report.failures(), [], "{}", report.engine);
        assert_eq!(report.matrix(), matrix, "{}", report.engine);
        assert_eq!(access(setup).others(), others, "{}", report.engine);
    });
}

/// Runs the case that says where services are, with an agent in a network of its own: there they have to be, or the engine
/// refuses to say where they are.
///
/// # Panics
/// When they are not, and as [`conforms`].
pub fn joins_the_agents_network(make: Make<'_>, scratch: &str) {
    beside(make, None, Network::Own, scratch, |setup| {
        let report = run_some(setup, |name| name == "life.locators-true");
        let located = "life.locators-true passed\n";
        assert_eq!(report.matrix(), located, "{}", report.engine);
    });
}

fn beside(
    make: Make<'_>,
    variant: Option<&str>,
    network: Network,
    scratch: &str,
    check: impl FnOnce(&Setup<'_>),
) {
    let host = AgentHost::spawn(agent_program(), network).expect("there is an agent");
    let shared = host.shared_network();
    let engine = make(agent_program(), shared);
    if !available(engine.as_ref(), host.as_ref()) {
        return;
    }
    let apart = network::of_process(shared.of_process) != network::of_process(std::process::id());
    assert_eq!(apart, network == Network::Own);
    let stage = AgentStage::beside(host, engine);
    let root = ShellRoot::below(scratch);
    let mut setup = Setup::plain(&stage, variant);
    setup.rootfs = Some(root.path());
    check(&setup);
}
