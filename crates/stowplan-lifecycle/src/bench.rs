//! A service under test: its deployment, its host, and what is heard of it.

use std::time::Duration;

use stowplan_engine::{Deployment, Variant};
use stowplan_measure::RunError;
use stowplan_measure::progress::Fault;
use stowplan_site::Site;
use stowplan_wire::agent::{Announced, Recipients};
use stowplan_wire::announce::Control;
use stowplan_wire::deployment::{EngineEvent, EngineEventKind, Select, StopMode};
use stowplan_wire::service::ServicePlan;

use crate::ready::{Answers, Readiness};

/// Longest wait for a service to be ready: one that takes longer hangs.
const STALL: Duration = Duration::from_secs(60);

/// Engines that tell nothing by themselves are asked so often. A supervisor hears of an event so late at most.
pub(crate) const LOOK_MS: u64 = 2;

/// How a service is asked to end.
pub(crate) const ASKED: StopMode = StopMode::Terminate { grace_ms: 5_000 };

/// Selects one service.
pub(crate) fn only(service: &str) -> Select {
    Select::Services(vec![service.to_owned()])
}

/// What was heard since the last look.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) events: Vec<EngineEvent>,
    pub(crate) said: Vec<Announced>,
}

/// What was done to start a service again, and when it was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Again {
    /// Nothing was left of it.
    pub(crate) removed_ns: Option<u64>,
    /// It was created; `None` where that is not told apart.
    pub(crate) created_ns: Option<u64>,
    /// Its program ran.
    pub(crate) up_ns: Option<u64>,
    /// It was ready.
    pub(crate) ready_ns: u64,
}

/// A prepared deployment of which one service is tried.
pub struct Bench<'a> {
    pub(crate) site: &'a dyn Site,
    pub(crate) deployment: &'a mut dyn Deployment,
    pub(crate) can: &'a Variant,
    /// Plans of all services.
    pub(crate) plans: &'a [ServicePlan],
    /// The one that is tried.
    pub(crate) plan: &'a ServicePlan,
    /// Whether it has passed a health check since its start.
    pub(crate) is_healthy: bool,
}

