//! The two traits.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

use stowplan_host::Host;
use stowplan_wire::agent::ProbeAnswer;
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineRequest, Locator, Select, StopMode,
};

use crate::{Capabilities, EngineError};

/// Whether an engine can be used on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It works.
    Available {
        /// Version of what does the work.
        version: String,
    },
    /// It works, but what it measures is not the machine (QEMU without KVM).
    Emulated {
        /// Version of what does the work.
        version: String,
        /// Why it is only emulated.
        reason: String,
        /// What to install or change.
        hint: String,
    },
    /// It does not work.
    Absent {
        /// Why.
        reason: String,
        /// What to install or change.
        hint: String,
    },
}

impl Probe {
    /// What trying it out said: its version, or why it does not work, with `hint` where the error has none.
    #[must_use]
    pub fn of(tried: Result<String, EngineError>, hint: impl FnOnce() -> String) -> Self {
        match tried {
            Ok(version) => Self::Available { version },
            Err(error) => Self::Absent {
                reason: stowplan_host::chain(&error),
                hint: error.hint.unwrap_or_else(hint),
            },
        }
    }
}

impl From<Probe> for ProbeAnswer {
    fn from(probe: Probe) -> Self {
        let (status, version, reason, hint) = match probe {
            Probe::Available { version } => ("available", Some(version), None, None),
            Probe::Emulated {
                version,
                reason,
                hint,
            } => ("emulated", Some(version), Some(reason), Some(hint)),
            Probe::Absent { reason, hint } => ("absent", None, Some(reason), Some(hint)),
        };
        Self {
            status: status.to_owned(),
            version,
            reason,
            hint,
        }
    }
}

impl From<ProbeAnswer> for Probe {
    fn from(answer: ProbeAnswer) -> Self {
        let version = answer.version.unwrap_or_default();
        let reason = answer.reason.unwrap_or_default();
        let hint = answer.hint.unwrap_or_default();
        match answer.status.as_str() {
            "available" => Self::Available { version },
            "emulated" => Self::Emulated {
                version,
                reason,
                hint,
            },
            _ => Self::Absent { reason, hint },
        }
    }
}

/// Starts services on one host. Stateless: what a deployment needs lives in the [`Deployment`].
pub trait Engine {
    /// Name, as in a place.
    fn name(&self) -> String;

    /// Whether it can be used on `host`, found out by trying, not by guessing.
    fn probe(&self, host: &dyn Host) -> Probe;

    /// What may be asked of it. Data: the planner and the conformance suite decide by it.
    fn capabilities(&self) -> Capabilities;

    /// Makes everything that a start should not contain: images, disks, networks, connections, helpers.
    ///
    /// # Errors
    /// When the plan asks for what [`Capabilities::refuse`] refuses, or something cannot be made; what was made
    /// until then is removed.
    fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: Rc<dyn Host>,
    ) -> Result<Box<dyn Deployment>, EngineError>;
}

/// A prepared deployment. Dropping it removes whatever is left, as [`Deployment::destroy`] does.
///
/// The verbs are synchronous: they return when the engine has done it or failed. A verb on several services
/// runs them concurrently where the engine can, at most `DeploymentPlan::parallelism` at once.
pub trait Deployment {
    /// Makes the services without running their program. Where the engine cannot separate the two
    /// (`Variant::separate_create` false), this does nothing and `start` does both.
    ///
    /// # Errors
    /// When a service cannot be created; the error names it.
    fn create(&mut self, which: &Select) -> Result<(), EngineError>;

    /// Lets the program of each service run.
    ///
    /// # Errors
    /// When a service cannot be started; the error names it and its log.
    fn start(&mut self, which: &Select) -> Result<(), EngineError>;

    /// Ends every process of the services and waits until none is left. Stopping what is stopped is no error.
    ///
    /// # Errors
    /// When a process cannot be ended.
    fn stop(&mut self, which: &Select, how: StopMode) -> Result<(), EngineError>;

