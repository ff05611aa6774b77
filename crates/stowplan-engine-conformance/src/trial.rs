//! One run of a case: services, their deployment, and what is seen of them.

use std::time::Duration;

use stowplan_engine::{Deployment, EngineError, Variant};
use stowplan_host::chain;
use stowplan_wire::deployment::{
    DeploymentPlan, EngineEvent, EngineEventKind, LimitsPlan, Locator, Select, ServiceStart,
};

use crate::{Behaviour, Setup};

/// Why a case does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The engine cannot do it, by this capability.
    Unsupported(String),
    /// It went wrong.
    Failed(String),
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Failed(chain(&error))
    }
}

impl From<stowplan_host::HostError> for Stop {
    fn from(error: stowplan_host::HostError) -> Self {
        Self::Failed(chain(&error))
    }
}

/// Fails with `why` unless `holds`.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Stop> {
    if holds {
        Ok(())
    } else {
        Err(Stop::Failed(why()))
    }
}

/// Ends the case as unsupported unless the engine says that it can.
pub(crate) fn needs(can: bool, capability: &str) -> Result<(), Stop> {
    if can {
        Ok(())
    } else {
        Err(Stop::Unsupported(capability.to_owned()))
    }
}

/// Longest wait for something that should happen, on the host's clock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks where there is no event.
const LOOK: Duration = Duration::from_millis(10);

/// An open run with a prepared deployment.
pub(crate) struct Trial<'a> {
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) can: Variant,
    pub(crate) deployment: Option<Box<dyn Deployment>>,
    /// Every event so far, in order.
    pub(crate) seen: Vec<EngineEvent>,
}

/// A service of a trial.
pub(crate) type Wanted<'a> = (&'a str, Behaviour, LimitsPlan);

/// A service without limits.
pub(crate) fn plain(name: &str, behaviour: Behaviour) -> Wanted<'_> {
    (name, behaviour, LimitsPlan::default())
}

/// Selects one service.
pub(crate) fn only(service: &str) -> Select {
    Select::Services(vec![service.to_owned()])
}

impl<'a> Trial<'a> {
    /// Opens a run and prepares these services.
    pub(crate) fn prepare(setup: &'a Setup<'a>, services: &[Wanted<'_>]) -> Result<Self, Stop> {
        let plan = Self::plan(setup, services)?;
        Self::prepare_plan(setup, &plan)
    }

    /// Opens a run and makes the plan of these services.
    pub(crate) fn plan(setup: &Setup<'_>, services: &[Wanted<'_>]) -> Result<DeploymentPlan, Stop> {
        let Some(can) = setup.can() else {
            return Err(Stop::Failed("the engine has no such variant".to_owned()));
        };
        let rootfs = if can.command {
            None
        } else {
            needs(can.rootfs && setup.rootfs.is_some(), "program.command")?;
            setup.rootfs.as_deref()
        };
        let run = Setup::next_run();
        let run_dir = setup.stage.open_run(&run)?;
        Ok(DeploymentPlan {
            services: services
                .iter()
                .map(|(name, behaviour, limits)| ServiceStart {
                    limits: limits.clone(),
                    log: format!("{run_dir}/{name}.log"),
                    ..ServiceStart::new(*name, behaviour.program(rootfs))
                })
                .collect(),
            image_dir: run_dir.clone(),
            run,
            run_dir,
            variant: setup.variant.clone(),
            isolation: setup.isolation,
            parallelism: 0,
        })
    }

    /// Prepares a plan made by [`Trial::plan`].
    pub(crate) fn prepare_plan(setup: &'a Setup<'a>, plan: &DeploymentPlan) -> Result<Self, Stop> {
        let mut trial = Self {
            can: setup
                .can()
                .ok_or_else(|| Stop::Failed("the engine has no such variant".to_owned()))?,
            setup,
            deployment: None,
            seen: Vec::new(),
        };
        let stage = setup.stage;
        trial.deployment = Some(stage.engine().prepare(plan, stage.host())?);
        Ok(trial)
    }

    /// Prepares, creates and starts these services.
    pub(crate) fn start(setup: &'a Setup<'a>, services: &[Wanted<'_>]) -> Result<Self, Stop> {
        let mut trial = Self::prepare(setup, services)?;
        trial.deployment().create(&Select::All)?;
        trial.deployment().start(&Select::All)?;
        Ok(trial)
    }

    /// The deployment.
    ///
    /// # Panics
    /// After it was dropped, which a case does as its last step only.
    pub(crate) fn deployment(&mut self) -> &mut dyn Deployment {
        match &mut self.deployment {
            Some(deployment) => &mut **deployment,
            None => unreachable!("a case uses its deployment until it drops it"),
        }
    }

    /// The host's clock.
    pub(crate) fn now(&self) -> Result<u64, Stop> {
        Ok(self.setup.stage.host().clock()?)
    }

    /// Lets time pass on the host and keeps the events of it.
    pub(crate) fn pass(&mut self, time: Duration) -> Result<(), Stop> {
        let until = self.now()? + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
        loop {
            let now = self.now()?;
            if now >= until {
                return Ok(());
            }
            let events = self
                .deployment()
                .events(Duration::from_nanos(until - now))?;
            self.seen.extend(events);
        }
    }

    /// Waits until `holds`, looking again after every event and every few milliseconds.
    pub(crate) fn until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&mut Self) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        let begin = self.now()?;
        loop {
            let events = self.deployment().events(Duration::ZERO)?;
            self.seen.extend(events);
            if holds(self)? {
                return Ok(());
            }
            let waited = Duration::from_nanos(self.now()?.saturating_sub(begin));
            ensure(waited < PATIENCE, || {
                format!(
                    "waited {waited:?} in vain for: {what}; events: {:?}",
                    self.seen
                )
            })?;
            let events = self.deployment().events(LOOK)?;
            self.seen.extend(events);
        }
    }

    /// Waits until the log of `service` has the line.
    pub(crate) fn says(&mut self, service: &str, line: &str) -> Result<(), Stop> {
        let mut log = String::new();
        let said = self.until(&format!("'{line}' in the log of {service}"), |trial| {
            log = trial.deployment().log(service, 1 << 20)?;
            Ok(log.lines().any(|found| found == line))
        });
        said.map_err(|stop| match stop {
            Stop::Failed(why) => Stop::Failed(format!("{why}; its log: {log:?}")),
            other => other,
        })
    }

    /// Waits for an event of `service`.
    pub(crate) fn hears(&mut self, service: &str, kind: EngineEventKind) -> Result<(), Stop> {
        self.until(&format!("{kind:?} of {service}"), |trial| {
            Ok(trial.has_seen(service, kind))
        })
    }

    /// Whether an event of `service` has come.
    pub(crate) fn has_seen(&self, service: &str, kind: EngineEventKind) -> bool {
        self.seen
            .iter()
            .any(|event| event.service == service && event.kind == kind)
    }

    /// Where `service` is.
    pub(crate) fn locator(&mut self, service: &str) -> Result<Locator, Stop> {
        self.deployment()
            .locators()?
            .into_iter()
            .find(|locator| locator.service == service)
            .ok_or_else(|| Stop::Failed(format!("no locator for {service}")))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.deployment = None;
        // What is left shows in the next case, which opens a run of its own.
        let _ = self.setup.stage.close_run();
    }
}
