//! One start of one deployment: open, prepare, create, start, wait, arm, disarm, stop, collect, close.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use std::rc::Rc;

use stowplan_engine::{Deployment, Engine};
use stowplan_host::Host;
use stowplan_model::RealService;
use stowplan_results::MemoryAt;
use stowplan_site::{Armed, Site, Watched};
use stowplan_wire::agent::{Announced, ProgramDigest};
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{DeploymentPlan, Locator, Program, Select, StopMode};
use stowplan_wire::host::{
    ColdProof, LimitsReadBack, MemorySample, Preemptions, ProcessUsage, SampleSubject, UsageSample,
};
use stowplan_wire::service::ServicePlan;

use crate::collect::{self, RingFile};
use crate::error::RunError;
use crate::idle;
use crate::progress::Progress;
use crate::real::{LOOK_PERIOD, RealProgress, RealServices, surround};
use crate::traced::{Recording, Traced};

/// How often engines are asked what happened that the agent does not hear of by itself.
const EVENT_PERIOD: Duration = Duration::from_millis(200);

/// What is started, and what is measured of it.
pub struct SessionPlan<'a> {
    /// Plans of the services of modelled nodes.
    pub services: &'a [ServicePlan],
    /// What the engine starts; its run folder is filled in.
    pub deployment: DeploymentPlan,
    /// Real programs and how they tell that they are ready.
    pub real: &'a [RealService],
    /// DDS domain of the run.
    pub domain: u32,
    /// CycloneDDS configuration.
    pub cyclonedds_xml: &'a str,
    /// Trace buffer of each process in bytes.
    pub ring_bytes: u64,
    /// Files that must not be resident before the start; `None` leaves the page cache as it is.
    pub cold: Option<Vec<String>>,
    /// How long the start may go on without any news from a node program: how long it takes in all depends on the
    /// stack and the machine, but one that stands still for so long hangs.
    pub stall_timeout: Duration,
    /// Time between readiness and arming; where there is no window, the longest that chains are given for their first output.
    pub warm_up: Duration,
    /// Length of the measured window; `None` measures the start alone.
    pub window: Option<Duration>,
    /// Whether to record when threads of the node programs lose their CPU to others.
    pub preemption: bool,
    /// How often usage is sampled.
    pub sample_period: Duration,
    /// Where the collected trace goes.
    pub trace_dir: &'a Path,
}

/// What one start gave, before analysis.
pub struct Measured {
    /// What the engine needed before that: images loaded, groups and networks made.
    pub prepare_ns: u64,
    /// Read before `create`.
    pub t0_ns: u64,
    /// When `create` returned; `None` where the engine cannot create apart from starting.
    pub created_ns: Option<u64>,
    /// When `start` returned.
    pub started_ns: u64,
    /// How the services came up.
    pub progress: Progress,
    /// How the real programs came up, by service.
    pub real: BTreeMap<String, RealProgress>,
    /// Everything that node programs said.
    pub announcements: Vec<Announced>,
    /// The window, where there was one.
    pub window: Option<Armed>,
    /// When threads of the node programs lost their CPU to others, where that was to be recorded.
    pub preemptions: Option<Preemptions>,
    /// Usage samples, those of the engine before the run had services first.
    pub samples: Vec<UsageSample>,
    /// What each process of the services used.
    pub processes: Vec<ProcessUsage>,
    /// Programs that really ran.
    pub digests: Vec<ProgramDigest>,
    /// What the engine really is, read back about every service.
    pub label: BTreeMap<String, String>,
    /// Memory with what is shared divided, before the window and after it.
    pub memory: Vec<(MemoryAt, MemorySample)>,
    /// Limits read back, by service.
    pub limits: Vec<(String, LimitsReadBack)>,
    /// Proof that the cache was cold.
    pub cold: Option<ColdProof>,
    /// Why it proves nothing of something that services read from their images.
    pub cold_unshown: Option<String>,
    /// Bytes that were read from block devices from that proof until everything was ready, by whomever.
    pub cold_read_bytes: Option<u64>,
    /// What the engine could not do as asked.
    pub deviations: Vec<String>,
    /// What real programs recorded, in a trace of LTTng beside those of the nodes.
    pub recording: Recording,
    /// Oddities that do not make the run invalid.
    pub warnings: Vec<String>,
}