impl Bench<'_> {
    /// Name of the service that is tried.
    pub(crate) fn service(&self) -> &str {
        &self.plan.service
    }

    pub(crate) fn only(&self) -> Select {
        only(self.service())
    }

    /// The host's clock.
    pub(crate) fn now(&self) -> Result<u64, RunError> {
        Ok(self.site.clock()?)
    }

    /// What has happened, waiting at most so long for something to happen.
    pub(crate) fn look(&mut self, wait_ms: u64) -> Result<Heard, RunError> {
        let watched = self.site.watch(wait_ms)?;
        let mut events = watched.engine;
        events.extend(self.deployment.events(Duration::ZERO)?);
        for event in events
            .iter()
            .filter(|event| event.service == self.plan.service)
        {
            match event.kind {
                EngineEventKind::Healthy => self.is_healthy = true,
                EngineEventKind::Unhealthy | EngineEventKind::Exited(_) => self.is_healthy = false,
                _ => {}
            }
        }
        Ok(Heard {
            events,
            said: watched.announcements,
        })
    }

    /// Lets time pass; what is told meanwhile is of the past.
    pub(crate) fn pass(&mut self, time: Duration) -> Result<(), RunError> {
        let until = self.now()? + nanos(time);
        loop {
            let left = until.saturating_sub(self.now()?);
            if left == 0 {
                self.look(0)?;
                return Ok(());
            }
            self.look(left.div_ceil(1_000_000).min(50))?;
        }
    }

    /// Creates and starts all services and waits until each is ready.
    pub(crate) fn bring_up(&mut self) -> Result<(), RunError> {
        let plans = self.plans;
        let all = plans.iter().map(|plan| plan.service.clone()).collect();
        let all = Select::Services(all);
        let since = self.now()?;
        self.deployment.create(&all)?;
        self.deployment.start(&all)?;
        let mut all: Vec<_> = plans
            .iter()
            .map(|plan| Readiness::new(plan, since))
            .collect();
        while !all.iter().all(|one| one.ready_ns().is_some()) {
            let heard = self.look(LOOK_MS)?;
            for one in &mut all {
                take(one, &heard)?;
            }
            self.not_too_long(since, all.iter().find(|one| one.ready_ns().is_none()))?;
        }
        Ok(())
    }

    /// Waits until a start of the service after `since` is ready; gives when it was.
    pub(crate) fn ready(&mut self, since_ns: u64) -> Result<u64, RunError> {
        Ok(self.started(since_ns)?.ready_ns)
    }

    /// The same, with the instant at which its program ran.
    fn started(&mut self, since_ns: u64) -> Result<Again, RunError> {
        let mut readiness = Readiness::new(self.plan, since_ns);
        loop {
            if let Some(ready_ns) = readiness.ready_ns() {
                return Ok(Again {
                    up_ns: readiness.up_ns(),
                    ready_ns,
                    ..Again::default()
                });
            }
            let heard = self.look(LOOK_MS)?;
            take(&mut readiness, &heard)?;
            self.not_too_long(since_ns, Some(&readiness))?;
        }
    }

    /// Creates and starts the service; gives when it was ready.
    pub(crate) fn begin(&mut self) -> Result<u64, RunError> {
        let (only, since) = (self.only(), self.now()?);
        self.deployment.create(&only)?;
        self.deployment.start(&only)?;
        self.ready(since)
    }

    /// Ends what may be left of the service and starts it again; gives when that was done.
    pub(crate) fn begin_again(&mut self) -> Result<Again, RunError> {
        let only = self.only();
        self.deployment.stop(&only, StopMode::Kill)?;
        self.look(0)?;
        self.is_healthy = false;
        let removed = self.now()?;
        self.deployment.create(&only)?;
        let created = self.now()?;
        self.deployment.start(&only)?;
        let started = self.started(removed)?;
        Ok(Again {
            removed_ns: Some(removed),
            created_ns: self.can.separate_create.then_some(created),
            ..started
        })
    }

    /// Waits until the service has passed a health check of its engine.
    pub(crate) fn until_healthy(&mut self) -> Result<(), RunError> {
        let since = self.now()?;
        while !self.is_healthy {
            self.look(LOOK_MS)?;
            if self.now()?.saturating_sub(since) >= nanos(STALL) {
                let service = self.service();
                let message =
                    format!("service '{service}' has not passed a health check in {STALL:?}");
                return Err(RunError::new(message));
            }
        }
        Ok(())
    }

    /// Waits until every process has answered a ping of this instant.
    pub(crate) fn answered(&mut self, since_ns: u64) -> Result<u64, RunError> {
        let mut answers = Answers::new(self.plan, since_ns);
        loop {
            if let Some(all) = answers.all_ns() {
                return Ok(all);
            }
            let heard = self.look(LOOK_MS)?;
            heard.said.iter().for_each(|said| answers.take(said));
            self.not_too_long(since_ns, None)?;
        }
    }

    /// Asks every process of the service to answer; gives the instant before that.
    pub(crate) fn ping(&self) -> Result<u64, RunError> {
        let told = self
            .site
            .tell_service(self.service(), Recipients::All, &Control::Ping);
        Ok(told?)
    }

    fn not_too_long(
        &self,
        since_ns: u64,
        readiness: Option<&Readiness<'_>>,
    ) -> Result<(), RunError> {
        if self.now()?.saturating_sub(since_ns) < nanos(STALL) {
            return Ok(());
        }
        let missing = readiness.and_then(Readiness::missing);
        Err(RunError::not_ready(missing, STALL))
    }
}

/// Takes in what was heard. One that came up and ended is not waited for any longer.
pub(crate) fn take(readiness: &mut Readiness<'_>, heard: &Heard) -> Result<(), RunError> {
    for said in &heard.said {
        readiness.take(said)?;
    }
    let up = readiness.up_ns().filter(|_| readiness.ready_ns().is_none());
    let end = end_ns(heard, readiness.service());
    if up.zip(end).is_some_and(|(up, end)| end > up) {
        return Err(RunError::from(Fault {
            service: readiness.service().to_owned(),
            what: "ended before it was ready".to_owned(),
        }));
    }
    Ok(())
}

/// When an engine told the end of a service, or that it is out of memory or unhealthy, as the first of these events has it.
pub(crate) fn end_ns(heard: &Heard, service: &str) -> Option<u64> {
    let ends = heard.events.iter().filter(|event| {
        let ends = matches!(
            event.kind,
            EngineEventKind::Exited(_) | EngineEventKind::OutOfMemory | EngineEventKind::Unhealthy
        );
        ends && event.service == service
    });
    ends.map(|event| event.t_ns).min()
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
