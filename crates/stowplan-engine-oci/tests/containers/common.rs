//! One run with its folder, ledger and host, for tests that start containers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_engine_oci::OciEngine;
use stowplan_host::LocalHost;
use stowplan_wire::deployment::{
    Access, DeploymentPlan, EngineEvent, EngineEventKind, IsolationPlan, Locator, Program, Select,
    ServiceStart, StopMode,
};

/// Longest wait for something that has to happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Whether this user can make containers; a test of one who cannot is recorded as skipped.
pub fn is_root() -> bool {
    stowplan_testkit::is_root("make containers")
}

/// The engine with the example program as its helper.
pub fn engine() -> OciEngine {
    let tests = std::env::current_exe().expect("this program has a path");
    let target = tests
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps/");
    OciEngine::with_helper(&target.join("examples/oci-helper"), &[])
}

/// A run that is removed when it is dropped.
pub struct Run {
    pub name: String,
    pub dir: PathBuf,
    pub host: Rc<LocalHost>,
    _state: tempfile::TempDir,
}

impl Run {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ocitest-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let state = tempfile::tempdir().expect("a temporary folder");
        Self::at(&name, state)
    }

    fn at(name: &str, state: tempfile::TempDir) -> Self {
        let dir = PathBuf::from(format!("/dev/shm/stowplan-{name}"));
        fs::create_dir_all(&dir).expect("the run folder");
        let host = LocalHost::new(state.path()).expect("a host");
        host.open_run(name).expect("a ledger");
        Self {
            name: name.to_owned(),
            dir,
            host: Rc::new(host),
            _state: state,
        }
    }

    /// A service that runs a command.
    pub fn service(&self, name: &str, command: &[&str]) -> ServiceStart {
        let program = Program::Command {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            env: vec![],
            rootfs: None,
            access: Access::default(),
        };
        ServiceStart {
            log: self.dir.join(format!("{name}.log")).display().to_string(),
            ..ServiceStart::new(name, program)
        }
    }

    pub fn plan(&self, isolation: IsolationPlan, services: Vec<ServiceStart>) -> DeploymentPlan {
        DeploymentPlan {
            run: self.name.clone(),
            run_dir: self.dir.display().to_string(),
            variant: None,
            image_dir: "/nonexistent".into(),
            services,
            isolation,
            parallelism: 0,
        }
    }

    pub fn prepare(&self, plan: &DeploymentPlan) -> Result<Box<dyn Deployment>, EngineError> {
        engine().prepare(plan, self.host.clone())
    }

    /// Cgroup folders with the run's name in it, anywhere.
    pub fn cgroups(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        find(Path::new("/sys/fs/cgroup"), &self.name, &mut found);
        found
    }

    /// Mounts of this process's namespace that have the run's name in them.
    pub fn mounts(&self) -> Vec<String> {
        let text = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
        text.lines()
            .filter(|line| line.contains(&self.name))
            .map(str::to_owned)
            .collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.host.close_run();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn find(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            if entry.file_name().to_string_lossy().contains(name) {
                found.push(path.clone());
            }
            find(&path, name, found);
        }
    }
}

/// Everything off.
pub fn bare() -> IsolationPlan {
    IsolationPlan::default()
}

/// As Docker isolates with the host's network.
pub const fn docker() -> IsolationPlan {
    IsolationPlan::CONTAINER
}

/// Events until `done` says that they are enough.
pub fn events_until(
    deployment: &mut dyn Deployment,
    done: impl Fn(&[EngineEvent]) -> bool,
) -> Vec<EngineEvent> {
    let begin = Instant::now();
    let mut all = Vec::new();
    while !done(&all) {
        assert!(
            begin.elapsed() < PATIENCE,
            "these events are too few: {all:?}"
        );
        all.extend(deployment.events(PATIENCE).expect("events"));
    }
    all
}

/// Waits until a service has ended; gives its status.
pub fn wait_for_exit(deployment: &mut dyn Deployment, service: &str) -> i32 {
    let status = |events: &[EngineEvent]| {
        events.iter().find_map(|event| match event.kind {
            EngineEventKind::Exited(status) if event.service == service => Some(status),
            _ => None,
        })
    };
    let events = events_until(deployment, |events| status(events).is_some());
    status(&events).expect("just seen")
}

/// Runs one command to its end and gives its status and output.
pub fn run_once(run: &Run, isolation: IsolationPlan, command: &[&str]) -> (i32, String) {
    let plan = run.plan(isolation, vec![run.service("one", command)]);
    let mut deployment = run.prepare(&plan).expect("prepare");
    deployment.create(&Select::All).expect("create");
    deployment.start(&Select::All).expect("start");
    let status = wait_for_exit(&mut *deployment, "one");
    let log = deployment.log("one", 65_536).expect("log");
    deployment.destroy().expect("destroy");
    fs::remove_file(&plan.services[0].log).expect("a log");
    (status, log)
}

/// Locators by service.
pub fn located(deployment: &dyn Deployment) -> BTreeMap<String, Locator> {
    let all = deployment.locators().expect("locators");
    all.into_iter()
        .map(|one| (one.service.clone(), one))
        .collect()
}

pub const TERMINATE: StopMode = StopMode::Terminate { grace_ms: 5_000 };
