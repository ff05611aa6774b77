//! What killed agents leave, and two agents side by side, for every engine that is a command line.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_host::ledger;
use stowplan_host::process::kill_and_wait;
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::Site as _;
use stowplan_testkit::{agent_program, available, command_plan, left_of, private_state};
use stowplan_wire::deployment::{EngineEventKind, Locator, Select};

const ENGINES: [&str; 2] = ["nspawn", "lxc"];

/// Longest wait for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

type Agent = Rc<AgentHost>;

fn agent(state: &Path, more: &[(&str, &OsStr)]) -> Agent {
    let state = [("STOWPLAN_STATE", state.as_os_str())];
    AgentHost::spawn_with(agent_program(), &[&state, more].concat()).unwrap()
}

/// Those that are there.
fn engines() -> Vec<&'static str> {
    let agent = agent(private_state(), &[]);
    let is_there = |name: &&str| {
        let engine = RemoteEngine::new(&agent, name).unwrap();
        available(&engine, &*agent)
    };
    ENGINES.into_iter().filter(is_there).collect()
}

fn run_name(engine: &str, what: &str) -> String {
    format!("{engine}-{what}-{}", std::process::id())
}

fn start(
    agent: &Agent,
    engine: &str,
    run: &str,
    services: usize,
) -> Result<Box<dyn Deployment>, EngineError> {
    let names: Vec<String> = (0..services).map(|number| format!("s{number}")).collect();
    let command: &[&str] = &["sleep", "1000"];
    let commands: Vec<_> = names.iter().map(|name| (name.as_str(), command)).collect();
    let folder = agent.open_run(run, vec![], String::new(), 0)?;
    let plan = command_plan(run, &folder, None, &commands);
    let mut deployment = RemoteEngine::new(agent, engine)?.prepare(&plan, agent.clone())?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    Ok(deployment)
}

fn is_alive(locator: &Locator) -> bool {
    stowplan_host::process::is_alive(locator.pid, locator.start_ticks)
}

#[test]
fn an_agent_killed_at_any_entry_of_its_ledger_leaves_what_the_ledger_names() {
    for engine in engines() {
        let mut entries = 0;
        loop {
            entries += 1;
            let state = tempfile::tempdir().unwrap();
            let fault = format!("ledger:{entries}");
            let agent = agent(state.path(), &[("STOWPLAN_FAULT", fault.as_ref())]);
            let run = run_name(engine, &format!("fault{entries}"));
            let started = start(&agent, engine, &run, 2).is_ok();
            drop(agent);
            let cleaned = ledger::clean(state.path(), &mut |_, _| Ok(false)).unwrap();
            assert_eq!(cleaned.failed, Vec::<String>::new(), "{engine} {entries}");
            assert_eq!(left_of(&run), Vec::<String>::new(), "{engine} {entries}");
            if started {
                break;
            }
        }
        // At least the run folder, the groups and the two processes.
        assert!(entries > 6, "{engine}: only {entries} entries");
    }
}

#[test]
fn an_agent_killed_while_services_run_leaves_what_the_ledger_names() {
    for engine in engines() {
        let state = tempfile::tempdir().unwrap();
        let run = run_name(engine, "killed");
        let agent = agent(state.path(), &[]);
        let deployment = start(&agent, engine, &run, 3).unwrap();
        let located = deployment.locators().unwrap();
        assert!(
            located.len() == 3 && located.iter().all(is_alive),
            "{engine}"
        );
        // As systemd-nspawn leaves it when it is killed while it makes a root.
        let scratch = Path::new("/tmp").join(format!("nspawn-volatile-{run}"));
        if engine == "nspawn" {
            std::fs::create_dir(&scratch).unwrap();
        }
        let other_run = run_name(engine, "other");
        let other = self::agent(private_state(), &[]);
        let others = start(&other, engine, &other_run, 2).unwrap();
        let untouched = others.locators().unwrap();
        let pid = rustix::process::Pid::from_raw(agent.agent_pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        drop(deployment);
        let cleaned = ledger::clean(state.path(), &mut |_, _| Ok(false)).unwrap();
        assert_eq!(cleaned.failed, Vec::<String>::new(), "{engine}");
        assert_eq!(left_of(&run), Vec::<String>::new(), "{engine}");
        assert!(!scratch.exists());
        assert!(!located.iter().any(is_alive), "{engine}");
        assert!(
            untouched.len() == 2 && untouched.iter().all(is_alive),
            "{engine}"
        );
        drop(others);
        other.close_run().unwrap();
        assert_eq!(left_of(&other_run), Vec::<String>::new(), "{engine}");
    }
}

#[test]
fn a_killed_tool_is_told_as_the_end_of_its_service_which_can_start_again() {
    for engine in engines() {
        let agent = agent(private_state(), &[]);
        let run = run_name(engine, "tool");
        let mut deployment = start(&agent, engine, &run, 2).unwrap();
        let located = deployment.locators().unwrap();
        let tool = stowplan_host::process::parent_of(located[0].pid).unwrap();
        assert!(deployment.engine_processes().unwrap().contains(&tool));
        assert!(kill_and_wait(tool, PATIENCE), "{engine}");
        let killed = EngineEventKind::Exited(128 + 9);
        let mut told = Vec::new();
        while !told.contains(&(located[0].service.clone(), killed)) {
            let events = deployment.events(PATIENCE).unwrap();
            assert!(!events.is_empty(), "{engine}: only {told:?}");
            told.extend(events.into_iter().map(|event| (event.service, event.kind)));
        }
        deployment.start(&Select::All).unwrap();
        let again = deployment.locators().unwrap();
        assert!(
            again.iter().all(is_alive) && !is_alive(&located[0]),
            "{engine}"
        );
        assert_eq!(again[1], located[1], "{engine}: the other one stays");
        deployment.destroy().unwrap();
        drop(deployment);
        agent.close_run().unwrap();
        assert_eq!(left_of(&run), Vec::<String>::new(), "{engine}");
    }
}
