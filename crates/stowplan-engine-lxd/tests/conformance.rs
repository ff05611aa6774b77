//! The conformance suite on the real servers. Needs them to run, and root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has
//! to be there.

use std::path::Path;

use stowplan_engine::{Engine, SharedNetwork};
use stowplan_engine_conformance::{conforms, joins_the_agents_network};
use stowplan_engine_lxd::{LxdEngine, Server};

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");
const MATRIX: &str = include_str!("matrix.txt");

fn engine(server: Server) -> impl Fn(&Path, SharedNetwork) -> Box<dyn Engine> {
    move |agent, network_of| Box::new(LxdEngine::new(server, agent, network_of))
}

#[test]
fn lxd() {
    conforms(&engine(Server::Lxd), SCRATCH, MATRIX, &[]);
}

#[test]
fn incus() {
    conforms(&engine(Server::Incus), SCRATCH, MATRIX, &[]);
}

#[test]
fn lxd_joins_the_agents_network() {
    joins_the_agents_network(&engine(Server::Lxd), SCRATCH);
}

#[test]
fn incus_joins_the_agents_network() {
    joins_the_agents_network(&engine(Server::Incus), SCRATCH);
}
