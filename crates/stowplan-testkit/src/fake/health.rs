//! Health checks of the fake: a first one that passes, and failures at instants that are known.

use stowplan_wire::deployment::EngineEventKind;

use super::process::{FakeProcess, Life, NODE};
use super::world::World;

/// Time between two checks of a service, and from its start to the first of them.
pub const CHECK_NS: u64 = 50_000_000;

/// A program that is no node passes so many checks.
const PASSES: u32 = 3;

/// What is known of a process that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checked {
    /// When it is checked next; `None` while it does not run, or is unhealthy.
    pub(super) next_ns: Option<u64>,
    passed: u32,
}

impl Checked {
    pub(super) const fn not_yet() -> Self {
        Self {
            next_ns: None,
            passed: 0,
        }
    }

    /// Of a process that begins at `now`.
    pub(super) const fn from(now: u64) -> Self {
        Self {
            next_ns: Some(now + CHECK_NS),
            passed: 0,
        }
    }
}

impl FakeProcess {
    /// What a check tells that is due by now.
    fn check(&mut self, now: u64) -> Option<EngineEventKind> {
        let checked = self.checked.as_mut()?;
        let due = checked.next_ns.filter(|at| *at <= now)?;
        if self.life != Life::Running {
            checked.next_ns = None;
            return None;
        }
        let passes = !self.is_stopped && (self.behaviour == NODE || checked.passed < PASSES);
        if !passes {
            checked.next_ns = None;
            self.ends_at = Some((due, 128 + 9));
            return Some(EngineEventKind::Unhealthy);
        }
        checked.passed += 1;
        checked.next_ns = Some(due + CHECK_NS);
        (checked.passed == 1).then_some(EngineEventKind::Healthy)
    }
}

impl World {
    /// Checks what is due by now.
    pub(super) fn check(&mut self, now: u64) {
        let all = self.processes.iter_mut();
        let told = all.filter_map(|process| Some((process.service.clone(), process.check(now)?)));
        for (service, kind) in told.collect::<Vec<_>>() {
            self.happened(&service, kind);
        }
    }
}
