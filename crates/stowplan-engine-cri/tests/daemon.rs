//! A containerd that is killed while services run: nothing of the run goes on.

use std::path::Path;
use std::time::Duration;

use stowplan_engine::Engine;
use stowplan_engine_conformance::Bench;
use stowplan_engine_cri::{CriEngine, ENGINE, remove};
use stowplan_engine_daemon::container_entry;
use stowplan_host::cgroup::top_folders;
use stowplan_host::ledger::DaemonVariables;
use stowplan_host::process::is_alive;
use stowplan_testkit::{OwnDaemon, ShellRoot};
use stowplan_wire::deployment::Select;

/// The only test of this program: the engine finds its daemon by the environment.
#[test]
fn services_end_with_the_run_though_nobody_can_be_asked_to_end_them() {
    let Some(mut own) = OwnDaemon::start(ENGINE) else {
        return;
    };
    // SAFETY: no other thread of this program reads or writes the environment.
    unsafe { own.use_here() };
    let root = ShellRoot::below(env!("CARGO_TARGET_TMPDIR"));
    let make = |agent: &Path, network_of| -> Box<dyn Engine> {
        Box::new(CriEngine::new(None, agent, network_of))
    };
    let bench = Bench::open(make, &root, "killed", 2).unwrap();
    let mut deployment = bench.prepare().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let services = deployment.locators().unwrap();
    let group = format!("stowplan-{}", bench.plan.run);
    let has_group = || top_folders(&group).unwrap().iter().any(|f| f.exists());
    assert!(has_group());
    own.kill();
    let error = deployment.events(Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.to_string(), "containerd has ended");
    assert!(error.hint.unwrap().contains("stowplan clean"));
    deployment.destroy().unwrap_err();
    for service in &services {
        assert!(!is_alive(service.pid, service.start_ticks), "{service:?}");
    }
    assert!(!has_group());
    own.start_again();
    // Asked about something, it is waited for: it listens before it answers.
    let none = container_entry(ENGINE, "none");
    assert!(!remove(&none, &DaemonVariables::of_this_process()).unwrap());
    deployment.destroy().unwrap();
    drop(deployment);
    bench.close().unwrap();
    assert_eq!(own.user().left_by(std::process::id()), Vec::<String>::new());
}
