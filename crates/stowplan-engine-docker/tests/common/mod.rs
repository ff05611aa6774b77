//! What tests on real daemons share.

use std::rc::Rc;

use stowplan_engine::{Engine, Probe};
use stowplan_engine_docker::DockerEngine;
use stowplan_remote::AgentHost;
use stowplan_testkit::shell_root;

/// A root file system with a shell.
pub struct Rootfs(tempfile::TempDir);

impl Rootfs {
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        shell_root(folder.path());
        Self(folder)
    }

    pub fn path(&self) -> String {
        self.0.path().display().to_string()
    }
}

/// Whether the engine can be used here; one that has to be there fails.
pub fn available(engine: &DockerEngine, host: &Rc<AgentHost>) -> bool {
    let Probe::Absent { reason, hint } = engine.probe(host.as_ref()) else {
        return true;
    };
    let name = engine.name();
    let required = std::env::var("STOWPLAN_REQUIRE_ENGINES").unwrap_or_default();
    assert!(
        !required.split(',').any(|required| required == name),
        "engine '{name}' is required and absent: {reason}"
    );
    eprintln!("skipped: {name} is not available here: {reason} ({hint})");
    false
}
