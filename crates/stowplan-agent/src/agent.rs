//! The agent's state.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, EngineError};
use stowplan_host::preemption::SwitchRecorder;
use stowplan_host::rundir::RunDir;
use stowplan_host::{HostError, LocalHost};
use stowplan_wire::agent::Failure;
use stowplan_wire::deployment::EngineEvent;

use crate::input::Input;
use crate::nodes::Nodes;
use crate::window::Window;

/// A run whose folder exists.
pub(crate) struct Run {
    pub(crate) dir: RunDir,
    pub(crate) nodes: Nodes,
    /// Of every CPU, while that is recorded.
    pub(crate) switches: Option<SwitchRecorder>,
    /// What node programs were armed for and nobody has waited for.
    pub(crate) window: Option<Window>,
}

/// Everything the agent holds. Fields are dropped in order: services end before the folder goes.
pub(crate) struct Agent {
    pub(crate) deployment: Option<Box<dyn Deployment>>,
    pub(crate) run: Option<Run>,
    pub(crate) engine_events: Vec<EngineEvent>,
    pub(crate) host: Rc<LocalHost>,
    pub(crate) engines: Vec<Box<dyn Engine>>,
    pub(crate) input: Input,
    pub(crate) signals: OwnedFd,
}

/// The caller is gone, or somebody asked the agent to end.
#[derive(Debug)]
pub(crate) struct Gone;

/// Why a call was not answered as asked.
pub(crate) enum CallError {
    /// It failed; the caller is told.
    Failed(Failure),
    /// There is no caller any more.
    Gone,
}

impl From<EngineError> for CallError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<HostError> for CallError {
    fn from(error: HostError) -> Self {
        Self::Failed(EngineError::from(error).into())
    }
}

impl From<Gone> for CallError {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl Agent {
    /// Ends the run, if one is open: services first, then their folder, then the ledger.
    pub(crate) fn end(&mut self) -> Result<(), HostError> {
        self.host.thaw_all();
        let destroyed = self
            .deployment
            .take()
            .map_or(Ok(()), |mut deployment| deployment.destroy());
        let removed = self.run.take().map_or(Ok(()), |run| run.dir.remove());
        let closed = self.host.close_run();
        destroyed.map_err(|e| HostError::new(stowplan_host::chain(&e)))?;
        removed.and(closed)
    }
}

pub(crate) fn unwritable(error: serde_json::Error) -> EngineError {
    EngineError::new("cannot write to node programs").because(error)
}