/// Runs one session. Whatever happens, the deployment is destroyed and the run folder removed.
///
/// # Errors
/// When a service does not come up, ends early, or the agent fails; the error names the service and has
/// the end of its log.
pub fn measure(
    host: &Rc<dyn Site>,
    engine: &dyn Engine,
    plan: &SessionPlan<'_>,
) -> Result<Measured, RunError> {
    let run = plan.deployment.run.clone();
    let run_dir = host.open_run(
        &run,
        plan.services.to_vec(),
        plan.cyclonedds_xml.to_owned(),
        plan.ring_bytes,
    )?;
    let result = Session::begin(host, engine, plan, &run_dir).and_then(|mut session| {
        let measured = session.drive();
        if measured.is_err() {
            // It may not have begun, or have ended already; nobody wants what was sampled.
            let _ = host.stop_sampling();
        }
        let failure_log = measured
            .as_ref()
            .err()
            .and_then(|error| session.log_of(error));
        let destroyed = session.deployment.destroy();
        match measured {
            Err(error) => Err(error.with_log(failure_log)),
            Ok(measured) => destroyed.map(|()| measured).map_err(RunError::from),
        }
    });
    let closed = host.close_run();
    let measured = result?;
    closed?;
    Ok(measured)
}

struct Session<'a> {
    host: &'a dyn Site,
    plan: &'a SessionPlan<'a>,
    run_dir: PathBuf,
    deployment: Box<dyn Deployment>,
    prepare_ns: u64,
    creates_apart: bool,
    progress: Progress,
    real: RealServices,
    announcements: Vec<Announced>,
    traced: Option<Traced>,
    warnings: Vec<String>,
}

impl<'a> Session<'a> {
    fn begin(
        host: &'a Rc<dyn Site>,
        engine: &dyn Engine,
        plan: &'a SessionPlan<'a>,
        run_dir: &str,
    ) -> Result<Self, RunError> {
        let mut deployment = plan.deployment.clone();
        run_dir.clone_into(&mut deployment.run_dir);
        for service in &mut deployment.services {
            service.log = format!("{run_dir}/{}/service.log", service.name);
        }
        host.add_real(real_services(&deployment))?;
        surround(&mut deployment, plan.domain);
        let traced = Traced::begin(plan.real, plan.trace_dir, &deployment.run, host.as_ref())?;
        let can = engine.capabilities();
        if let Some(traced) = &traced {
            traced.surround(&mut deployment, &can);
        }
        let variant = can.variant(deployment.variant.as_deref());
        let begun_ns = host.clock()?;
        let prepared = engine.prepare(&deployment, Rc::clone(host) as Rc<dyn Host>)?;
        Ok(Self {
            host: host.as_ref(),
            plan,
            run_dir: PathBuf::from(run_dir),
            prepare_ns: host.clock()? - begun_ns,
            creates_apart: variant.is_some_and(|v| v.separate_create),
            deployment: prepared,
            progress: Progress::new(plan.services),
            real: RealServices::new(plan.real, plan.services),
            announcements: Vec::new(),
            traced,
            warnings: Vec::new(),
        })
    }

