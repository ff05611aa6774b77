//! Faults at random instants: who detects them, and when the service is ready again.

use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stowplan_engine::Variant;
use stowplan_measure::RunError;
use stowplan_wire::agent::{Recipients, ServiceSignal};
use stowplan_wire::announce::{Announcement, Control, OwnFault};
use stowplan_wire::deployment::{HealthPlan, StopMode};
use stowplan_wire::service::ANSWERED_WITHIN_MS;

use crate::bench::{Again, Bench, Heard, LOOK_MS, end_ns, nanos, only, take};
use crate::fault::{EXIT_STATUS, Fault, Keeper, Settings};
use crate::figures::{DETECTED, Figure, READY_AGAIN, RecoveryStep};
use crate::ready::{Answers, Readiness};

/// A service without a plan: its program ends at once.
pub(crate) const PLANLESS: &str = "planless";

/// A fault comes at an instant drawn from so long a time. A watchdog's pings go into it without a rest.
const PHASE: Duration = Duration::from_millis(500);

/// A watchdog pings so often.
pub(crate) const PING_EVERY: Duration = Duration::from_millis(100);

/// A watchdog gives a service up that has not answered for so long.
pub(crate) const UNANSWERED: Duration = Duration::from_millis(ANSWERED_WITHIN_MS);

/// Longest wait for a process to say that it is about to fail.
const OBEYING: Duration = Duration::from_secs(10);

/// What a check that fails takes at most: the time between two of them, its own, and that in which an engine ends a service.
const CHECKED: Duration = Duration::from_millis(2 * (CHECKS.every_ms + CHECKS.within_ms));

/// As short as every engine lets it be: Kubernetes counts whole seconds.
pub(crate) const CHECKS: HealthPlan = HealthPlan {
    command: None,
    every_ms: 1_000,
    within_ms: 1_000,
    start_ms: 60_000,
};

/// Using memory up takes time, on a busy machine more than a second: this fault has so many times the patience of others.
const FILLING: u32 = 20;

/// Which faults are tried, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trials {
    /// The faults.
    pub faults: Vec<Fault>,
    /// What is not detected, or not ready again, within this time, never is. It has in it what an engine waits by itself.
    pub patience: Duration,
    /// Memory limit of the service, where the place has one.
    pub memory_bytes: Option<u64>,
    /// What the engine is given to bring the service back by itself.
    pub settings: Settings,
    /// Seed of instants and order.
    pub seed: u64,
}

/// What became of a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Became {
    /// When it took effect.
    pub(crate) fault_ns: u64,
    /// When the engine told it.
    pub(crate) told_ns: Option<u64>,
    /// When a ping had not been answered for too long.
    pub(crate) unanswered_ns: Option<u64>,
    /// When the service was ready again.
    pub(crate) ready_ns: Option<u64>,
    /// When the keeper heard of it.
    pub(crate) heard_ns: Option<u64>,
    /// What was done to bring it back.
    pub(crate) again: Again,
}

impl Became {
    /// What happened, in order, where the service came back.
    fn steps(&self) -> Vec<(RecoveryStep, u64)> {
        if self.ready_ns.is_none() {
            return Vec::new();
        }
        let all = [
            (
                RecoveryStep::Detected,
                earlier(self.told_ns, self.unanswered_ns),
            ),
            (RecoveryStep::Heard, self.heard_ns),
            (RecoveryStep::Removed, self.again.removed_ns),
            (RecoveryStep::Created, self.again.created_ns),
            (RecoveryStep::Up, self.again.up_ns),
            (RecoveryStep::Ready, self.ready_ns),
        ];
        let known = all.into_iter();
        let known = known.filter_map(|(step, ns)| Some((step, ns?)));
        known.collect()
    }
}

impl Trials {
    /// Who is to bring the service back after a fault, one after the other.
    fn keepers(&self, fault: Fault) -> impl Iterator<Item = Keeper> {
        let all = Keeper::of(fault).iter().copied();
        let settings = self.settings;
        all.filter(move |keeper| keeper.settings() == settings)
    }

    /// The faults that somebody brings the service back from with these settings.
    #[must_use]
    pub fn with_settings(&self) -> Vec<Fault> {
        let all = self.faults.iter().copied();
        all.filter(|fault| self.keepers(*fault).next().is_some())
            .collect()
    }

