//! Node programs of the fake: they announce what real ones do, at instants that are known.

use stowplan_wire::agent::{Announced, Recipients, ServiceSignal};
use stowplan_wire::announce::{Announcement, Control, OwnFault};
use stowplan_wire::deployment::EngineEventKind;

use super::process::Life;
use super::world::World;

/// From its start until a launcher runs.
pub const UP_NS: u64 = 1_000_000;
/// From its start until a service is launched.
pub const LAUNCHED_NS: u64 = 20_000_000;
/// From its start until its endpoints are matched.
pub const MATCHED_NS: u64 = 30_000_000;
/// Until a ping is answered.
pub const ANSWER_NS: u64 = 100_000;
/// From a fault that a process makes of itself to its end.
pub const DYING_NS: u64 = 200_000;

impl World {
    /// A service of the node program has begun: without a plan it ends at once.
    pub(super) fn node_began(&mut self, service: &str) {
        let now = self.clock_ns();
        let plan = self.plans.iter().find(|plan| plan.service == service);
        let Some(plan) = plan else {
            self.ends(service, now + UP_NS, 1);
            return;
        };
        let names: Vec<String> = plan.processes.iter().map(|p| p.name.clone()).collect();
        let up = Announcement::Up {
            process: None,
            first_instruction_ns: now + UP_NS,
            build_id: stowplan_wire::build_id(),
        };
        self.will_say(service, now + UP_NS, up);
        let launched = Announcement::Launched {
            t_ns: now + LAUNCHED_NS,
        };
        self.will_say(service, now + LAUNCHED_NS, launched);
        for process in names {
            let matched = Announcement::Matched {
                process,
                endpoints: 1,
                t_ns: now + MATCHED_NS,
            };
            self.will_say(service, now + MATCHED_NS, matched);
        }
    }

    /// Node programs of a service are told something; gives the clock.
    pub(super) fn tell(&mut self, service: &str, to: Recipients, control: &Control) -> u64 {
        let now = self.now();
        match control {
            Control::Ping => self.answers(service, to, now + ANSWER_NS),
            Control::Fault(fault) => self.faults(service, *fault, now),
            Control::Arm { .. } => self.arms(service, to, now + ANSWER_NS),
            Control::Stop => {}
        }
        now
    }

    /// Node programs of a service get a signal; gives the clock.
    pub(super) fn signal(&mut self, service: &str, signal: ServiceSignal) -> u64 {
        let now = self.now();
        match signal {
            ServiceSignal::Kill => self.ends(service, now, 128 + 9),
            ServiceSignal::Stop => {
                let process = self.processes.iter_mut().find(|p| p.service == service);
                process.into_iter().for_each(|p| p.is_stopped = true);
                self.is_silent(service);
            }
        }
        now
    }

    /// What is said by now.
    pub(super) fn due_announcements(&mut self) -> Vec<Announced> {
        let now = self.clock_ns();
        let all = std::mem::take(&mut self.announcements);
        let (mut said, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(at, _)| *at <= now);
        self.announcements = later;
        said.sort_by_key(|(at, _)| *at);
        said.into_iter().map(|(_, one)| one).collect()
    }

    /// What it would have said, it says no more.
    pub(super) fn is_silent(&mut self, service: &str) {
        self.announcements.retain(|(_, one)| one.service != service);
    }

    /// The control group of a service is frozen or thawed: then it answers what came meanwhile.
    pub(super) fn freezes(&mut self, service: &str, frozen: bool) {
        let now = self.clock_ns();
        let process = self.processes.iter_mut().find(|p| p.service == service);
        let waiting = process.and_then(|process| {
            process.is_frozen = frozen;
            process.pinged.take().filter(|_| !frozen)
        });
        if let Some(to) = waiting {
            self.answers(service, to, now + ANSWER_NS);
        }
    }

    fn answers(&mut self, service: &str, to: Recipients, t_ns: u64) {
        let mut all = self.processes.iter_mut();
        let found = all.find(|p| p.service == service && p.life == Life::Running && !p.is_stopped);
        let Some(process) = found else { return };
        if process.is_frozen {
            process.pinged = Some(to);
            return;
        }
        for process in self.told(service, to) {
            self.will_say(service, t_ns, Announcement::Answer { process, t_ns });
        }
    }

    fn arms(&mut self, service: &str, to: Recipients, t_ns: u64) {
        for process in self.told(service, to) {
            self.will_say(service, t_ns, Announcement::Armed { process });
        }
    }

    /// Names of those that are told something; a launcher has none.
    fn told(&self, service: &str, to: Recipients) -> Vec<Option<String>> {
        let plan = self.plans.iter().find(|plan| plan.service == service);
        let names = plan.into_iter().flat_map(|plan| &plan.processes);
        let names = names.filter(|_| to == Recipients::All);
        let names = names.map(|p| Some(p.name.clone()));
        std::iter::once(None).chain(names).collect()
    }

    fn faults(&mut self, service: &str, fault: OwnFault, now: u64) {
        let (process, t_ns) = (None, now);
        let host = self.name.clone();
        let status = match fault {
            OwnFault::Crash => Some(128 + 11),
            OwnFault::Exit(status) => Some(i32::from(status)),
            OwnFault::Deadlock => {
                let process = self.processes.iter_mut().find(|p| p.service == service);
                process.into_iter().for_each(|p| p.is_stopped = true);
                None
            }
            OwnFault::Allocate(bytes) => {
                let all = &mut self.processes.iter();
                let limit = all.find(|p| p.service == service);
                let limit = limit.and_then(|p| p.limits.memory_bytes);
                limit.is_some_and(|limit| limit < bytes).then_some(128 + 9)
            }
        };
        if let Some(status) = status {
            if matches!(fault, OwnFault::Allocate(_)) {
                self.happened(service, EngineEventKind::OutOfMemory);
            }
            self.ends(service, now + DYING_NS, status);
        }
        // It is on its way already, whatever becomes of its sender.
        self.announcements.push((
            now,
            Announced {
                host,
                service: service.to_owned(),
                pid: 1,
                announcement: Announcement::Faulting { process, t_ns },
            },
        ));
    }

    fn ends(&mut self, service: &str, at_ns: u64, status: i32) {
        let of_service = |p: &&mut super::process::FakeProcess| p.service == service;
        let process = self.processes.iter_mut().find(of_service);
        process
            .into_iter()
            .for_each(|p| p.ends_at = Some((at_ns, status)));
    }

    fn will_say(&mut self, service: &str, at_ns: u64, announcement: Announcement) {
        let one = Announced {
            host: self.name.clone(),
            service: service.to_owned(),
            pid: 1,
            announcement,
        };
        self.announcements.push((at_ns, one));
    }
}
