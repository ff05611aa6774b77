//! A server that dies under its services and comes back: they go on, and what happened meanwhile is found out.

use std::path::Path;
use std::time::Duration;

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_host::Host;
use stowplan_host::process::is_alive;
use stowplan_testkit::{OwnDaemon, ShellRoot};
use stowplan_wire::deployment::{EngineEventKind, Select};

/// The only test of this program: the engine finds its server by the environment.
#[test]
fn who_ended_while_nobody_listened_is_told_once_the_server_is_back() {
    let Some(mut own) = OwnDaemon::start(Server::Lxd.name()) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(LxdEngine::new(Server::Lxd, agent, network_of))
    };
    let bench = Bench::open(make, &root, "outage", 2).unwrap();
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let locators = deployment.locators().unwrap();
    own.kill();
    bench.host.kill_tree(&locators[0]).unwrap();
    let error = deployment.events(Duration::ZERO).unwrap_err();
    assert!(error.hint.unwrap().contains("start it with"));
    assert!(is_alive(locators[1].pid, locators[1].start_ticks));
    own.start_again();
    let mut seen = Vec::new();
    while !seen.contains(&("s0".to_owned(), EngineEventKind::Exited(128 + 9))) {
        let events = deployment.events(Duration::from_secs(60)).unwrap();
        assert!(!events.is_empty(), "only {seen:?}");
        seen.extend(events.into_iter().map(|event| (event.service, event.kind)));
    }
    let ended = |service: &str| {
        let of = seen.iter().filter(|(name, _)| name == service);
        of.filter(|(_, kind)| matches!(kind, EngineEventKind::Exited(_)))
            .count()
    };
    assert_eq!((ended("s0"), ended("s1")), (1, 0), "{seen:?}");
    deployment.destroy().unwrap();
    drop(deployment);
    bench.close().unwrap();
}
