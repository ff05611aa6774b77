//! The conformance suite on containers of crun, in a containerd of the test's own. Needs both, and root.

use std::path::Path;
use std::process::Command;

use stowplan_engine::Engine;
use stowplan_engine_conformance::conforms_as;
use stowplan_engine_cri::{CriEngine, ENGINE};
use stowplan_testkit::{OwnDaemon, said_by};

/// The only test of this program: the engine finds its daemon by the environment.
#[test]
fn crun_conforms_where_control_groups_have_one_version() {
    if said_by(Command::new("crun").arg("--version")).is_none() {
        return;
    }
    let Some(own) = OwnDaemon::start_with_one_version(ENGINE) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(CriEngine::new(None, agent, network_of))
    };
    let scratch = env!("CARGO_TARGET_TMPDIR");
    let matrix = include_str!("matrix.txt");
    conforms_as(&make, Some("crun"), scratch, matrix, &[]);
}
