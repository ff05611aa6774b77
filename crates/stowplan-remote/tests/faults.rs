//! SIGKILL at every ledger entry of a run: after cleaning nothing is left of it, and another run stays untouched.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_host::{cgroup, ledger};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_site::Site as _;
use stowplan_testkit::{agent_program, command_plan, private_state, service_plan};
use stowplan_wire::deployment::{Locator, Select, StopMode};

/// What is different for each test, so that the tests can run side by side.
struct Own {
    engine: &'static str,
    /// Begins the names of its runs.
    prefix: String,
    /// A time that only its services sleep, so that they are found by their arguments.
    sleep: String,
    state: PathBuf,
}

impl Own {
    fn new(engine: &'static str, test: &str) -> Self {
        let pid = std::process::id();
        let state = private_state().join(test);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state)
            .unwrap();
        Self {
            engine,
            prefix: format!("faults-{test}-{pid}"),
            sleep: format!("{}.{}", 80_000 + pid, test.len()),
            state,
        }
    }

    fn spawn(&self, fault: Option<u32>) -> Rc<AgentHost> {
        let fault = fault.map(|entry| format!("ledger:{entry}"));
        let mut environment = vec![("STOWPLAN_STATE", self.state.as_os_str())];
        if let Some(fault) = &fault {
            environment.push(("STOWPLAN_FAULT", OsStr::new(fault)));
        }
        AgentHost::spawn_with(agent_program(), &environment).unwrap()
    }

    fn start(
        &self,
        host: &Rc<AgentHost>,
        engine: &str,
        run: &str,
    ) -> Result<Box<dyn Deployment>, EngineError> {
        let run_dir = host.open_run(run, vec![service_plan(run, "a")], String::new(), 1 << 16)?;
        let script = format!("sleep {0} & exec sleep {0}", self.sleep);
        let command: [&str; 3] = ["/bin/sh", "-c", &script];
        let variant = (engine == "bare").then_some("grouped");
        let mut plan = command_plan(run, &run_dir, variant, &[("a", &command), ("b", &command)]);
        plan.isolation.cgroup = true;
        plan.isolation.mount = engine == "oci";
        let mut deployment = RemoteEngine::new(host, engine)?.prepare(&plan, host.clone())?;
        deployment.create(&Select::All)?;
        deployment.start(&Select::All)?;
        Ok(deployment)
    }

    /// A whole run.
    fn run(&self, host: &Rc<AgentHost>, name: &str) -> Result<(), EngineError> {
        let mut deployment = self.start(host, self.engine, name)?;
        deployment.stop(&Select::All, StopMode::Kill)?;
        deployment.destroy()?;
        host.close_run()
    }

    /// Everything on this machine that names one of its runs or sleeps, and its ledgers.
    fn traces(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let tree = cgroup::Tree::detect().unwrap();
        let folders = tree.own.values().chain([&self.state]);
        for folder in folders.map(PathBuf::as_path).chain([Path::new("/dev/shm")]) {
            for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
                let path = entry.path().display().to_string();
                if path.contains(&self.prefix) {
                    found.insert(path);
                }
            }
        }
        for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&command).contains(&self.sleep) {
                found.insert(format!("process {}", entry.file_name().display()));
            }
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let ours = mounts.lines().filter(|line| line.contains(&self.prefix));
        found.extend(ours.map(str::to_owned));
        found
    }

    /// How many of its processes have become a sleep.
    fn sleeps(&self) -> usize {
        let wanted = format!("sleep\0{}\0", self.sleep).into_bytes();
        let commands = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        commands
            .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|c| c == wanted))
            .count()
    }

    fn clean(&self) -> ledger::Cleaned {
        ledger::clean(&self.state, &mut |object, _| {
            Err(format!("no engine has {object:?}"))
        })
        .unwrap()
    }
}

fn unharmed(locators: &[Locator]) {
    for locator in locators {
        assert!(stowplan_host::process::is_alive(
            locator.pid,
            locator.start_ticks
        ));
        assert!(
            locator
                .cgroups
                .values()
                .all(|path| Path::new(path).exists())
        );
    }
}

fn survives_a_kill_at_every_entry(engine: &'static str) -> u32 {
    let own = Own::new(engine, engine);
    let prefix = &own.prefix;
    let other = own.spawn(None);
    let other_deployment = own
        .start(&other, "bare", &format!("{prefix}-other"))
        .unwrap();
    let locators = other_deployment.locators().unwrap();
    assert_eq!(locators.len(), 2);
    // Both sleeps of both services. A shell that becomes one has no arguments for a moment.
    while own.sleeps() < 4 {
        std::thread::yield_now();
    }
    let before = own.traces();
    let mut entry = 0;
    loop {
        entry += 1;
        let host = own.spawn(Some(entry));
        let name = format!("{prefix}-{entry}");
        match own.run(&host, &name) {
            Ok(()) => break,
            Err(error) => assert!(error.to_string().contains("signal: 9"), "{error}"),
        }
        drop(host);
        let cleaned = own.clean();
        assert_eq!(cleaned.failed, Vec::<String>::new(), "entry {entry}");
        assert_eq!(cleaned.runs, vec![name], "entry {entry}");
        assert_eq!(own.traces(), before, "entry {entry}");
        unharmed(&locators);
    }
    assert_eq!(own.traces(), before);
    assert_eq!(own.clean(), ledger::Cleaned::default());
    unharmed(&locators);
    drop(other_deployment);
    other.close_run().unwrap();
    drop(other);
    assert_eq!(own.traces(), BTreeSet::new());
    entry - 1
}

#[test]
fn bare_run_killed_at_every_entry() {
    let entries = survives_a_kill_at_every_entry("bare");
    // At least the run folder, a group of the run and one of each service, and two processes.
    assert!(entries >= 6, "only {entries} entries");
}

#[test]
fn oci_run_killed_at_every_entry() {
    let entries = survives_a_kill_at_every_entry("oci");
    assert!(entries >= 4, "only {entries} entries");
}

/// A limit that the kernel refuses is refused however often it is asked for: the program never runs without it.
#[test]
fn a_service_whose_limits_are_refused_is_never_made() {
    for variant in ["grouped", "grouped-lxc", "grouped-lxd"] {
        let own = Own::new("bare", "refused");
        let host = own.spawn(None);
        let run = format!("{}-{variant}", own.prefix);
        let folder = host.open_run(&run, vec![], String::new(), 0).unwrap();
        let command: &[&str] = &["sleep", &own.sleep];
        let mut plan = command_plan(&run, &folder, Some(variant), &[("a", command)]);
        // No kernel has so many.
        plan.services[0].limits.cpuset = Some(vec![1_000_000]);
        let mut deployment = RemoteEngine::new(&host, "bare")
            .unwrap()
            .prepare(&plan, host.clone())
            .unwrap();
        let before = own.traces();
        for _ in 0..2 {
            let error = deployment.create(&Select::All).unwrap_err();
            assert!(error.to_string().contains("cpuset"), "{variant}: {error}");
            assert_eq!(deployment.locators().unwrap(), [], "{variant}");
            assert_eq!(own.traces(), before, "{variant}");
        }
        drop(deployment);
        host.close_run().unwrap();
    }
}
