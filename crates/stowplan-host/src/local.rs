//! This machine.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use stowplan_wire::agent::ProgramDigest;
use stowplan_wire::deployment::Locator;
use stowplan_wire::host::{
    LimitsReadBack, MachineFacts, MemorySample, Running, SampleSubject, Sampled,
};

use crate::ledger::{Ledger, Object};
use crate::sampler::Sampler;
use crate::{Host, HostError, cgroup, digest, facts, memory, process};

/// The machine of this process. Sampling is driven by its caller: poll [`LocalHost::sampling_fd`] and call
/// [`LocalHost::sample`] when it is readable.
#[derive(Debug)]
pub struct LocalHost {
    id: String,
    state: PathBuf,
    ledger: RefCell<Option<Ledger>>,
    sampler: RefCell<Option<Sampling>>,
    timer: OwnedFd,
    /// Services that are frozen by the kernel alone.
    frozen: RefCell<Vec<Locator>>,
}

#[derive(Debug)]
struct Sampling {
    sampler: Sampler,
    period: Duration,
}

impl LocalHost {
    /// This machine, with ledgers in the folder `state` (see [`crate::ledger::folder`]).
    ///
    /// # Errors
    /// When the kernel has no timer to give.
    pub fn new(state: &Path) -> Result<Self, HostError> {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map_err(|e| HostError::new("cannot make a timer").because(e))?;
        Ok(Self {
            id: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            state: state.to_owned(),
            ledger: RefCell::new(None),
            sampler: RefCell::new(None),
            timer,
            frozen: RefCell::new(Vec::new()),
        })
    }

    /// Opens the ledger of a run; [`Host::enter`] writes to it.
    ///
    /// # Errors
    /// When a run is open already or the ledger cannot be written.
    pub fn open_run(&self, run: &str) -> Result<(), HostError> {
        let mut ledger = self.ledger.borrow_mut();
        if ledger.is_some() {
            return Err(HostError::new("a run is open already"));
        }
        *ledger = Some(Ledger::open(&self.state, run)?);
        Ok(())
    }

    /// Removes what the ledger of the run names and is still there, then the ledger.
    ///
    /// # Errors
    /// When something cannot be removed; the ledger is then kept for `stowplan clean`.
    pub fn close_run(&self) -> Result<(), HostError> {
        self.ledger
            .borrow_mut()
            .take()
            .map_or(Ok(()), Ledger::close)
    }

    /// Thaws what [`Host::freeze`] has frozen: a frozen service cannot be ended by its engine.
    pub fn thaw_all(&self) {
        for service in self.frozen.take() {
            // Its group may be gone; one that is there is thawed once more where it is removed.
            let _ = cgroup::Group::from_paths(&service.cgroups).freeze(false);
        }
    }

    /// Readable when the next sample is due.
    #[must_use]
    pub fn sampling_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Takes the sample that is due. Does not allocate when [`LocalHost::reserve_samples`] made room.
    pub fn sample(&self) {
        let mut ticks = [0; 8];
        if rustix::io::read(&self.timer, &mut ticks).is_ok()
            && let Some(sampling) = self.sampler.borrow_mut().as_mut()
        {
            sampling.sampler.sample();
        }
    }

    /// Samples this process of a service from now on, as long as there is sampling; does nothing for one that it knows.
    pub fn follow(&self, service: &str, running: Running, pid: u32) {
        if let Some(sampling) = self.sampler.borrow_mut().as_mut() {
            sampling.sampler.follow(service, running, pid);
        }
    }

    /// Makes room for the samples of the next `time`, and looks who else uses the machine.
    pub fn reserve_samples(&self, time: Duration) {
        if let Some(sampling) = self.sampler.borrow_mut().as_mut() {
            sampling.sampler.look_around();
            let count = time.as_nanos() / sampling.period.as_nanos().max(1);
            sampling
                .sampler
                .reserve(usize::try_from(count).unwrap_or(0) + 8);
        }
    }

    fn set_timer(&self, period: Duration) -> Result<(), HostError> {
        let failed = || HostError::new("cannot set the sampling timer");
        let every = Timespec::try_from(period).map_err(|_| failed())?;
        let value = Itimerspec {
            it_interval: every,
            it_value: every,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value)
            .map_err(|e| failed().because(e))?;
        Ok(())
    }
}

