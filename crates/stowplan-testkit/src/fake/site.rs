//! The fake host as a site of runs: it arms and tells nothing, keeps what it was asked, and fails where a test wants that.

use std::cell::{Cell, RefCell};

use stowplan_engine::EngineError;
use stowplan_host::Host as _;
use stowplan_site::{Armed, Site, Watched};
use stowplan_wire::agent::ProgramDigest;
use stowplan_wire::host::{ColdProof, Preemptions};
use stowplan_wire::service::ServicePlan;

use super::host::FakeHost;

/// What a fake site was asked, in order, and which request fails.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: RefCell<Vec<&'static str>>,
    fails: Cell<Option<&'static str>>,
}

impl FakeHost {
    /// From now on this request fails, as `arm_and_wait`: its link is cut there.
    pub fn fail_at(&self, call: &'static str) {
        self.asked.fails.set(Some(call));
    }

    /// What it was asked as a site, in order; looks for news once for each time in a row.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        let mut calls = self.asked.calls.borrow().clone();
        calls.dedup();
        calls
    }

    fn called(&self, call: &'static str) -> Result<(), EngineError> {
        self.asked.calls.borrow_mut().push(call);
        if self.asked.fails.get() == Some(call) {
            return Err(EngineError::new(format!("the link was cut at {call}")));
        }
        Ok(())
    }
}

impl Site for FakeHost {
    fn open_run(
        &self,
        run: &str,
        _: Vec<ServicePlan>,
        _: String,
        _: u64,
    ) -> Result<String, EngineError> {
        self.called("open_run")?;
        Ok(Self::open_run(self, run))
    }

    fn add_real(&self, _: Vec<String>) -> Result<(), EngineError> {
        self.called("add_real")
    }

    fn close_run(&self) -> Result<(), EngineError> {
        self.called("close_run")
    }

    fn watch(&self, _: u64) -> Result<Watched, EngineError> {
        self.called("watch")?;
        Ok(Watched::default())
    }

    fn arm_and_wait(&self, lead_ns: u64, window_ns: u64, _: bool) -> Result<Armed, EngineError> {
        self.called("arm_and_wait")?;
        let t_arm_ns = self.clock()? + lead_ns;
        Ok(Armed {
            t_arm_ns,
            t_disarm_ns: t_arm_ns + window_ns,
            own_switches: 0,
            own_cpu_ns: 0,
        })
    }

    fn stop_nodes(&self) -> Result<(), EngineError> {
        self.called("stop_nodes")
    }

    fn end_preemption(&self) -> Result<Option<Preemptions>, EngineError> {
        self.called("end_preemption")?;
        Ok(None)
    }

    fn node_digests(&self) -> Result<Vec<ProgramDigest>, EngineError> {
        self.called("node_digests")?;
        Ok(Vec::new())
    }

    fn cold(&self, _: Vec<String>) -> Result<ColdProof, EngineError> {
        Err(EngineError::new("the fake host has no page cache"))
    }

    fn paged_in_bytes(&self) -> Result<u64, EngineError> {
        Err(EngineError::new("the fake host has no block devices"))
    }
}
