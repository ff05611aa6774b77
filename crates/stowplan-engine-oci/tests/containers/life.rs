//! The life of services in containers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::common::{Run, bare, docker, is_root, located, run_once, wait_for_exit};
use stowplan_engine::{Deployment, Engine, Probe};
use stowplan_wire::deployment::{Access, EngineEventKind, Program, Select, StopMode};

/// A service `a` that sleeps once it is started.
fn created(run: &Run) -> Box<dyn Deployment> {
    let plan = run.plan(docker(), vec![run.service("a", &["sleep", "1000"])]);
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment
}

#[test]
fn a_service_is_created_started_stopped_and_removed() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let script = "trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 1000 & wait $!; done";
    let plan = run.plan(docker(), vec![run.service("a", &["/bin/sh", "-c", script])]);
    let mut deployment = run.prepare(&plan).unwrap();
    assert!(deployment.locators().unwrap().is_empty());
    deployment.create(&Select::All).unwrap();
    let locator = located(&*deployment)["a"].clone();
    assert_eq!(
        deployment.log("a", 100).unwrap(),
        "",
        "nothing runs before start"
    );
    assert_eq!(
        stowplan_host::process::start_ticks(locator.pid),
        Some(locator.start_ticks)
    );
    deployment.start(&Select::All).unwrap();
    // Starting what runs changes nothing.
    deployment.start(&Select::All).unwrap();
    while deployment.log("a", 100).unwrap() != "hello\n" {
        std::thread::yield_now();
    }
    deployment
        .stop(&Select::All, crate::common::TERMINATE)
        .unwrap();
    deployment.stop(&Select::All, StopMode::Kill).unwrap();
    assert_eq!(deployment.log("a", 4).unwrap(), "bye\n");
    deployment.destroy().unwrap();
    deployment.destroy().unwrap();
    let events = deployment.events(Duration::ZERO).unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    use EngineEventKind::{Created, Destroyed, Started};
    assert_eq!(kinds, [Created, Started, Destroyed]);
    assert!(events.is_sorted_by_key(|event| event.t_ns));
    assert!(deployment.locators().unwrap().is_empty());
    assert!(!Path::new(&format!("/proc/{}", locator.pid)).exists());
    assert_eq!(run.cgroups(), Vec::<std::path::PathBuf>::new());
    assert_eq!(run.mounts(), Vec::<String>::new());
}

#[test]
fn a_service_that_ends_can_be_made_again() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let plan = run.plan(docker(), vec![run.service("a", &["sh", "-c", "exit 3"])]);
    let mut deployment = run.prepare(&plan).unwrap();
    for _ in 0..3 {
        deployment.create(&Select::All).unwrap();
        deployment.create(&Select::All).unwrap();
        deployment.start(&Select::All).unwrap();
        assert_eq!(wait_for_exit(&mut *deployment, "a"), 3);
    }
    deployment.destroy().unwrap();
}

#[test]
fn a_frozen_service_stands_still_and_can_be_stopped() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let busy = ["sh", "-c", "while :; do :; done"];
    let plan = run.plan(
        docker(),
        vec![run.service("a", &busy), run.service("b", &busy)],
    );
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    deployment.pause("a").unwrap();
    let located = located(&*deployment);
    // CPU time in ns, proc(5).
    let used = |service: &str| -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", located[service].pid));
        let first = text.unwrap();
        first.split(' ').next().unwrap().parse().unwrap()
    };
    let (before, of_other) = (used("a"), used("b"));
    while used("b") < of_other + 20_000_000 {
        std::thread::yield_now();
    }
    assert_eq!(before, used("a"));
    deployment.resume("a").unwrap();
    deployment.pause("a").unwrap();
    deployment.stop(&Select::All, StopMode::Kill).unwrap();
    let events = deployment.events(Duration::ZERO).unwrap();
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(count(EngineEventKind::Paused), 2);
    assert_eq!(count(EngineEventKind::Resumed), 1);
}

/// Its first process could not be told to go on.
#[test]
fn a_frozen_service_is_started_after_it_was_resumed_only() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut deployment = created(&run);
    deployment.pause("a").unwrap();
    let error = deployment.start(&Select::All).unwrap_err();
    assert!(error.to_string().contains("frozen"), "{error}");
    deployment.resume("a").unwrap();
    deployment.start(&Select::All).unwrap();
    deployment.destroy().unwrap();
}

#[test]
fn stopping_ends_every_process_even_without_a_pid_namespace() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    // Children that leave the session and their parent.
    let script = "for i in 1 2 3; do setsid sleep 1000 & done; echo up; exec sleep 1000";
    let plan = run.plan(bare(), vec![run.service("a", &["sh", "-c", script])]);
    let mut deployment = run.prepare(&plan).unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    while deployment.log("a", 100).unwrap() != "up\n" {
        std::thread::yield_now();
    }
    let first = located(&*deployment)["a"].pid;
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
    deployment
        .stop(&Select::All, crate::common::TERMINATE)
        .unwrap();
    for pid in children.split_whitespace() {
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} is left"
        );
    }
}

