//! Podman begins the file of its events anew, and ends its answer to who listens.

use std::path::Path;
use std::time::Duration;

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_host::Host;
use stowplan_testkit::{OwnDaemon, ShellRoot};
use stowplan_wire::deployment::{EngineEventKind, Select, StopMode};

/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(60);

/// The only test of this program: the engine finds its daemon by the environment.
#[test]
fn all_is_told_once_where_the_daemon_ends_its_answer() {
    let Some(own) = OwnDaemon::start(Daemon::Podman.name()) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(DockerEngine::new(Daemon::Podman, agent, network_of))
    };
    let bench = Bench::open(make, &root, "events", 1).unwrap();
    let mut deployment = bench.prepare().unwrap();
    let (mut expected, mut seen) = (Vec::new(), Vec::new());
    let mut after_a_cut = 0;
    while after_a_cut < 3 {
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        bench
            .host
            .kill_tree(&deployment.locators().unwrap()[0])
            .unwrap();
        expected.push(EngineEventKind::Exited(128 + 9));
        while seen.len() < expected.len() {
            let events = deployment.events(PATIENCE).unwrap();
            assert!(!events.is_empty(), "only {} ends were told", seen.len());
            let kinds = events.into_iter().map(|event| event.kind);
            seen.extend(kinds.filter(|kind| matches!(kind, EngineEventKind::Exited(_))));
        }
        assert_eq!(seen, expected);
        deployment.stop(&Select::All, StopMode::Kill).unwrap();
        after_a_cut += usize::from(own.has_cut_its_events());
    }
    deployment.destroy().unwrap();
    drop(deployment);
    bench.close().unwrap();
}
