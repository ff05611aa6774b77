//! The fake host as a site of runs: it arms and tells nothing, keeps what it was asked, and fails where a test wants that.

use std::cell::{Cell, RefCell};

use std::path::{Path, PathBuf};

use stowplan_engine::{EngineError, FailureKind};
use stowplan_host::Host as _;
use stowplan_site::{Armed, Site, Watched};
use stowplan_wire::agent::{ProgramDigest, Recipients, ServiceSignal};
use stowplan_wire::announce::Control;
use stowplan_wire::host::{ColdProof, Preemptions};
use stowplan_wire::service::ServicePlan;

use super::host::FakeHost;

/// What a fake site was asked, in order, and which request fails.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: RefCell<Vec<&'static str>>,
    fails: Cell<Option<&'static str>>,
    /// A request that takes so long, in ns.
    slow: Cell<Option<(&'static str, u64)>>,
    /// Arming instant and length of the window.
    window: Cell<Option<(u64, u64)>>,
}

impl FakeHost {
    /// From now on this request fails, as `arm`: its link is cut there.
    pub fn fail_at(&self, call: &'static str) {
        self.asked.fails.set(Some(call));
    }

    /// From now on this request is answered so late.
    pub fn is_late_at(&self, call: &'static str, ns: u64) {
        self.asked.slow.set(Some((call, ns)));
    }

    /// What it was asked as a site, in order; looks for news once for each time in a row.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        let mut calls = self.asked.calls.borrow().clone();
        calls.dedup();
        calls
    }

    pub(super) fn called(&self, call: &'static str) -> Result<(), EngineError> {
        // The clock is read all the time.
        if call != "clock" {
            self.asked.calls.borrow_mut().push(call);
        }
        if let Some((slow, ns)) = self.asked.slow.get()
            && slow == call
        {
            self.passes(ns);
        }
        if self.asked.fails.get() == Some(call) {
            let error = EngineError::new(format!("the link was cut at {call}"));
            return Err(error.of_kind(FailureKind::Gone));
        }
        Ok(())
    }
}

impl Site for FakeHost {
    fn open_run(
        &self,
        run: &str,
        services: Vec<ServicePlan>,
        _: String,
        _: u64,
    ) -> Result<String, EngineError> {
        self.called("open_run")?;
        let folder = Self::open_run(self, run);
        self.world.borrow_mut().plans = services;
        Ok(folder)
    }

    fn add_real(&self, _: Vec<String>) -> Result<(), EngineError> {
        self.called("add_real")
    }

    fn close_run(&self) -> Result<(), EngineError> {
        self.called("close_run")
    }

    /// Tells announcements; events come from the engine itself.
    fn watch(&self, timeout_ms: u64) -> Result<Watched, EngineError> {
        self.called("watch")?;
        let mut world = self.world.borrow_mut();
        let until = world.now() + timeout_ms * 1_000_000;
        let next = world.next(until);
        let now = world.clock_ns();
        world.advance(next - now);
        Ok(Watched {
            engine: Vec::new(),
            announcements: world.due_announcements(),
        })
    }

    fn tell_service(
        &self,
        service: &str,
        to: Recipients,
        control: &Control,
    ) -> Result<u64, EngineError> {
        self.called("tell_service")?;
        Ok(self.world.borrow_mut().tell(service, to, control))
    }

    fn signal_service(
        &self,
        service: &str,
        _: Recipients,
        signal: ServiceSignal,
    ) -> Result<u64, EngineError> {
        self.called("signal_service")?;
        Ok(self.world.borrow_mut().signal(service, signal))
    }

    fn free_domain(&self, _: u64, _: usize) -> Result<u32, EngineError> {
        Ok(61)
    }

    fn put(&self, folder: &Path) -> Result<String, EngineError> {
        Ok(format!("/fake{}", folder.display()))
    }

    fn bring(&self, file: &Path, _: &Path) -> Result<PathBuf, EngineError> {
        Err(EngineError::new(format!(
            "the fake host has no file {}",
            file.display()
        )))
    }

    fn before_window(&self, _: u64, _: bool) -> Result<u64, EngineError> {
        self.called("before_window")?;
        Ok(self.clock()?)
    }

    fn arm(&self, t_arm_ns: u64, window_ns: u64) -> Result<(), EngineError> {
        self.called("arm")?;
        if self.clock()? > t_arm_ns {
            let error = EngineError::new(format!("{} was not armed in time", self.id()));
            return Err(error.of_kind(FailureKind::Timeout));
        }
        self.asked.window.set(Some((t_arm_ns, window_ns)));
        Ok(())
    }

    fn wait_window(&self, _: u64) -> Result<Armed, EngineError> {
        self.called("wait_window")?;
        let armed = self.asked.window.take();
        let (t_arm_ns, window_ns) = armed.ok_or_else(|| EngineError::new("nothing was armed"))?;
        let t_disarm_ns = t_arm_ns + window_ns;
        self.passes(t_disarm_ns.saturating_sub(self.clock()?));
        Ok(Armed {
            t_arm_ns,
            t_disarm_ns,
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
