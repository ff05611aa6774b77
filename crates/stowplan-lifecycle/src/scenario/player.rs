//! Plays a timeline: services wait as a strategy has it, and are started and stopped when their time has come.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stowplan_measure::RunError;
use stowplan_spec::{Scenario, Step, Strategy};
use stowplan_wire::agent::Recipients;
use stowplan_wire::announce::{Announcement, Control};
use stowplan_wire::deployment::{Locator, Select};
use stowplan_wire::host::SampleSubject;
use stowplan_wire::service::ServicePlan;

use crate::bench::{ASKED, Bench, Heard, end_ns, nanos, only, take};
use crate::ready::{Answers, Readiness};

/// Longest look for news: announcements end it at once, and a step that is due waits for it.
const LOOK_MS: u64 = 20;

/// Services are told to arm so long before the timeline begins, and each process may take some more.
const ARMING: Duration = Duration::from_millis(500);

/// Why there is no instant of a service that is not ready when the timeline has ended.
const TOO_LATE: &str = "not ready before the timeline ended";

/// The same of one that is not ready when it is stopped.
const STOPPED: &str = "stopped before it was ready";

/// A service that waits, and the bytes of memory that it has, or why they are not known.
pub type Standing = (String, Result<u64, String>);

/// A service that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// What the vehicle did.
    pub event: String,
    /// Which service.
    pub service: String,
    /// When it was asked for.
    pub asked_ns: u64,
    /// When it was ready, or why there is no such instant.
    pub ready_ns: Result<u64, String>,
}

/// What became of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// Memory of each service that waits when the timeline begins.
    pub standing: Vec<Standing>,
    /// What was started, in order of time.
    pub starts: Vec<Started>,
}

/// How a start is seen to be ready.
enum Waiting<'a> {
    /// It is launched and matched.
    Start(Readiness<'a>),
    /// It answers.
    Answer(Answers),
}

/// A start that is not ready.
struct Open<'a> {
    started: Started,
    waiting: Waiting<'a>,
}

/// A deployment whose services come and go.
pub(crate) struct Player<'a, 'b> {
    pub(crate) bench: &'a mut Bench<'b>,
    pub(crate) scenario: &'a Scenario,
    pub(crate) strategy: Strategy,
    /// Where the services are, while they live.
    locators: BTreeMap<String, Locator>,
    /// Services that wait.
    resting: BTreeSet<String>,
}

impl<'a, 'b> Player<'a, 'b> {
    /// Of services that are ready, all of them.
    pub(crate) fn new(
        bench: &'a mut Bench<'b>,
        scenario: &'a Scenario,
        strategy: Strategy,
    ) -> Result<Self, RunError> {
        let mut player = Self {
            bench,
            scenario,
            strategy,
            locators: BTreeMap::new(),
            resting: BTreeSet::new(),
        };
        player.locate()?;
        Ok(player)
    }

    /// Plays the timeline once, from this instant on: the services on demand wait as it begins.
    pub(crate) fn play(&mut self, zero_ns: u64) -> Result<Vec<Started>, RunError> {
        let scenario = self.scenario;
        let end_ns = zero_ns + scenario.length_ns;
        let mut steps = scenario.timeline.iter().peekable();
        let (mut open, mut done) = (Vec::new(), Vec::new());
        loop {
            let now = self.bench.now()?;
            if let Some(step) = steps.next_if(|step| zero_ns + step.at_ns <= now) {
                let opened = self.step(step)?;
                close(&mut open, &mut done, &step.stop);
                open.extend(opened);
                continue;
            }
            let next = steps.peek().map_or(end_ns, |step| zero_ns + step.at_ns);
            if steps.peek().is_none() && now >= end_ns && !self.is_awaited(&open, now) {
                break;
            }
            let left = next.saturating_sub(now).div_ceil(1_000_000);
            let heard = self.bench.look(left.clamp(1, LOOK_MS))?;
            hear(&mut open, &mut done, &heard)?;
            self.all_else_runs(&heard)?;
        }
        done.extend(open.into_iter().map(|one| one.started));
        done.sort_by_key(|one| one.asked_ns);
        Ok(done)
    }

