//! The state of the fake host: its clock, its processes, what is still to be told.

use std::cell::Cell;
use std::rc::Rc;

use stowplan_wire::agent::Announced;
use stowplan_wire::deployment::{EngineEvent, EngineEventKind};
use stowplan_wire::service::ServicePlan;

use super::process::{FakeProcess, Life, NODE};

/// How late the engine tells what happened, in ns.
pub const LATE_NS: u64 = 5_000_000;

/// After what time the engine starts a service again that has ended by itself, in ns.
pub const RESTART_NS: u64 = 10_000_000;

/// The same by default, in ns.
pub const DEFAULT_RESTART_NS: u64 = 3_000_000_000;

/// What passes on all hosts of a test, in ns.
pub(super) type Time = Rc<Cell<u64>>;

/// Something that a faulty engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `stop` returns and nothing has ended.
    StopsNothing,
    /// `create` runs the program.
    CreateRuns,
    /// Ends are not told.
    ForgetsExits,
    /// Ends that were asked for are told as if they came by themselves.
    TellsStops,
    /// Locators name other processes.
    LocatorsLie,
    /// Locators have every service in a PID namespace of its own.
    NamespacesLie,
    /// Limits are stored and do nothing.
    LimitsDoNotAct,
    /// Limits are dropped in silence.
    DropsLimits,
    /// A dropped deployment goes on.
    LeavesServices,
    /// It says that it paused.
    PretendsToPause,
    /// Logs come whole, however much is asked for.
    WholeLogs,
}

/// Sampling that was begun.
#[derive(Debug)]
pub(super) struct Sampling {
    pub(super) begin: u64,
    /// Subject, its control group, and what it had used.
    pub(super) bases: Vec<(String, String, u64)>,
}

#[derive(Debug)]
pub(super) struct World {
    /// Name of the host.
    pub(super) name: String,
    /// Shared with other hosts.
    time: Time,
    /// What its clock reads where that is zero.
    boot_ns: u64,
    /// Until when its processes have computed.
    seen_ns: u64,
    next_pid: u32,
    run: Option<String>,
    pub(super) processes: Vec<FakeProcess>,
    /// Events and when they are told.
    events: Vec<(u64, EngineEvent)>,
    /// Services of the node program in the run.
    pub(super) plans: Vec<ServicePlan>,
    /// What node programs will announce, and when.
    pub(super) announcements: Vec<(u64, Announced)>,
    pub(super) sampling: Option<Sampling>,
    pub(super) fault: Option<Fault>,
}

impl World {
    pub(super) fn new(name: &str, time: Time, boot_ns: u64) -> Self {
        Self {
            name: name.to_owned(),
            seen_ns: time.get(),
            time,
            boot_ns,
            next_pid: 4_000_000,
            run: None,
            processes: Vec::new(),
            events: Vec::new(),
            plans: Vec::new(),
            announcements: Vec::new(),
            sampling: None,
            fault: None,
        }
    }

    /// The clock; asking takes a microsecond.
    pub(super) fn now(&mut self) -> u64 {
        self.advance(1_000);
        self.clock_ns()
    }

    pub(super) fn clock_ns(&self) -> u64 {
        self.boot_ns + self.time.get()
    }

    /// Begins a run: nobody asks for anything of an older one any more.
    pub(super) fn open(&mut self, run: &str) {
        self.run = Some(run.to_owned());
        self.processes.clear();
        self.events.clear();
        self.plans.clear();
        self.announcements.clear();
    }

    pub(super) fn next_pid(&mut self) -> u32 {
        self.next_pid += 10;
        self.next_pid
    }

    /// Something happened to a service; it is told later.
    pub(super) fn happened(&mut self, service: &str, kind: EngineEventKind) {
        let event = EngineEvent {
            service: service.to_owned(),
            kind,
            t_ns: self.clock_ns(),
            clock: format!("host:{}/monotonic", self.name),
        };
        self.events.push((self.clock_ns() + LATE_NS, event));
    }