    /// Rows of an engine that lacks these settings; `None` where it has them.
    #[must_use]
    pub fn without(&self, can: &Variant) -> Option<Vec<Figure>> {
        let (keeper, why) = match self.settings {
            // Its default is in the rows of other settings.
            Settings::ByDefault if can.restarts_by_default_ms.is_none() => return Some(Vec::new()),
            Settings::Restarts if !can.restarts => {
                (Keeper::Policy, "this engine restarts nothing by itself")
            }
            Settings::HealthChecks if can.health.is_none() => {
                (Keeper::Health, "this engine has no health checks")
            }
            _ => return None,
        };
        let all = self.faults.iter().copied();
        let all = all.filter(|fault| Keeper::of(*fault).contains(&keeper));
        let why = || Err(why.to_owned());
        let all = all.map(|fault| Figure::of_fault(READY_AGAIN, fault, keeper, why()));
        Some(all.collect())
    }

    /// How long the way back is given once the fault is told: a failed check may be told before the engine ends the service.
    fn patience_when_told(&self) -> Duration {
        match self.settings {
            Settings::HealthChecks => self.patience + CHECKED,
            _ => self.patience,
        }
    }

    /// How long a fault is given: memory has to be used up first, and a check to come and to fail.
    fn patience_with(&self, fault: Fault) -> Duration {
        match (fault, self.settings) {
            (Fault::Memory, _) => self.patience * FILLING,
            _ => self.patience_when_told(),
        }
    }

    /// From how long a time instants are drawn: from all between two checks, where there are checks.
    fn phase(&self) -> Duration {
        match self.settings {
            Settings::HealthChecks => Duration::from_millis(CHECKS.every_ms),
            _ => PHASE,
        }
    }

    /// Every fault before every keeper, in the order of this block, with how long to wait before each.
    fn order(&self, block: u32) -> Vec<(Fault, Duration)> {
        let mut draw = Pcg64::new(u128::from(self.seed), u128::from(block));
        let mut faults = self.faults.clone();
        faults.shuffle(&mut draw);
        let most = nanos(self.phase());
        let phases = faults.into_iter().map(|fault| {
            let mut draw =
                Pcg64::seed_from_u64(self.seed ^ (u64::from(block) << 32) ^ fault as u64);
            (fault, Duration::from_nanos(draw.random_range(0..most)))
        });
        phases.collect()
    }
}