    /// Whether one of these starts can still meet its deadline.
    fn is_awaited(&self, open: &[Open<'_>], now: u64) -> bool {
        open.iter().any(|one| {
            let deadline = self.scenario.deadlines.get(&one.started.service);
            deadline.is_some_and(|deadline| now <= one.started.asked_ns + deadline)
        })
    }

    /// Whether no service has ended that was to run all the time.
    fn all_else_runs(&self, heard: &Heard) -> Result<(), RunError> {
        let on_demand = self.scenario.on_demand();
        let mut plans = self.bench.plans.iter();
        let ended = plans.find(|plan| {
            let service = plan.service.as_str();
            !on_demand.contains(service) && end_ns(heard, service).is_some()
        });
        ended.map_or(Ok(()), |plan| {
            let service = &plan.service;
            let message = format!("service '{service}' ended while the timeline was played");
            Err(RunError::new(message))
        })
    }

    /// Lets the services wait that do not run from the beginning, and reads what they hold of the memory meanwhile.
    pub(crate) fn stand_by(&mut self) -> Result<Vec<Standing>, RunError> {
        let scenario = self.scenario;
        let services = scenario.waiting_first();
        for service in &services {
            self.rest(service)?;
        }
        self.bench.look(0)?;
        let mut standing = Vec::new();
        let located = self.bench.deployment.locators()?;
        for service in services {
            let locator = located.iter().find(|one| one.service == service);
            let bytes = match locator {
                // Nothing of it is there.
                _ if self.strategy == Strategy::Cold => Ok(0),
                Some(one) if one.pid != 0 => self.memory(one)?,
                _ => Ok(0),
            };
            standing.push((service.to_owned(), bytes));
        }
        Ok(standing)
    }

    /// Thaws everything that this one has frozen or paused: only then can it be stopped.
    pub(crate) fn thaw(&mut self) -> Result<(), RunError> {
        for service in std::mem::take(&mut self.resting) {
            match self.strategy {
                Strategy::Paused => self.bench.deployment.resume(&service)?,
                Strategy::Frozen => self.freeze(&service, false)?,
                Strategy::Cold | Strategy::Created | Strategy::AlwaysOn => {}
            }
        }
        Ok(())
    }

    fn locate(&mut self) -> Result<(), RunError> {
        let located = self.bench.deployment.locators()?.into_iter();
        self.locators = located.map(|one| (one.service.clone(), one)).collect();
        Ok(())
    }

    fn memory(&self, locator: &Locator) -> Result<Result<u64, String>, RunError> {
        if !self.bench.can.accounting {
            return Ok(Err("this place does not count memory by service".to_owned()));
        }
        let subject = SampleSubject {
            subject: locator.service.clone(),
            cgroups: locator.cgroups.clone(),
            pids: Vec::new(),
            names: Vec::new(),
        };
        let read = self.bench.site.memory(&[subject])?;
        Ok(match read.first() {
            Some(sample) => Ok(sample.pss_bytes),
            None if self.strategy.lives() => Err("the kernel does not tell its memory".to_owned()),
            None => Ok(0),
        })
    }

    /// A service is not needed: it waits from now on.
    fn rest(&mut self, service: &str) -> Result<(), RunError> {
        let only = only(service);
        // What fails half way is thawed, too.
        self.resting.insert(service.to_owned());
        match self.strategy {
            Strategy::Cold => self.bench.deployment.stop(&only, ASKED)?,
            Strategy::Created => {
                self.bench.deployment.stop(&only, ASKED)?;
                self.bench.deployment.create(&only)?;
            }
            Strategy::Paused => self.bench.deployment.pause(service)?,
            Strategy::Frozen => self.freeze(service, true)?,
            Strategy::AlwaysOn => {}
        }
        Ok(())
    }

    /// The step's services are started together; then others are stopped.
    fn step(&mut self, step: &Step) -> Result<Vec<Open<'b>>, RunError> {
        let asked_ns = self.wake(&step.start)?;
        let plans: &'b [ServicePlan] = self.bench.plans;
        let opened = step.start.iter().filter_map(|service| {
            let plan = plans.iter().find(|plan| plan.service == *service)?;
            Some(Open {
                started: Started {
                    event: step.event.clone(),
                    service: service.clone(),
                    asked_ns,
                    ready_ns: Err(TOO_LATE.to_owned()),
                },
                waiting: if self.strategy.lives() {
                    Waiting::Answer(Answers::new(plan, asked_ns))
                } else {
                    Waiting::Start(Readiness::new(plan, asked_ns))
                },
            })
        });
        let opened = opened.collect();
        for service in &step.stop {
            self.rest(service)?;
        }
        Ok(opened)
    }

