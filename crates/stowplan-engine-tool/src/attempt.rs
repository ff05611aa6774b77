//! Trying an engine out: what it needs is only known once a container of it has run.

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use stowplan_engine::{Engine, EngineError, Facts};
use stowplan_host::ledger;
use stowplan_host::rundir::RunDir;
use stowplan_host::{Host, HostError, LocalHost};
use stowplan_wire::deployment::{
    Access, DeploymentPlan, IsolationPlan, LimitsPlan, Program, Select, ServiceStart,
};

/// This program, which is the static agent: it needs no library, and is told to do nothing.
const OWN: &str = "/proc/self/exe";
const PROGRAM: &str = "/stowplan-agent";

/// Starts a container that does nothing, with all that a run's has, and removes it. Gives its label.
///
/// # Errors
/// When it does not come to run; nothing of it is left then either.
pub fn try_out(engine: &dyn Engine) -> Result<Facts, EngineError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let host = Rc::new(LocalHost::new(&ledger::folder()?)?);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let run = format!("probe-{}-{}-{number}", engine.name(), std::process::id());
    host.open_run(&run)?;
    let tried = attempt(engine, &run, &host);
    let closed = host.close_run();
    // It stands for the engine, of which the caller tells.
    let tried = tried.map_err(|error| EngineError {
        service: None,
        ..error
    })?;
    closed?;
    Ok(tried)
}

fn attempt(engine: &dyn Engine, run: &str, host: &Rc<LocalHost>) -> Result<Facts, EngineError> {
    let folder = RunDir::make(host.as_ref(), run, &[], "", 0)?;
    let plan = plan(run, folder.path())?;
    let mut deployment = engine.prepare(&plan, Rc::clone(host) as Rc<dyn Host>)?;
    deployment.create(&Select::All)?;
    deployment.start(&Select::All)?;
    let label = deployment.label()?;
    deployment.destroy()?;
    drop(deployment);
    folder.remove()?;
    Ok(label)
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
            name: "hold".to_owned(),
            program: Program::Command {
                command: vec![PROGRAM.to_owned(), "hold".to_owned()],
                env: Vec::new(),
                rootfs: Some(root.display().to_string()),
                access: Access::default(),
            },
            limits: LimitsPlan::default(),
            log: format!("{run_dir}/hold.log"),
        }],
        image_dir: root.display().to_string(),
        run_dir,
        variant: None,
        isolation: IsolationPlan::CONTAINER,
        parallelism: 0,
    })
}
