//! The conformance suite on the real daemons. Needs them to run, and root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has
//! to be there.

use std::path::Path;

use stowplan_engine::{Engine, SharedNetwork};
use stowplan_engine_conformance::{conforms, joins_the_agents_network};
use stowplan_engine_docker::swarm::SwarmEngine;
use stowplan_engine_docker::{Daemon, DockerEngine};

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");
const MATRIX: &str = include_str!("matrix.txt");
const MATRIX_OF_PODMAN: &str = include_str!("matrix-podman.txt");
/// On a kernel that accounts for swap, of which a limit of a swarm says nothing.
const MATRIX_OF_SWARM: &str = include_str!("matrix-swarm.txt");

fn engine(daemon: Daemon) -> impl Fn(&Path, SharedNetwork) -> Box<dyn Engine> {
    move |agent, network_of| Box::new(DockerEngine::new(daemon, agent, network_of))
}

#[test]
fn docker() {
    conforms(&engine(Daemon::Docker), SCRATCH, MATRIX, &[]);
}

#[test]
fn podman() {
    conforms(&engine(Daemon::Podman), SCRATCH, MATRIX_OF_PODMAN, &[]);
}

#[test]
fn swarm() {
    let engine = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(SwarmEngine::new(agent, network_of))
    };
    let others = [
        "access.device unsupported(program.devices)",
        "access.own-network unsupported(isolation.net)",
        "access.host-ipc unsupported(isolation.ipc)",
    ];
    conforms(&engine, SCRATCH, MATRIX_OF_SWARM, &others);
}

#[test]
fn docker_joins_the_agents_network() {
    joins_the_agents_network(&engine(Daemon::Docker), SCRATCH);
}

#[test]
fn podman_joins_the_agents_network() {
    joins_the_agents_network(&engine(Daemon::Podman), SCRATCH);
}