    fn drive(&mut self) -> Result<Measured, RunError> {
        let sample_ms = millis(self.plan.sample_period);
        let idle = idle::sample(self.host, self.deployment.as_ref(), sample_ms)?;
        let (cold, cold_unshown) = self.make_cold()?;
        // All of creating and starting is to lie between two samples, so the first is taken before the request.
        let own = self.traced.as_ref().map(Traced::pids).unwrap_or_default();
        let engine = idle::engine("engine", self.deployment.as_ref())?;
        self.host
            .start_sampling(engine.as_slice(), &own, sample_ms)?;
        let read_before = self.paged_in(cold.is_some())?;
        let t0_ns = self.host.clock()?;
        self.deployment.create(&Select::All)?;
        let created = self.creates_apart.then(|| self.host.clock());
        let created_ns = created.transpose()?;
        self.deployment.start(&Select::All)?;
        let started_ns = self.host.clock()?;
        let locators = self.deployment.locators()?;
        let subjects = self.subjects(&locators)?;
        self.host.sample_also(&subjects)?;
        self.look_at_traced(&locators);
        self.wait_ready()?;
        let read_after = self.paged_in(cold.is_some())?;
        self.look_at_traced(&locators);
        let limits = self.read_limits(&locators)?;
        self.warm_up()?;
        let mut memory = self.memory(MemoryAt::Arm, &subjects)?;
        let window = self.arm()?;
        // Ending takes time too, in which some have ended and others have not.
        let sampled = self.host.stop_sampling()?;
        memory.extend(self.memory(MemoryAt::Disarm, &subjects)?);
        self.take_in(Duration::ZERO)?;
        self.look_at_traced(&locators);
        let digests = self.host.node_digests()?;
        let label = self.deployment.label()?;
        self.stop_nodes()?;
        // Their last calls, which began in the window, have ended.
        let preemptions = self.host.end_preemption()?;
        self.deployment
            .stop(&Select::All, StopMode::Terminate { grace_ms: 5000 })?;
        let recording = self.end_traced()?;
        self.collect()?;
        Ok(Measured {
            prepare_ns: self.prepare_ns,
            t0_ns,
            created_ns,
            started_ns,
            progress: std::mem::take(&mut self.progress),
            real: self.real.progress().clone(),
            announcements: std::mem::take(&mut self.announcements),
            window,
            preemptions,
            samples: [idle, sampled.usage].concat(),
            processes: sampled.processes,
            digests,
            label,
            memory,
            limits,
            cold,
            cold_unshown,
            cold_read_bytes: read_before.zip(read_after).map(|(from, to)| to - from),
            deviations: self.deployment.deviations(),
            recording,
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    /// Drops the page cache where the start is to be a cold one, and what cannot be shown of it.
    fn make_cold(&self) -> Result<(Option<ColdProof>, Option<String>), RunError> {
        let Some(files) = &self.plan.cold else {
            return Ok((None, None));
        };
        let of_image = self.deployment.image_files();
        let all = [&files[..], &of_image.paths].concat();
        Ok((Some(self.host.cold(all)?), of_image.unshown))
    }

    /// What was read from block devices so far, where the start is a cold one.
    fn paged_in(&self, is_cold: bool) -> Result<Option<u64>, RunError> {
        let read = is_cold.then(|| self.host.paged_in_bytes());
        Ok(read.transpose()?)
    }

    /// The services, and the engine where it has processes of its own.
    fn subjects(&self, locators: &[Locator]) -> Result<Vec<SampleSubject>, RunError> {
        let engine = idle::engine("engine", self.deployment.as_ref())?;
        let services = locators.iter().map(|l| SampleSubject {
            subject: l.service.clone(),
            cgroups: l.cgroups.clone(),
            pids: Vec::new(),
        });
        Ok(services.chain(engine).collect())
    }

    /// Lets the services run before the window. A start that has none is over when every chain has had an output.
    fn warm_up(&mut self) -> Result<(), RunError> {
        let begun = Instant::now();
        let is_start_alone = self.plan.window.is_none() && self.plan.real.is_empty();
        while !(is_start_alone && self.progress.have_chains_output()) {
            let left = self.plan.warm_up.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            self.take_in(left.min(EVENT_PERIOD))?;
        }
        Ok(())
    }

    fn wait_ready(&mut self) -> Result<(), RunError> {
        let mut last_news = Instant::now();
        let mut heard = self.announcements.len();
        while !(self.progress.is_ready() && self.real.are_ready()) {
            if self.announcements.len() > heard {
                heard = self.announcements.len();
                last_news = Instant::now();
            }
            let left = self.plan.stall_timeout.saturating_sub(last_news.elapsed());
            if left.is_zero() {
                let missing = self.progress.missing().or_else(|| self.real.missing());
                return Err(RunError::stalled(missing, self.plan.stall_timeout));
            }
            let period = if self.real.must_be_looked_at() {
                LOOK_PERIOD
            } else {
                EVENT_PERIOD
            };
            self.take_in(left.min(period))?;
            self.look_at_real()?;
        }
        Ok(())
    }

    /// Waits for announcements and events of the engine and takes them in.
    fn take_in(&mut self, longest: Duration) -> Result<(), RunError> {
        let Watched {
            engine,
            announcements,
        } = self.host.watch(millis(longest))?;
        // The agent tells what happens in its own engines; others tell it themselves.
        let outside = self.deployment.events(Duration::ZERO)?;
        for event in engine.iter().chain(&outside) {
            self.progress.engine_event(event)?;
            self.warnings.extend(self.real.engine_event(event)?);
        }
        for one in announcements {
            self.progress.announced(&one)?;
            self.announcements.push(one);
        }
        Ok(())
    }

    fn look_at_real(&mut self) -> Result<(), RunError> {
        if self.real.are_ready() {
            return Ok(());
        }
        let now = self.host.clock()?;
        self.real
            .look(self.deployment.as_ref(), &self.announcements, now)?;
        match self.real.overdue(now, self.progress.launched_ns()) {
            None => Ok(()),
            Some((missing, timeout)) => Err(RunError::not_ready(Some(missing), timeout)),
        }
    }

    fn look_at_traced(&mut self, locators: &[Locator]) {
        if let Some(traced) = &mut self.traced {
            traced.look(locators);
        }
    }

    fn end_traced(&mut self) -> Result<Recording, RunError> {
        let Some(traced) = self.traced.take() else {
            return Ok(Recording::default());
        };
        let (recording, warnings) = traced.end()?;
        self.warnings.extend(warnings);
        Ok(recording)
    }

    fn read_limits(
        &mut self,
        locators: &[Locator],
    ) -> Result<Vec<(String, LimitsReadBack)>, RunError> {
        let mut limits = Vec::new();
        for locator in locators {
            match self.host.limits(locator) {
                Ok(read) => limits.push((locator.service.clone(), read)),
                Err(error) => {
                    // Of a program that has done its work there is nothing to read.
                    self.take_in(Duration::ZERO)?;
                    if !self.real.has_ended(&locator.service) {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(limits)
    }

    /// Nothing where there is no window: a start-up is not to be disturbed before its end, and has none.
    fn memory(
        &self,
        at: MemoryAt,
        subjects: &[SampleSubject],
    ) -> Result<Vec<(MemoryAt, MemorySample)>, RunError> {
        if self.plan.window.is_none() {
            return Ok(Vec::new());
        }
        let samples = self.host.memory(subjects)?.into_iter();
        Ok(samples.map(|sample| (at, sample)).collect())
    }

    fn arm(&mut self) -> Result<Option<Armed>, RunError> {
        let Some(window) = self.plan.window else {
            return Ok(None);
        };
        // Every process has to answer before the arming instant: with hundreds of them on two
        // cores that takes time.
        let processes: usize = self
            .plan
            .services
            .iter()
            .map(|s| s.processes.len() + 1)
            .sum();
        let lead = Duration::from_millis(500 + 10 * processes as u64);
        let (lead, window) = (nanos(lead), nanos(window));
        let armed = self.host.arm_and_wait(lead, window, self.plan.preemption)?;
        Ok(Some(armed))
    }

    /// Tells the nodes to stop and waits until every process has sent its counters.
    fn stop_nodes(&mut self) -> Result<(), RunError> {
        self.host.stop_nodes()?;
        let expected: usize = self.plan.services.iter().map(|s| s.processes.len()).sum();
        let begin = Instant::now();
        let mut seen = 0;
        while seen < expected {
            let left = Duration::from_secs(20).saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Err(RunError::new(format!(
                    "{} of {expected} processes sent no counters after they were told to stop",
                    expected - seen
                )));
            }
            let announced = self.host.watch(millis(left))?.announcements;
            for one in &announced {
                self.progress.announced(one)?;
            }
            seen += announced
                .iter()
                .filter(|a| matches!(a.announcement, Announcement::Counters { .. }))
                .count();
            self.announcements.extend(announced);
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), RunError> {
        let rings: Vec<RingFile> = self
            .plan
            .services
            .iter()
            .filter(|s| s.record)
            .flat_map(|s| s.processes.iter().map(move |p| (s, p)))
            .map(|(s, p)| RingFile {
                path: self
                    .run_dir
                    .join(&s.service)
                    .join(format!("{}.ring", p.name)),
                service: s.service.clone(),
                process: p.name.clone(),
            })
            .collect();
        collect::collect(&rings, self.plan.trace_dir)?;
        Ok(())
    }

    fn log_of(&self, error: &RunError) -> Option<String> {
        let service = error.service.as_ref()?;
        self.deployment.log(service, 4096).ok()
    }
}

/// Services that are real programs.
fn real_services(deployment: &DeploymentPlan) -> Vec<String> {
    let real = deployment
        .services
        .iter()
        .filter(|service| matches!(service.program, Program::Command { .. }));
    real.map(|service| service.name.clone()).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