    /// Lets time pass: hogs compute, processes end.
    pub(super) fn advance(&mut self, ns: u64) {
        let rates: Vec<f64> = self.processes.iter().map(|p| self.rate_of(p)).collect();
        self.time.set(self.time.get() + ns);
        // Other hosts let time pass, too.
        let ns = self.time.get() - self.seen_ns;
        self.seen_ns = self.time.get();
        let now = self.clock_ns();
        self.check(now);
        let mut ended = Vec::new();
        for (process, rate) in self.processes.iter_mut().zip(rates) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate is between 0 and 1"
            )]
            let used = (ns as f64 * rate) as u64;
            process.cpu_ns += used;
            if let Some((at, status)) = process.ends_at
                && at <= now
                && process.life == Life::Running
            {
                process.life = Life::Ended;
                process.ends_at = None;
                process.begins_at = process.restarts_after.map(|after| at + after);
                ended.push((process.service.clone(), status));
            }
        }
        self.restart(now);
        for (service, _) in &ended {
            self.is_silent(service);
        }
        if self.fault == Some(Fault::ForgetsExits) {
            return;
        }
        for (service, status) in ended {
            self.happened(&service, EngineEventKind::Exited(status));
        }
    }

    /// Begins what the engine starts again by now.
    fn restart(&mut self, now: u64) {
        let due = |process: &&mut FakeProcess| process.begins_at.is_some_and(|at| at <= now);
        let mut begun = Vec::new();
        for process in self.processes.iter_mut().filter(due) {
            process.begins_at = None;
            process.begin(now);
            begun.push((process.service.clone(), process.behaviour == NODE));
        }
        for (service, is_node) in begun {
            self.happened(&service, EngineEventKind::Started);
            if is_node {
                self.node_began(&service);
            }
        }
    }

    /// CPUs that a process uses: hogs bound to one CPU share it by weight, others have one each.
    fn rate_of(&self, process: &FakeProcess) -> f64 {
        if !process.is_hog() {
            return 0.0;
        }
        if self.fault == Some(Fault::LimitsDoNotAct) {
            return 0.5;
        }
        let weight = |p: &FakeProcess| f64::from(p.limits.cpu_weight.unwrap_or(100));
        let bound = |p: &FakeProcess| p.limits.cpuset.as_ref().is_some_and(|c| c.len() == 1);
        let share = if bound(process) {
            let rivals = self
                .processes
                .iter()
                .filter(|p| p.is_hog() && p.limits.cpuset == process.limits.cpuset);
            weight(process) / rivals.map(weight).sum::<f64>()
        } else {
            1.0
        };
        share.min(process.limits.cpu_quota.unwrap_or(1.0))
    }

    /// Events that are told by now.
    pub(super) fn due_events(&mut self) -> Vec<EngineEvent> {
        let now = self.clock_ns();
        let (told, later) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.events = later;
        told.into_iter().map(|(_, event)| event).collect()
    }

    /// When the next thing happens or is told, at most `limit`.
    pub(super) fn next(&self, limit: u64) -> u64 {
        let told = self.events.iter().map(|(at, _)| *at);
        let ends = self
            .processes
            .iter()
            .filter(|p| p.life == Life::Running)
            .filter_map(|p| Some(p.ends_at?.0));
        let said = self.announcements.iter().map(|(at, _)| *at);
        let begins = self.processes.iter().filter_map(|p| p.begins_at);
        let checks = self.processes.iter().filter_map(|p| p.checked?.next_ns);
        told.chain(ends)
            .chain(said)
            .chain(begins)
            .chain(checks)
            .fold(limit, u64::min)
            .max(self.clock_ns())
    }

    /// Ends a process; as an event only if it was not asked for.
    pub(super) fn end(&mut self, service: &str, event: Option<EngineEventKind>) {
        let mut all = self.processes.iter_mut();
        let process = all.find(|p| p.service == service).and_then(|process| {
            process.begins_at = None;
            (process.life != Life::Ended).then_some(process)
        });
        if let Some(process) = process {
            process.life = Life::Ended;
            self.is_silent(service);
            if let Some(kind) = event {
                self.happened(service, kind);
            }
        }
    }

    /// The control group of a service.
    pub(super) fn group(&self, service: &str) -> String {
        format!("/fake/{}/{service}", self.run.as_deref().unwrap_or("none"))
    }
}
