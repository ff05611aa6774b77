//! The real agent, through its pipe.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod raw;

use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use raw::Raw;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_host::facts::LOOPBACK_MULTICAST;
use stowplan_host::{Host, ledger, network};
use stowplan_remote::{AgentHost, Network, RemoteEngine};
use stowplan_site::Site as _;
use stowplan_testkit::{agent_program, command_plan, private_state};
use stowplan_wire::agent::{Answer, Call};
use stowplan_wire::deployment::{EngineEventKind, Select, StopMode};

fn spawn() -> Rc<AgentHost> {
    let state = private_state().as_os_str();
    AgentHost::spawn_with(agent_program(), &[("STOWPLAN_STATE", state)]).unwrap()
}

fn prepare(
    host: &Rc<AgentHost>,
    run: &str,
    commands: &[(&str, &[&str])],
) -> Result<Box<dyn Deployment>, EngineError> {
    let run_dir = host.open_run(run, vec![], String::new(), 0)?;
    let plan = command_plan(run, &run_dir, Some("flat"), commands);
    RemoteEngine::new(host, "bare")?.prepare(&plan, host.clone())
}

#[test]
fn a_service_starts_is_found_and_stops() {
    let host = spawn();
    let mut deployment = prepare(
        &host,
        "life",
        &[
            ("one", &["sleep", "1000"]),
            ("two", &["sh", "-c", "echo hello; exit 3"]),
        ],
    )
    .unwrap();
    let before = host.clock().unwrap();
    deployment.create(&Select::All).unwrap();
    deployment.start(&Select::All).unwrap();
    let mut events = Vec::new();
    while events.len() < 5 {
        events.extend(deployment.events(Duration::from_secs(60)).unwrap());
    }
    let two: Vec<_> = events
        .iter()
        .filter(|event| event.service == "two")
        .map(|event| event.kind)
        .collect();
    assert_eq!(
        two,
        [
            EngineEventKind::Created,
            EngineEventKind::Started,
            EngineEventKind::Exited(3)
        ]
    );
    assert!(events.is_sorted_by_key(|event| event.t_ns) && events[0].t_ns >= before);
    let locators = deployment.locators().unwrap();
    assert_eq!(locators.len(), 2);
    assert!(Path::new(&format!("/proc/{}", locators[0].pid)).exists());
    let how = StopMode::Terminate { grace_ms: 10_000 };
    deployment.stop(&Select::All, how).unwrap();
    assert!(!Path::new(&format!("/proc/{}", locators[0].pid)).exists());
    assert_eq!(deployment.log("two", 100).unwrap(), "hello\n");
    deployment.destroy().unwrap();
    deployment.destroy().unwrap();
    host.close_run().unwrap();
    assert!(!Path::new("/dev/shm/stowplan-life").exists());
}

#[test]
fn another_build_is_refused() {
    let host = spawn();
    let error = host
        .call(Call::Hello {
            build_id: "0.0.0-0".to_owned(),
        })
        .unwrap_err();
    assert!(error.to_string().contains("0.0.0-0"), "{error}");
    assert!(error.hint.unwrap().contains("same build"));
}

#[test]
fn an_agent_that_dies_is_told_with_what_it_was_doing() {
    let host = spawn();
    let pid = rustix::process::Pid::from_raw(host.agent_pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let error = host.quiet(0).unwrap_err();
    assert!(error.to_string().contains("during Quiet"), "{error}");
    assert!(error.to_string().contains("signal: 9"), "{error}");
    assert!(error.hint.unwrap().contains("stowplan clean"));
    assert!(host.clock().is_err());
}

#[test]
fn when_the_caller_goes_nothing_is_left() {
    let mut agent = Raw::spawn(Command::new(agent_program()));
    let run_dir = agent.open_run("gone");
    let plan = Box::new(command_plan(
        "gone",
        &run_dir,
        Some("grouped"),
        &[("one", &["/bin/sh", "-c", "sleep 1000 & sleep 1000"])],
    ));
    let engine = "bare".to_owned();
    agent.call(Call::Prepare { engine, plan });
    agent.call(Call::Create(Select::All));
    agent.call(Call::Start(Select::All));
    let Answer::Locators(locators) = agent.call(Call::Locators) else {
        panic!("no locators")
    };
    assert!(Path::new(&run_dir).exists());
    agent.input = None;
    assert!(agent.child.wait().unwrap().success());
    let left = stowplan_host::process::start_ticks(locators[0].pid);
    assert_ne!(left, Some(locators[0].start_ticks));
    assert!(!Path::new(&run_dir).exists());
    assert!(!locators[0].cgroups.is_empty());
    for path in locators[0].cgroups.values() {
        assert!(!Path::new(path).exists(), "{path} is left");
    }
}

#[test]
fn what_is_no_request_is_answered_with_an_error() {
    let mut agent = Raw::spawn(Command::new(agent_program()));
    let failure = agent.line("{\"id\": 9, \"call\": \"dance\"}");
    assert_eq!(failure.id, 9);
    assert!(failure.result.unwrap_err().message.contains("dance"));
    assert!(agent.line("nonsense").result.is_err());
    assert!(matches!(agent.call(Call::Clock), Answer::Clock(_)));
    drop(agent.input.take());
    assert!(agent.child.wait().unwrap().success());
}

#[test]
fn when_the_agent_is_killed_services_end_and_the_rest_is_cleaned() {
    let state = private_state().join("killed");
    std::fs::create_dir_all(&state).unwrap();
    let mut command = Command::new(agent_program());
    command.env("STOWPLAN_STATE", &state);
    let mut agent = Raw::spawn(command);
    let run_dir = agent.open_run("killed");
    let script: [&str; 3] = ["/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"];
    let plan = command_plan("killed", &run_dir, Some("flat"), &[("one", &script)]);
    agent.call(Call::Prepare {
        engine: "bare".to_owned(),
        plan: Box::new(plan),
    });
    agent.call(Call::Create(Select::All));
    agent.call(Call::Start(Select::All));
    let Answer::Locators(locators) = agent.call(Call::Locators) else {
        panic!("no locators")
    };
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let cleaned = ledger::clean(&state, &mut |_, _| Ok(false)).unwrap();
    assert_eq!(
        (cleaned.runs.len(), cleaned.failed.len()),
        (1, 0),
        "{cleaned:?}"
    );
    assert!(!Path::new(&run_dir).exists());
    for path in locators[0].cgroups.values() {
        assert!(!Path::new(path).exists(), "{path} is left");
    }
    assert!(!stowplan_host::process::is_alive(
        locators[0].pid,
        locators[0].start_ticks
    ));
}

#[test]
fn an_agent_with_a_network_of_its_own_has_multicast_there_and_leaves_the_machine_s_alone() {
    let multicast = |host: &AgentHost| host.facts().unwrap().settings[LOOPBACK_MULTICAST].clone();
    let before = network::loopback_has_multicast().unwrap();
    let own = AgentHost::spawn(agent_program(), Network::Own).unwrap();
    if network::may_have_own() {
        assert_eq!(multicast(&own), "yes");
    } else {
        assert_eq!(multicast(&own), multicast(&spawn()));
    }
    assert_eq!(network::loopback_has_multicast().unwrap(), before);
    assert_eq!(multicast(&spawn()), if before { "yes" } else { "no" });
}