impl Bench<'_> {
    /// Every fault once before every keeper, on a service that runs. It runs at the end, too.
    pub(crate) fn faults(&mut self, trials: &Trials, block: u32) -> Result<Vec<Figure>, RunError> {
        let mut figures = Vec::new();
        for (fault, phase) in trials.order(block) {
            figures.extend(match fault {
                Fault::FailedStart if trials.settings != Settings::None => Vec::new(),
                Fault::FailedStart => vec![self.failed_start(trials)?],
                Fault::Memory if trials.memory_bytes.is_none() => without_limit(trials),
                _ => self.fault(fault, phase, trials)?,
            });
        }
        Ok(figures)
    }

    fn fault(
        &mut self,
        fault: Fault,
        phase: Duration,
        trials: &Trials,
    ) -> Result<Vec<Figure>, RunError> {
        let mut figures = Vec::new();
        let mut alone: Option<Became> = None;
        for keeper in trials.keepers(fault) {
            if keeper == Keeper::HealthSupervisor
                && alone.is_some_and(|became| became.ready_ns.is_some())
            {
                // The engine does it.
                continue;
            }
            let waits_for_engine = matches!(keeper, Keeper::Supervisor | Keeper::HealthSupervisor);
            if waits_for_engine && alone.is_some_and(|became| became.told_ns.is_none()) {
                // It starts nothing that nobody tells it of.
                figures.push(figure(READY_AGAIN, fault, keeper, None, trials));
                continue;
            }
            if trials.settings != Settings::None {
                // An engine waits the longer the more often it has restarted a service.
                self.begin_again()?;
            }
            if trials.settings == Settings::HealthChecks {
                self.until_healthy()?;
            }
            self.pass(phase)?;
            let asked = self.inject(fault, trials)?;
            let pings = (keeper == Keeper::Watchdog).then(|| Pings::after(asked.at_ns, phase));
            let became = self.observe(asked, (keeper, pings), trials, fault)?;
            let since = |at: Option<u64>| at.map(|ns| ns.saturating_sub(became.fault_ns));
            if keeper.detects() {
                let at = earlier(became.told_ns, became.unanswered_ns);
                figures.push(figure(DETECTED, fault, keeper, since(at), trials));
            }
            if matches!(keeper, Keeper::Engine | Keeper::Health) {
                alone = Some(became);
            }
            figures.push(figure(
                READY_AGAIN,
                fault,
                keeper,
                since(became.ready_ns),
                trials,
            ));
            for (step, ns) in became.steps() {
                let value = Ok(ns.saturating_sub(became.fault_ns));
                figures.push(Figure::of_step(fault, keeper, step, value));
            }
            if became.ready_ns.is_none() {
                self.begin_again()?;
            }
        }
        Ok(figures)
    }

    /// Puts a fault into the service, or asks its first process to fail.
    fn inject(&mut self, fault: Fault, trials: &Trials) -> Result<Injected, RunError> {
        let own = match fault {
            Fault::Kill => return self.signal(Recipients::Launcher, ServiceSignal::Kill),
            Fault::Hang => return self.signal(Recipients::All, ServiceSignal::Stop),
            Fault::Exit => OwnFault::Exit(EXIT_STATUS),
            // Twice what it may have is more than it can get.
            Fault::Memory => OwnFault::Allocate(trials.memory_bytes.unwrap_or(0) * 2),
            Fault::Deadlock => OwnFault::Deadlock,
            Fault::Crash | Fault::FailedStart => OwnFault::Crash,
        };
        let control = Control::Fault(own);
        let to = Recipients::Launcher;
        let at_ns = self.site.tell_service(self.service(), to, &control)?;
        Ok(Injected { at_ns, own: true })
    }

    fn signal(&self, to: Recipients, signal: ServiceSignal) -> Result<Injected, RunError> {
        let at_ns = self.site.signal_service(self.service(), to, signal)?;
        Ok(Injected { at_ns, own: false })
    }

    /// Watches a service that fails, until it is ready again or the keeper has had its time.
    fn observe(
        &mut self,
        injected: Injected,
        (keeper, mut pings): (Keeper, Option<Pings>),
        trials: &Trials,
        fault: Fault,
    ) -> Result<Became, RunError> {
        let mut became = Became {
            fault_ns: injected.at_ns,
            ..Became::default()
        };
        let mut has_failed = !injected.own;
        let mut readiness = Readiness::new(self.plan, injected.at_ns);
        loop {
            let heard = self.look(LOOK_MS)?;
            if let Some(t_ns) = faulting_ns(&heard, self.service()) {
                (became.fault_ns, has_failed) = (t_ns, true);
            }
            became.told_ns = became.told_ns.or_else(|| end_ns(&heard, self.service()));
            take(&mut readiness, &heard)?;
            became.ready_ns = readiness.ready_ns();
            became.again.up_ns = readiness.up_ns();
            if let Some(pings) = &mut pings {
                became.unanswered_ns = pings.look(self, &heard)?;
            }
            let is_noticed = earlier(became.told_ns, became.unanswered_ns).is_some();
            if has_failed && is_noticed && keeper.is_ours() {
                became.heard_ns = Some(self.now()?);
                became.again = self.begin_again()?;
                became.ready_ns = Some(became.again.ready_ns);
            }
            let waited = self.now()?.saturating_sub(injected.at_ns);
            if !has_failed && waited > nanos(OBEYING) {
                let service = self.service();
                let message = format!("service '{service}' was asked to fail and does not");
                return Err(RunError::new(message));
            }
            let in_vain = match became.told_ns {
                // What is told and does not come back is given its time from there on.
                Some(told) => {
                    self.now()?.saturating_sub(told) >= nanos(trials.patience_when_told())
                }
                None => has_failed && waited >= nanos(trials.patience_with(fault)),
            };
            // A kubelet may tell of an end when the next container is ready already.
            let may_be_told = keeper == Keeper::Health && became.told_ns.is_none();
            if in_vain || (became.ready_ns.is_some() && !may_be_told) {
                return Ok(became);
            }
        }
    }

    /// Starts a service whose program ends at once, while the others run.
    fn failed_start(&mut self, trials: &Trials) -> Result<Figure, RunError> {
        let planless = only(PLANLESS);
        self.look(0)?;
        let mut begin = self.now()?;
        let mut refused = self.deployment.create(&planless);
        if refused.is_ok() {
            begin = self.now()?;
            refused = self.deployment.start(&planless);
        }
        let mut told = match refused {
            // The verb itself says that it is gone.
            Err(error) if error.service.as_deref() == Some(PLANLESS) => Some(self.now()?),
            Err(error) => return Err(error.into()),
            Ok(()) => None,
        };
        while told.is_none() && self.now()?.saturating_sub(begin) < nanos(trials.patience) {
            let heard = self.look(LOOK_MS)?;
            told = end_ns(&heard, PLANLESS);
        }
        self.deployment.stop(&planless, StopMode::Kill)?;
        self.look(0)?;
        let took = told.map(|ns| ns.saturating_sub(begin));
        Ok(figure(
            DETECTED,
            Fault::FailedStart,
            Keeper::Engine,
            took,
            trials,
        ))
    }
}