/// This process, its parent, and helpers of the same program below it.
fn own_pids() -> Vec<u32> {
    let own = std::process::id();
    let parent = std::os::unix::process::parent_id();
    let program = fs::read_link("/proc/self/exe").ok();
    let helpers = process::all()
        .filter(|pid| process::parent_of(*pid) == Some(own))
        .filter(|pid| {
            program.is_some() && fs::read_link(format!("/proc/{pid}/exe")).ok() == program
        });
    [own, parent].into_iter().chain(helpers).collect()
}

fn not_sampling() -> HostError {
    HostError::new("sampling was not started")
}

impl Host for LocalHost {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn clock(&self) -> Result<u64, HostError> {
        Ok(process::clock_ns())
    }

    fn facts(&self) -> Result<MachineFacts, HostError> {
        facts::facts()
    }

    fn start_sampling(
        &self,
        subjects: &[SampleSubject],
        own: &[u32],
        period_ms: u64,
    ) -> Result<(), HostError> {
        let period = Duration::from_millis(period_ms.max(1));
        let mut sampler = Sampler::new(subjects, &[&own_pids()[..], own].concat());
        sampler.sample();
        *self.sampler.borrow_mut() = Some(Sampling { sampler, period });
        self.set_timer(period)
    }

    fn sample_also(&self, subjects: &[SampleSubject]) -> Result<(), HostError> {
        let mut sampling = self.sampler.borrow_mut();
        let sampling = sampling.as_mut().ok_or_else(not_sampling)?;
        // Engines of this process may have begun helpers meanwhile.
        sampling.sampler.also(subjects, &own_pids());
        sampling.sampler.sample();
        Ok(())
    }

    fn stop_sampling(&self) -> Result<Sampled, HostError> {
        self.set_timer(Duration::ZERO)?;
        let mut sampling = self.sampler.borrow_mut().take().ok_or_else(not_sampling)?;
        sampling.sampler.sample();
        Ok(sampling.sampler.finish())
    }

    fn memory(&self, subjects: &[SampleSubject]) -> Result<Vec<MemorySample>, HostError> {
        Ok(memory::proportional(subjects))
    }

    fn limits(&self, service: &Locator) -> Result<LimitsReadBack, HostError> {
        if process::start_ticks(service.pid) == Some(service.start_ticks) {
            Ok(cgroup::read_limits(service))
        } else {
            Err(HostError::new(format!(
                "the first process of service '{}', {}, is gone",
                service.service, service.pid
            )))
        }
    }

    fn digests(&self, pids: &[u32]) -> Result<Vec<ProgramDigest>, HostError> {
        digest::digests(pids)
    }

    fn fetch(&self, from: &str, to: &Path) -> Result<(), HostError> {
        fs::copy(from, to)
            .map(|_| ())
            .map_err(|e| HostError::io(&format!("copy {from} to"), to, e))
    }

    fn kill_tree(&self, service: &Locator) -> Result<(), HostError> {
        let own = cgroup::Group::from_paths(&service.cgroups);
        if let Some(folder) = own.private_folder() {
            return cgroup::kill_all(folder);
        }
        if process::start_ticks(service.pid) == Some(service.start_ticks) {
            process::kill_and_wait(service.pid, Duration::from_secs(10));
        }
        Ok(())
    }

    fn freeze(&self, service: &Locator, frozen: bool) -> Result<(), HostError> {
        let own = cgroup::Group::from_paths(&service.cgroups);
        if own.private_folder().is_none() {
            let name = &service.service;
            let message = format!("service '{name}' has no control group of its own to freeze");
            return Err(HostError::new(message));
        }
        let mut all = self.frozen.borrow_mut();
        all.retain(|one| one.service != service.service);
        if frozen {
            // What fails half way is thawed, too.
            all.push(service.clone());
        }
        own.freeze(frozen)
    }

    fn enter(&self, object: &Object) -> Result<(), HostError> {
        self.ledger.borrow_mut().as_mut().map_or_else(
            || Err(HostError::new("no run is open, so nothing can be made")),
            |ledger| ledger.enter(object),
        )
    }

    fn gone(&self, object: &Object) {
        if let Some(ledger) = self.ledger.borrow_mut().as_mut() {
            ledger.gone(object);
        }
    }
}
