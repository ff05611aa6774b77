//! Trying an engine out: what it needs is only known once a container of it has run.

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use stowplan_engine::{CGROUPFS, Engine, EngineError, Probe, parts};
use stowplan_host::cgroup::Tree;
use stowplan_host::rundir::RunDir;
use stowplan_host::{Host, HostError, LocalHost, chain, ledger, network};
use stowplan_wire::deployment::{
    Access, DeploymentPlan, IsolationPlan, Program, Select, ServiceStart,
};

/// This program, which is the static agent: it needs no library, and is told to do nothing.
const OWN: &str = "/proc/self/exe";
const PROGRAM: &str = "/stowplan-agent";

/// Whether an engine works here whose tool `program` is there: what it needs of the machine, and then whether a container of it
/// runs. `install` is the command that installs the tool, `version` what it is.
pub fn probe_tool(engine: &dyn Engine, program: &str, install: &str, version: &str) -> Probe {
    let absent = |reason: String, hint: &str| Probe::Absent {
        reason,
        hint: hint.to_owned(),
    };
    if !network::may_have_own() {
        return absent(
            format!("{program} needs CAP_SYS_ADMIN, which root does not have here"),
            "run outside of a container, or give it CAP_SYS_ADMIN",
        );
    }
    let tree = match Tree::detect() {
        Err(error) => return absent(chain(&error), "mount control groups on /sys/fs/cgroup"),
        Ok(tree) => tree,
    };
    let parts = parts("overlay", program, CGROUPFS, tree.layout.version());
    let tried = try_out(engine).map(|()| format!("{version}, {parts}"));
    Probe::of(tried, || {
        format!("see what {program} says; '{install}' installs the whole of it")
    })
}

/// Starts a container that does nothing, with all that a run's has, reads its label, and removes it.
///
/// # Errors
/// When it does not come to run; nothing of it is left then either.
fn try_out(engine: &dyn Engine) -> Result<(), EngineError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let host = Rc::new(LocalHost::new(&ledger::folder()?)?);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let run = format!("probe-{}-{}-{number}", engine.name(), std::process::id());
    host.open_run(&run)?;
    let tried = attempt(engine, &run, &host);
    let closed = host.close_run();
    // It stands for the engine, of which the caller tells.
    tried.map_err(|error| EngineError {
        service: None,
        ..error
    })?;
    Ok(closed?)
}

fn attempt(engine: &dyn Engine, run: &str, host: &Rc<LocalHost>) -> Result<(), EngineError> {
    let folder = RunDir::make(host.as_ref(), run, &[], "", 0)?;
    let plan = plan(run, folder.path())?;
    let mut deployment = engine.prepare(&plan, Rc::clone(host) as Rc<dyn Host>)?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    deployment.label()?;
    deployment.destroy()?;
    drop(deployment);
    Ok(folder.remove()?)
}

/// One service, with a root file system like that of node programs.
fn plan(run: &str, folder: &Path) -> Result<DeploymentPlan, EngineError> {
    let root = folder.join("root");
    for name in ["proc", "sys", "dev/shm", "tmp", "etc", "usr"] {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(|e| HostError::io("create", &path, e))?;
    }
    let program = root.join(PROGRAM.trim_start_matches('/'));
    fs::copy(OWN, &program).map_err(|e| HostError::io("write", &program, e))?;
    let run_dir = folder.display().to_string();
    Ok(DeploymentPlan {
        run: run.to_owned(),
        services: vec![ServiceStart {
            log: format!("{run_dir}/hold.log"),
            ..ServiceStart::new(
                "hold",
                Program::Command {
                    command: vec![PROGRAM.to_owned(), "hold".to_owned()],
                    env: Vec::new(),
                    rootfs: Some(root.display().to_string()),
                    access: Access::default(),
                },
            )
        }],
        image_dir: root.display().to_string(),
        run_dir,
        variant: None,
        isolation: IsolationPlan::CONTAINER,
        parallelism: 0,
    })
}
