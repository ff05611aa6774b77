//! Where applications are built and run: one place, with a folder that its services see.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Deployment, Engine, Variant};
use stowplan_measure::RunError;
use stowplan_site::Site;
use stowplan_wire::deployment::{
    Access, BindMount, DeploymentPlan, EngineEventKind, Program, ServiceStart,
};

use super::kinds::Application;
use super::source::Source;
use crate::bench::nanos;
use crate::figures::Figure;
use crate::stand::{deployed, in_run, lay_into, numbered};

/// The service that compiles.
pub(super) const COMPILER: &str = "compiler";

/// A log is looked at so often.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// Longest wait for a compiler or an application: one that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// Longest wait for the log of what has ended.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Bytes of a log that are looked at.
const LOG_BYTES: u64 = 1 << 16;

/// A place, and what applications are built with there.
pub(crate) struct Applications<'a> {
    /// The host, which is this machine.
    pub(crate) site: Rc<dyn Site>,
    /// The engine.
    pub(crate) engine: &'a dyn Engine,
    /// What its variant can do.
    pub(crate) can: &'a Variant,
    /// Its run and variant; services are filled in.
    pub(crate) plan: DeploymentPlan,
    /// Root file system with the compiler.
    pub(crate) toolbox: &'a Path,
    /// Folder for sources and programs, which exists; as an absolute path, because containers see it.
    pub(crate) scratch: &'a Path,
    /// A number that no earlier build had.
    pub(crate) first_revision: u32,
    /// Number of deployments so far.
    pub(crate) deployments: Cell<u32>,
}

impl Applications<'_> {
    /// Builds, changes, starts and stops each of these once. Nothing is left but images, which the engine removes when it goes.
    ///
    /// # Errors
    /// When an application cannot be built or does not run, or the engine fails.
    pub(crate) fn run(mut self, applications: &[Application]) -> Result<Vec<Figure>, RunError> {
        let site = Rc::clone(&self.site);
        let mut plan = self.plan.clone();
        plan.services = std::iter::once(COMPILER)
            .chain(applications.iter().map(|application| application.name()))
            .map(|name| service(name, Vec::new(), None, Vec::new()))
            .collect();
        in_run(site.as_ref(), plan, |plan| {
            self.plan = plan;
            self.each(applications)
        })
    }

    fn each(&self, applications: &[Application]) -> Result<Vec<Figure>, RunError> {
        self.load_toolbox()?;
        let mut figures = Vec::new();
        for application in applications.iter().copied() {
            let folder = self.scratch.join(application.name());
            let source = Source::lay(&folder, application, self.first_revision);
            let mut source = source.map_err(|error| unmade(&folder, &error))?;
            let (built, root) = self.builds(application, &mut source)?;
            figures.extend(built);
            figures.extend(self.life(application, &root)?);
        }
        Ok(figures)
    }

    /// The plan of one service of the run.
    pub(super) fn plan_of(
        &self,
        name: &str,
        command: Vec<String>,
        root: &Path,
        mounts: Vec<BindMount>,
    ) -> DeploymentPlan {
        let root = (!self.is_plain()).then(|| root.display().to_string());
        let mut plan = self.plan.clone();
        plan.services = vec![service(name, command, root, mounts)];
        lay_into(&self.plan.run_dir, &mut plan);
        plan
    }

    /// Whether services are plain processes, whose root is the host's.
    pub(super) fn is_plain(&self) -> bool {
        self.can.services == stowplan_engine::ServiceKind::Processes
    }

    /// Prepares a plan of one service for `drive`, and removes everything of it afterwards.
    pub(super) fn with_deployment<T>(
        &self,
        plan: &DeploymentPlan,
        drive: impl FnOnce(&mut dyn Deployment) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let mut plan = plan.clone();
        let number = self.deployments.replace(self.deployments.get() + 1);
        plan.run = numbered(&plan.run, number);
        deployed(
            &self.site,
            self.engine,
            &plan,
            &plan.services[0].name,
            drive,
        )
    }

    /// Looks at the log of a service, which was started after this instant, until a line of it says what is waited for.
    pub(super) fn wait_for_line<T>(
        &self,
        deployment: &mut dyn Deployment,
        name: &str,
        since_ns: u64,
        mut what: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, RunError> {
        let mut until = self.site.clock()? + nanos(LONGEST);
        loop {
            let events = deployment.events(LOOK)?;
            let ended = events.iter().any(|event| {
                matches!(event.kind, EngineEventKind::Exited(_)) && event.t_ns >= since_ns
            });
            if ended {
                until = until.min(self.site.clock()? + nanos(LAST_WORDS));
            }
            let log = deployment.log(name, LOG_BYTES)?;
            // A line without its end is not all of it.
            let whole = log.rfind('\n').map_or("", |end| &log[..end]);
            if let Some(found) = whole.lines().find_map(&mut what) {
                return Ok(found);
            }
            if self.site.clock()? >= until {
                let message = format!("service '{name}' has not said what it was to say");
                return Err(RunError::new(message));
            }
        }
    }
}

fn service(
    name: &str,
    command: Vec<String>,
    rootfs: Option<String>,
    mounts: Vec<BindMount>,
) -> ServiceStart {
    let access = Access {
        mounts,
        ..Access::default()
    };
    let program = Program::Command {
        command,
        env: Vec::new(),
        rootfs,
        access,
    };
    ServiceStart::new(name, program)
}

pub(super) fn unmade(path: &Path, error: &io::Error) -> RunError {
    RunError::new(format!("cannot use '{}': {error}", path.display()))
}
