//! What a session does on one of its hosts.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stowplan_engine::Deployment;
use stowplan_host::Host;
use stowplan_results::MemoryAt;
use stowplan_site::{Armed, ClockOffset, HostId, Site, Watched};
use stowplan_wire::announce::Announcement;
use stowplan_wire::deployment::{DeploymentPlan, Locator, Program, Select, StopMode};
use stowplan_wire::host::{LimitsReadBack, MemorySample, SampleSubject};

use crate::collect::{self, RingFile};
use crate::error::RunError;
use crate::idle;
use crate::progress::{Fault, Progress};
use crate::real::{RealServices, surround};
use crate::traced::Traced;

use super::measured::MeasuredHost;
use super::plan::{HostPlan, SessionPlan};
use super::{clocks, millis};

/// Longest wait for the counters of processes that were told to stop.
const STOPPING: Duration = Duration::from_secs(20);

/// One host's part of a session.
pub(super) struct Part<'a> {
    plan: &'a SessionPlan<'a>,
    host: &'a HostPlan<'a>,
    run_dir: PathBuf,
    pub(super) deployment: Box<dyn Deployment>,
    pub(super) progress: Progress,
    pub(super) real: RealServices,
    traced: Option<Traced>,
    creates_apart: bool,
    locators: Vec<Locator>,
    subjects: Vec<SampleSubject>,
    read_before: Option<u64>,
    /// What is known so far.
    pub(super) measured: MeasuredHost,
}

impl<'a> Part<'a> {
    /// Prepares the deployment in a run folder that is open.
    pub(super) fn begin(
        plan: &'a SessionPlan<'a>,
        host: &'a HostPlan<'a>,
        run_dir: &str,
        offset: Option<ClockOffset>,
    ) -> Result<Self, RunError> {
        let site = &host.site;
        let mut deployment = host.deployment.clone();
        run_dir.clone_into(&mut deployment.run_dir);
        for service in &mut deployment.services {
            service.log = format!("{run_dir}/{}/service.log", service.name);
        }
        site.add_real(real_services(&deployment))?;
        surround(&mut deployment, plan.domain);
        let traced = Traced::begin(host.real, plan.trace_dir, &deployment.run, site.as_ref())?;
        let can = host.engine.capabilities();
        if let Some(traced) = &traced {
            traced.surround(&mut deployment, &can);
        }
        let variant = can.variant(deployment.variant.as_deref());
        let begun_ns = site.clock()?;
        let prepared = host
            .engine
            .prepare(&deployment, Rc::clone(site) as Rc<dyn Host>)?;
        let measured = MeasuredHost {
            prepare_ns: site.clock()? - begun_ns,
            warnings: offset
                .as_ref()
                .and_then(clocks::warning)
                .into_iter()
                .collect(),
            ..MeasuredHost::new(HostId(site.id()), offset)
        };
        Ok(Self {
            plan,
            host,
            run_dir: PathBuf::from(run_dir),
            creates_apart: variant.is_some_and(|v| v.separate_create),
            deployment: prepared,
            progress: Progress::new(host.services),
            real: RealServices::new(host.real, host.services),
            traced,
            locators: Vec::new(),
            subjects: Vec::new(),
            read_before: None,
            measured,
        })
    }