    /// Services are needed; gives the instant before they were asked for.
    fn wake(&mut self, services: &[String]) -> Result<u64, RunError> {
        let all = Select::Services(services.to_vec());
        if services.is_empty() {
            return self.bench.now();
        }
        if self.strategy == Strategy::AlwaysOn {
            let asked = self.bench.now()?;
            self.ping(services)?;
            return Ok(asked);
        }
        if self.strategy.lives() {
            // It waits in the socket: the answer is the first thing that they do.
            self.ping(services)?;
        }
        let asked = self.bench.now()?;
        for service in services {
            self.resting.remove(service);
        }
        match self.strategy {
            Strategy::Cold => {
                self.bench.deployment.create(&all)?;
                self.bench.deployment.start(&all)?;
            }
            Strategy::Created => self.bench.deployment.start(&all)?,
            Strategy::Paused => {
                for service in services {
                    self.bench.deployment.resume(service)?;
                }
            }
            Strategy::Frozen => {
                for service in services {
                    self.freeze(service, false)?;
                }
            }
            Strategy::AlwaysOn => {}
        }
        Ok(asked)
    }

    fn ping(&self, services: &[String]) -> Result<(), RunError> {
        for service in services {
            let site = self.bench.site;
            site.tell_service(service, Recipients::All, &Control::Ping)?;
        }
        Ok(())
    }

    fn freeze(&self, service: &str, frozen: bool) -> Result<(), RunError> {
        let locator = self.locators.get(service);
        let locator = locator.ok_or_else(|| {
            RunError::new(format!("the engine does not tell where '{service}' is"))
        })?;
        let done = self.bench.site.freeze(locator, frozen);
        Ok(done.map_err(stowplan_engine::EngineError::from)?)
    }

    /// Arms the services that run all the time, so that their timers have the phases of the block; gives the instant.
    pub(crate) fn arm(&mut self) -> Result<u64, RunError> {
        let on_demand = self.scenario.on_demand();
        let plans: &'b [ServicePlan] = self.bench.plans;
        let always = plans.iter();
        let always: Vec<&ServicePlan> = always
            .filter(|plan| !on_demand.contains(plan.service.as_str()))
            .collect();
        let processes: usize = always.iter().map(|plan| plan.processes.len() + 1).sum();
        let now = self.bench.now()?;
        let t_arm_ns = now + nanos(ARMING) + processes as u64 * 10_000_000;
        let control = Control::Arm {
            t_arm_ns,
            t_disarm_ns: t_arm_ns + self.scenario.length_ns,
        };
        for plan in &always {
            let site = self.bench.site;
            site.tell_service(&plan.service, Recipients::All, &control)?;
        }
        let mut armed = 0;
        while armed < processes {
            let now = self.bench.now()?;
            if now >= t_arm_ns {
                let open = processes - armed;
                let message = format!("{open} of {processes} processes were not armed in time");
                return Err(RunError::new(message));
            }
            let heard = self.bench.look(LOOK_MS)?;
            let said = heard.said.iter();
            let armed_now =
                said.filter(|one| matches!(one.announcement, Announcement::Armed { .. }));
            armed += armed_now.count();
        }
        Ok(t_arm_ns)
    }
}

/// Moves the open starts of services that are stopped to the others: what is ready later is another start.
fn close(open: &mut Vec<Open<'_>>, done: &mut Vec<Started>, stopped: &[String]) {
    let is_stopped = |one: &mut Open<'_>| stopped.contains(&one.started.service);
    done.extend(open.extract_if(.., is_stopped).map(|one| Started {
        ready_ns: Err(STOPPED.to_owned()),
        ..one.started
    }));
}

/// Takes in what was heard; what is ready moves from the open starts to the others.
fn hear(open: &mut Vec<Open<'_>>, done: &mut Vec<Started>, heard: &Heard) -> Result<(), RunError> {
    for mut one in std::mem::take(open) {
        let ready = match &mut one.waiting {
            Waiting::Start(readiness) => {
                take(readiness, heard)?;
                readiness.ready_ns()
            }
            Waiting::Answer(answers) => {
                heard.said.iter().for_each(|said| answers.take(said));
                answers.all_ns()
            }
        };
        match ready {
            Some(ready) => {
                one.started.ready_ns = Ok(ready);
                done.push(one.started);
            }
            None => open.push(one),
        }
    }
    Ok(())
}