/// A fault that was put into a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Injected {
    /// The host's clock before that.
    at_ns: u64,
    /// The process does it by itself, and says when.
    own: bool,
}

/// The pings of a watchdog.
struct Pings {
    next_ns: u64,
    /// The oldest that is not answered by all.
    open: Option<Answers>,
    open_since_ns: u64,
}

impl Pings {
    /// Those after a fault that came so long after a ping, or after several.
    fn after(fault_ns: u64, phase: Duration) -> Self {
        Self {
            next_ns: fault_ns + nanos(PING_EVERY) - nanos(phase) % nanos(PING_EVERY),
            open: None,
            open_since_ns: fault_ns,
        }
    }

    /// Pings where it is due; gives when an answer has been missing for too long.
    fn look(&mut self, bench: &Bench<'_>, heard: &Heard) -> Result<Option<u64>, RunError> {
        if let Some(open) = &mut self.open {
            heard.said.iter().for_each(|said| open.take(said));
            if open.all_ns().is_some() {
                self.open = None;
            }
        }
        let now = bench.now()?;
        let unanswered = self.open.is_some() && now - self.open_since_ns >= nanos(UNANSWERED);
        if unanswered {
            return Ok(Some(now));
        }
        if now >= self.next_ns {
            self.next_ns = now + nanos(PING_EVERY);
            // Nobody may be there to ask: then nobody answers.
            let asked = bench.ping().unwrap_or(now);
            if self.open.is_none() {
                self.open = Some(Answers::new(bench.plan, asked));
                self.open_since_ns = asked;
            }
        }
        Ok(None)
    }
}

/// When a process said that it is about to fail.
fn faulting_ns(heard: &Heard, service: &str) -> Option<u64> {
    let said = heard.said.iter().filter(|said| said.service == service);
    said.into_iter().find_map(|said| match said.announcement {
        Announcement::Faulting { t_ns, .. } => Some(t_ns),
        _ => None,
    })
}

fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

/// A figure of a fault: a time, or never.
fn figure(
    metric: &'static str,
    fault: Fault,
    keeper: Keeper,
    value: Option<u64>,
    trials: &Trials,
) -> Figure {
    let patience = match metric {
        DETECTED => trials.patience_with(fault),
        _ => trials.patience_when_told(),
    };
    let value = value.ok_or_else(|| never(patience));
    Figure::of_fault(metric, fault, keeper, value)
}

/// Why there is no time.
fn never(patience: Duration) -> String {
    format!("never, within {} s", patience.as_secs_f64())
}

/// Rows of a fault that this place cannot have.
fn without_limit(trials: &Trials) -> Vec<Figure> {
    let why = || Err("this place has no memory limits".to_owned());
    let keepers = trials.keepers(Fault::Memory);
    let ready = keepers.map(|keeper| Figure::of_fault(READY_AGAIN, Fault::Memory, keeper, why()));
    let detected = Figure::of_fault(DETECTED, Fault::Memory, Keeper::Engine, why());
    let detected = (trials.settings == Settings::None).then_some(detected);
    detected.into_iter().chain(ready).collect()
}

#[cfg(test)]
mod tests;
