//! The conformance suite on a real containerd. Needs it to run, and root; an engine in `$STOWPLAN_REQUIRE_ENGINES` has to
//! be there.

use std::path::Path;

use stowplan_engine::{Engine, SharedNetwork};
use stowplan_engine_conformance::{conforms, joins_the_agents_network};
use stowplan_engine_cri::CriEngine;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

fn engine(agent: &Path, network_of: SharedNetwork) -> Box<dyn Engine> {
    Box::new(CriEngine::new(None, agent, network_of))
}

#[test]
fn containerd() {
    conforms(&engine, SCRATCH, include_str!("matrix.txt"), &[]);
}

#[test]
fn pods_are_in_the_agents_network() {
    joins_the_agents_network(&engine, SCRATCH);
}
