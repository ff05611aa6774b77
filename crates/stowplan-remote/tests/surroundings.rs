//! The agent where it has less than it wants: no root, few open files, no room.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod raw;

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use raw::Raw;
use stowplan_testkit::{agent_program, command_plan, is_root, service_plan};
use stowplan_wire::agent::{Answer, Call};
use stowplan_wire::deployment::Select;

fn prepare(variant: &str, run: &str, run_dir: &str, script: &str) -> Call {
    let command: [&str; 3] = ["/bin/sh", "-c", script];
    Call::Prepare {
        engine: "bare".to_owned(),
        plan: Box::new(command_plan(
            run,
            run_dir,
            Some(variant),
            &[("a", &command)],
        )),
    }
}

/// Starts the one service and gives its log when it has ended.
fn log_of_run(agent: &mut Raw) -> String {
    agent.call(Call::Create(Select::All));
    agent.call(Call::Start(Select::All));
    let mut events = 0;
    while events < 3 {
        let Answer::Watched { engine, .. } = agent.call(Call::Watch { timeout_ms: 60_000 }) else {
            panic!("no events")
        };
        events += engine.len();
    }
    let service = "a".to_owned();
    let Answer::Log(log) = agent.call(Call::Log {
        service,
        bytes: 1000,
    }) else {
        panic!("no log")
    };
    log
}

#[test]
fn services_have_the_limit_of_open_files_that_the_agent_was_started_with() {
    let mut command = Command::new("/bin/sh");
    let program = agent_program().display().to_string();
    command.args(["-c", "ulimit -Sn 200; exec \"$0\"", &program]);
    let mut agent = Raw::spawn(command);
    let run_dir = agent.open_run("open-files");
    agent.call(prepare("flat", "open-files", &run_dir, "ulimit -Sn"));
    assert_eq!(log_of_run(&mut agent), "200\n");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", agent.child.id())).unwrap();
    let line = limits
        .lines()
        .find(|l| l.starts_with("Max open files"))
        .unwrap();
    assert_ne!(line.split_whitespace().nth(3), Some("200"));
    agent.input = None;
    assert!(agent.child.wait().unwrap().success());
}

/// A user who is not root and owns nothing.
const NOBODY: u32 = 65_534;

#[test]
fn without_root_flat_does_without_groups_and_grouped_says_what_to_do() {
    if !is_root("become another user") {
        return;
    }
    let own = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::set_permissions(own.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (program, state) = (own.path().join("agent"), own.path().join("state"));
    std::fs::copy(agent_program(), &program).unwrap();
    std::fs::create_dir(&state).unwrap();
    chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = Command::new(&program);
    command
        .uid(NOBODY)
        .gid(NOBODY)
        .env("STOWPLAN_STATE", &state);
    let mut agent = Raw::spawn(command);
    let run = format!("nobody-{}", std::process::id());
    let run_dir = agent.open_run(&run);

    let failure = agent
        .try_call(prepare("grouped", &run, &run_dir, "true"))
        .unwrap_err();
    assert!(failure.message.contains("Permission denied"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("root"));

    let Answer::Prepared(prepared) =
        agent.call(prepare("flat", &run, &run_dir, "echo free; exit 4"))
    else {
        panic!("not prepared")
    };
    assert!(
        prepared.deviations[0].contains("no control groups"),
        "{prepared:?}"
    );
    assert_eq!(log_of_run(&mut agent), "free\n");
    let Answer::Locators(locators) = agent.call(Call::Locators) else {
        panic!("no locators")
    };
    assert!(locators[0].cgroups.is_empty());
    agent.input = None;
    assert!(agent.child.wait().unwrap().success());
    assert!(!Path::new(&run_dir).exists());
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0);
}

#[test]
fn a_state_folder_of_somebody_else_is_refused() {
    let mut command = Command::new(agent_program());
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let done = command.env("STOWPLAN_STATE", open.path()).output().unwrap();
    assert!(!done.status.success());
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("can be written by others"), "{said}");
}

#[test]
fn no_room_for_trace_buffers_leaves_nothing() {
    let mut agent = Raw::spawn(Command::new(agent_program()));
    let failure = agent
        .try_call(Call::OpenRun {
            run: "no-room".to_owned(),
            services: vec![service_plan("no-room", "a")],
            cyclonedds_xml: String::new(),
            ring_bytes: 1 << 50,
        })
        .unwrap_err();
    assert!(failure.message.contains("p.ring"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("smaller trace buffers"));
    assert!(!Path::new("/dev/shm/stowplan-no-room").exists());
    // The agent goes on.
    let run_dir = agent.open_run("room");
    assert!(Path::new(&run_dir).exists());
    agent.call(Call::CloseRun);
    assert!(!Path::new(&run_dir).exists());
}