    /// The host.
    pub(super) fn site(&self) -> &'a dyn Site {
        self.host.site.as_ref()
    }

    /// Looks at the engine alone, drops the page cache where the start is to be a cold one, and begins to sample: all of
    /// creating and starting is to lie between two samples.
    pub(super) fn before_start(&mut self) -> Result<(), RunError> {
        let sample_ms = millis(self.plan.sample_period);
        let (samples, memory) = idle::sample(self.site(), self.deployment.as_ref(), sample_ms)?;
        self.measured.samples = samples;
        self.keep(MemoryAt::Idle, memory);
        self.make_cold()?;
        let own = self.traced.as_ref().map(Traced::pids).unwrap_or_default();
        let engine = idle::engine(idle::RUNNING, self.deployment.as_ref())?;
        self.site()
            .start_sampling(engine.as_slice(), &own, sample_ms)?;
        self.read_before = self.paged_in()?;
        Ok(())
    }

    /// Takes the instant before `create`, of the first host's clock, as this host's.
    pub(super) fn begins_at(&mut self, lead_ns: u64) {
        let offset = self.measured.offset.as_ref();
        self.measured.t0_ns = offset.map_or(lead_ns, |offset| offset.read_at(lead_ns));
    }

    pub(super) fn create(&mut self) -> Result<(), RunError> {
        self.deployment.create(&Select::All)?;
        let created = self.creates_apart.then(|| self.site().clock());
        self.measured.created_ns = created.transpose()?;
        Ok(())
    }

    pub(super) fn start(&mut self) -> Result<(), RunError> {
        self.deployment.start(&Select::All)?;
        self.measured.started_ns = self.site().clock()?;
        Ok(())
    }

    /// Finds the services, and samples them too.
    pub(super) fn find(&mut self) -> Result<(), RunError> {
        self.locators = self.deployment.locators()?;
        let engine = idle::engine(idle::RUNNING, self.deployment.as_ref())?;
        let services = self.locators.iter().map(|l| SampleSubject {
            subject: l.service.clone(),
            cgroups: l.cgroups.clone(),
            pids: Vec::new(),
            names: Vec::new(),
        });
        self.subjects = services.chain(engine).collect();
        self.site().sample_also(&self.subjects)?;
        self.look_at_traced();
        Ok(())
    }

    /// What is read once everything is ready.
    pub(super) fn when_ready(&mut self) -> Result<(), RunError> {
        let read_after = self.paged_in()?;
        let read = self.read_before.zip(read_after);
        self.measured.cold_read_bytes = read.map(|(from, to)| to - from);
        self.look_at_traced();
        self.measured.limits = self.read_limits()?;
        Ok(())
    }

    /// Drops the page cache, and says what cannot be shown of it.
    fn make_cold(&mut self) -> Result<(), RunError> {
        let Some(files) = &self.host.cold else {
            return Ok(());
        };
        let of_image = self.deployment.image_files();
        let all = [&files[..], &of_image.paths].concat();
        self.measured.cold = Some(self.site().cold(all)?);
        self.measured.cold_unshown = of_image.unshown;
        Ok(())
    }

    /// What was read from block devices so far, where the start is a cold one.
    fn paged_in(&self) -> Result<Option<u64>, RunError> {
        let is_cold = self.measured.cold.is_some();
        let read = is_cold.then(|| self.site().paged_in_bytes());
        Ok(read.transpose()?)
    }

    /// Whether every service is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.progress.is_ready() && self.real.are_ready()
    }

    /// What is not ready, for the message after a time-out.
    pub(super) fn missing(&self) -> Option<Fault> {
        self.progress.missing().or_else(|| self.real.missing())
    }

    /// Waits for announcements and events of the engine and takes them in.
    pub(super) fn take_in(&mut self, longest: Duration) -> Result<(), RunError> {
        let Watched {
            engine,
            announcements,
        } = self.site().watch(millis(longest))?;
        // The agent tells what happens in its own engines; others tell it themselves.
        let outside = self.deployment.events(Duration::ZERO)?;
        for event in engine.iter().chain(&outside) {
            self.progress.engine_event(event)?;
            self.measured
                .warnings
                .extend(self.real.engine_event(event)?);
        }
        for one in announcements {
            self.progress.announced(&one)?;
            self.measured.announcements.push(one);
        }
        Ok(())
    }

    pub(super) fn look_at_real(&mut self) -> Result<(), RunError> {
        if self.real.are_ready() {
            return Ok(());
        }
        let now = self.site().clock()?;
        let announced = &self.measured.announcements;
        self.real.look(self.deployment.as_ref(), announced, now)?;
        match self.real.overdue(now, self.progress.launched_ns()) {
            None => Ok(()),
            Some((missing, timeout)) => Err(RunError::not_ready(Some(missing), timeout)),
        }
    }

    fn look_at_traced(&mut self) {
        if let Some(traced) = &mut self.traced {
            traced.look(&self.locators);
        }
    }

    fn read_limits(&mut self) -> Result<Vec<(String, LimitsReadBack)>, RunError> {
        let mut limits = Vec::new();
        for locator in self.locators.clone() {
            match self.site().limits(&locator) {
                Ok(read) => limits.push((locator.service, read)),
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
    pub(super) fn memory(&mut self, at: MemoryAt) -> Result<(), RunError> {
        if self.plan.window.is_some() {
            let samples = self.site().memory(&self.subjects)?;
            self.keep(at, samples);
        }
        Ok(())
    }

    fn keep(&mut self, at: MemoryAt, samples: Vec<MemorySample>) {
        let samples = samples.into_iter().map(|sample| (at, sample));
        self.measured.memory.extend(samples);
    }

    /// Waits for the end of the window that was armed.
    pub(super) fn wait_window(&mut self, longest_ns: u64) -> Result<(), RunError> {
        let armed: Armed = self.site().wait_window(longest_ns)?;
        self.measured.window = Some(armed);
        Ok(())
    }

    /// Ends sampling. It takes time too, in which some have ended and others have not.
    pub(super) fn stop_sampling(&mut self) -> Result<(), RunError> {
        let sampled = self.site().stop_sampling()?;
        self.measured.samples.extend(sampled.usage);
        self.measured.processes = sampled.processes;
        Ok(())
    }

    /// What is read after the window, before the services are told to stop.
    pub(super) fn after_window(&mut self) -> Result<(), RunError> {
        self.memory(MemoryAt::Disarm)?;
        self.take_in(Duration::ZERO)?;
        self.look_at_traced();
        self.measured.digests = self.site().node_digests()?;
        self.measured.label = self.deployment.label()?;
        Ok(())
    }

    /// Tells the nodes to stop and waits until every process has sent its counters.
    pub(super) fn stop_nodes(&mut self) -> Result<(), RunError> {
        self.site().stop_nodes()?;
        let services = self.host.services.iter();
        let expected: usize = services.map(|s| s.processes.len()).sum();
        let begin = Instant::now();
        let mut seen = 0;
        while seen < expected {
            let left = STOPPING.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Err(RunError::new(format!(
                    "{} of {expected} processes sent no counters after they were told to stop",
                    expected - seen
                )));
            }
            let announced = self.site().watch(millis(left))?.announcements;
            for one in &announced {
                self.progress.announced(one)?;
            }
            seen += announced
                .iter()
                .filter(|a| matches!(a.announcement, Announcement::Counters { .. }))
                .count();
            self.measured.announcements.extend(announced);
        }
        Ok(())
    }

    /// Stops the services and takes what they recorded. Their last calls, which began in the window, have ended.
    pub(super) fn end(&mut self) -> Result<(), RunError> {
        self.measured.preemptions = self.site().end_preemption()?;
        self.deployment
            .stop(&Select::All, StopMode::Terminate { grace_ms: 5000 })?;
        if let Some(traced) = self.traced.take() {
            let (recording, warnings) = traced.end()?;
            self.measured.recording = recording;
            self.measured.warnings.extend(warnings);
        }
        self.collect()
    }

    /// Everything that the host gave.
    pub(super) fn measured(self) -> MeasuredHost {
        MeasuredHost {
            deviations: self.deployment.deviations(),
            real: self.real.progress().clone(),
            progress: self.progress,
            ..self.measured
        }
    }

    fn collect(&self) -> Result<(), RunError> {
        let recording = self.host.services.iter().filter(|s| s.record);
        let processes = recording.flat_map(|s| s.processes.iter().map(move |p| (s, p)));
        let rings = processes.map(|(s, p)| {
            let name = format!("{}.ring", p.name);
            let file = self.run_dir.join(&s.service).join(name);
            Ok(RingFile {
                path: self.site().bring(&file, self.plan.trace_dir)?,
                service: s.service.clone(),
                process: p.name.clone(),
            })
        });
        let rings = rings.collect::<Result<Vec<_>, RunError>>()?;
        collect::collect(&rings, self.plan.trace_dir)?;
        Ok(())
    }

    /// The end of the log of the service that an error is about, where that is one of its own.
    pub(super) fn log_of(&self, error: &RunError) -> Option<String> {
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