#[test]
fn errors_name_the_service_and_what_is_wrong() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let fail = |isolation, service| {
        let plan = run.plan(isolation, vec![service]);
        let mut deployment = match run.prepare(&plan) {
            Ok(deployment) => deployment,
            Err(error) => return error,
        };
        deployment.create(&Select::All).unwrap_err()
    };
    let error = fail(docker(), run.service("a", &["/no/such/program"]));
    assert_eq!(error.service.as_deref(), Some("a"));
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    let log = fs::read_to_string(error.log.unwrap()).unwrap();
    assert!(log.starts_with("stowplan: libcontainer: "), "{log}");

    let mut service = run.service("b", &["/bin/true"]);
    service.program = Program::Command {
        command: vec!["/bin/true".into()],
        env: vec![],
        rootfs: Some("/no/such/root".into()),
        access: Access::default(),
    };
    let error = fail(docker(), service);
    assert!(error.to_string().contains("/no/such/root"), "{error}");

    let mut user = bare();
    user.user = true;
    let error = fail(user, run.service("c", &["/bin/true"]));
    assert!(error.to_string().contains("'user'"), "{error}");

    let mut limited = run.service("d", &["/bin/true"]);
    limited.limits.memory_bytes = Some(1 << 24);
    let error = fail(bare(), limited);
    assert!(error.to_string().contains("'cgroup'"), "{error}");
    assert_eq!(run.cgroups(), Vec::<std::path::PathBuf>::new());
}

/// What is executable by its mode and is no program passes `create`.
#[test]
fn a_start_fails_when_its_program_cannot_be_executed() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    // The run's folder may lie where nothing is executed.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, "\x7fELF and no more").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let services = vec![
        run.service("bad", &[program]),
        run.service("good", &["sleep", "1000"]),
    ];
    let mut deployment = run.prepare(&run.plan(bare(), services)).unwrap();
    deployment.create(&Select::All).unwrap();
    let error = deployment.start(&Select::All).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("bad"));
    let what = format!("cannot execute {program}");
    assert!(error.to_string().contains(&what), "{error}");
    let log = fs::read_to_string(error.log.unwrap()).unwrap();
    assert!(log.contains(&what), "{log}");
    deployment.destroy().unwrap();
    assert_eq!(run.cgroups(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_helper_that_is_gone_is_an_error_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let mut deployment = created(&run);
    deployment.start(&Select::All).unwrap();
    let locator = located(&*deployment)["a"].clone();
    let first = locator.pid;
    let status = fs::read_to_string(format!("/proc/{first}/status")).unwrap();
    let helper = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap()
        .trim();
    assert!(stowplan_host::process::kill_and_wait(
        helper.parse().unwrap(),
        crate::common::PATIENCE
    ));
    assert_eq!(wait_for_exit(&mut *deployment, "a"), 137);
    let error = deployment.start(&Select::All).unwrap_err();
    assert_eq!(error.service.as_deref(), Some("a"));
    deployment.stop(&Select::All, StopMode::Kill).unwrap();
    deployment.destroy().unwrap();
    assert_eq!(run.cgroups(), Vec::<std::path::PathBuf>::new());
    assert!(!stowplan_host::process::is_alive(
        first,
        locator.start_ticks
    ));
}

#[test]
fn the_environment_is_what_was_given_and_a_path() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let (status, log) = run_once(&run, docker(), &["env"]);
    assert_eq!(status, 0);
    let names: Vec<_> = log
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert_eq!(names, ["PATH"]);
}

#[test]
fn no_signal_is_blocked_or_ignored() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let (status, log) = run_once(
        &run,
        docker(),
        &["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"],
    );
    assert_eq!(status, 0);
    let masks: Vec<u64> = log
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
        .collect();
    // Signals 32 and 33 belong to the C library, which lets nobody change them.
    let ours = !(0b11 << 31);
    assert_eq!(
        masks.iter().map(|mask| mask & ours).collect::<Vec<_>>(),
        [0, 0]
    );
}

#[test]
fn a_probe_finds_out_by_trying() {
    if !is_root() {
        return;
    }
    let run = Run::new();
    let probe = crate::common::engine().probe(&*run.host);
    assert!(matches!(probe, Probe::Available { .. }), "{probe:?}");
    let broken = stowplan_engine_oci::OciEngine::with_helper(Path::new("/bin/false"), &[]);
    assert!(matches!(broken.probe(&*run.host), Probe::Absent { .. }));
}
