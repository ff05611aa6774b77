//! What real programs have of the host, as whom and where they run, for every engine that is a command line.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use stowplan_engine::{Engine, Probe};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_testkit::{agent_program, command_plan, private_state};
use stowplan_wire::deployment::{Access, BindMount, EngineEventKind, Program, Select};

const SCRIPT: &str = "id -un; pwd; cat /maps/lane; echo new > /maps/x || echo read-only; \
                      echo kept > '/my scratch/file'; head -c 0 /dev/full && echo device; \
                      echo written > /tmp/in-the-container; exit 4";

fn is_given(engine: &str) {
    let state = [("STOWPLAN_STATE", private_state().as_os_str())];
    let agent = AgentHost::spawn_with(agent_program(), &state).unwrap();
    let remote = RemoteEngine::new(&agent, engine).unwrap();
    if let Probe::Absent { reason, .. } = remote.probe(&*agent) {
        eprintln!("skipped: {engine}: {reason}");
        return;
    }
    let of_host = tempfile::tempdir().unwrap();
    fs::set_permissions(of_host.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(of_host.path().join("lane"), "left\n").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mount = |from: &tempfile::TempDir, to: &str, read_only| BindMount {
        from: from.path().display().to_string(),
        to: to.to_owned(),
        read_only,
    };
    let run = format!("access-{engine}-{}", std::process::id());
    let folder = agent.open_run(&run, vec![], String::new(), 0).unwrap();
    let mut plan = command_plan(&run, &folder, None, &[("a", &["sh", "-c", SCRIPT])]);
    if let Program::Command { access, .. } = &mut plan.services[0].program {
        *access = Access {
            mounts: vec![
                mount(&of_host, "/maps", true),
                mount(&scratch, "/my scratch", false),
            ],
            devices: vec!["/dev/full".to_owned()],
            user: Some("nobody".to_owned()),
            working_dir: Some("/maps".to_owned()),
        };
    }
    let mut deployment = remote.prepare(&plan, agent.clone()).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let mut seen = Vec::new();
    let ended = EngineEventKind::Exited(4);
    while !seen.contains(&ended) {
        let events = deployment.events(Duration::from_secs(60)).unwrap();
        assert!(!events.is_empty(), "{engine}: only {seen:?}");
        seen.extend(events.iter().map(|event| event.kind));
    }
    let log = deployment.log("a", 1 << 16).unwrap();
    for line in ["nobody", "/maps", "left", "read-only", "device"] {
        let said = log.lines().any(|said| said == line);
        assert!(said, "{engine}: '{line}' in {log}");
    }
    let kept = fs::read_to_string(scratch.path().join("file")).unwrap();
    assert_eq!(kept, "kept\n", "{engine}");
    assert!(!of_host.path().join("x").exists(), "{engine}");
    deployment.destroy().unwrap();
    drop(deployment);
    agent.close_run().unwrap();
    // What a container writes goes with it.
    assert!(!fs::exists("/tmp/in-the-container").unwrap(), "{engine}");
}

#[test]
fn of_nspawn() {
    is_given("nspawn");
}

#[test]
fn of_lxc() {
    is_given("lxc");
}