    /// Kills and removes everything that `prepare`, `create` and `start` made. May be called again.
    ///
    /// # Errors
    /// When something cannot be removed; the rest is removed nevertheless.
    fn destroy(&mut self) -> Result<(), EngineError>;

    /// Freezes a service.
    ///
    /// # Errors
    /// Without the capability, or when the service does not freeze.
    fn pause(&mut self, service: &str) -> Result<(), EngineError>;

    /// Thaws a service.
    ///
    /// # Errors
    /// Without the capability, or when the service does not thaw.
    fn resume(&mut self, service: &str) -> Result<(), EngineError>;

    /// The engine's events since the last call, in order; waits up to `wait` until there is one.
    /// With `Duration::ZERO` it only looks.
    ///
    /// # Errors
    /// When the engine is gone.
    fn events(&mut self, wait: Duration) -> Result<Vec<EngineEvent>, EngineError>;

    /// Descriptors that become readable when [`Deployment::events`] may have something new. Empty where the
    /// engine has none; then the caller asks from time to time.
    fn event_fds(&self) -> Vec<BorrowedFd<'_>>;

    /// Where the created services are. One that has no process yet, because its engine makes none before the start,
    /// has pid 0.
    ///
    /// # Errors
    /// When the engine cannot tell.
    fn locators(&self) -> Result<Vec<Locator>, EngineError>;

    /// The last `bytes` bytes of a service's output and errors; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// When there is no such service or its log cannot be read.
    fn log(&self, service: &str, bytes: u64) -> Result<String, EngineError>;

    /// What was asked for, cannot be had, and what stands in its place.
    fn deviations(&self) -> Vec<String>;

    /// Pids on the host of the engine's own processes, which are no service's; empty where it has none.
    ///
    /// # Errors
    /// When the engine cannot tell.
    fn engine_processes(&self) -> Result<Vec<u32>, EngineError> {
        Ok(Vec::new())
    }

    /// The parts of an orchestrator by the pids of [`Deployment::engine_processes`] that they are: what each costs has a row of its
    /// own. Empty where the engine has none.
    ///
    /// # Errors
    /// When the engine cannot tell.
    fn orchestrator(&self) -> Result<BTreeMap<u32, String>, EngineError> {
        Ok(BTreeMap::new())
    }

    /// Every request so far to what works for the engine, in no particular order; empty where the engine asks nobody and
    /// does everything by itself.
    ///
    /// # Errors
    /// When the engine cannot tell.
    fn engine_requests(&self) -> Result<Vec<EngineRequest>, EngineError> {
        Ok(Vec::new())
    }

    /// What the services really run on, read back about every one of them from the engine and from the kernel, by name
    /// (`engine.runtime`): a result carries it, and a run counts only if it is one for all services.
    ///
    /// # Errors
    /// When services differ, or are not what the engine is taken for.
    fn label(&self) -> Result<BTreeMap<String, String>, EngineError> {
        Ok(BTreeMap::new())
    }

    /// Where what services read from their images lies, where that is not the plan's image folder itself.
    fn image_files(&self) -> ImageFiles {
        ImageFiles::default()
    }
}

/// What a cold start has to find cold besides the plan's image folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFiles {
    /// Files and folders of the host that hold what services read from their images.
    pub paths: Vec<String>,
    /// Why something that services read cannot be shown to be cold; then no start counts as a cold one.
    pub unshown: Option<String>,
}

/// The services of `plan` that `which` selects, in starting order.
///
/// # Errors
/// When a name is not in the plan.
pub fn selected<'plan>(
    plan: &'plan DeploymentPlan,
    which: &Select,
) -> Result<Vec<&'plan str>, EngineError> {
    let all = plan.services.iter().map(|service| service.name.as_str());
    match which {
        Select::All => Ok(all.collect()),
        Select::Services(names) => {
            if let Some(unknown) = names
                .iter()
                .find(|name| !plan.services.iter().any(|s| s.name == **name))
            {
                return Err(EngineError::new(format!(
                    "no service '{unknown}' in this deployment"
                )));
            }
            Ok(all.filter(|name| names.iter().any(|n| n == name)).collect())
        }
    }
}
