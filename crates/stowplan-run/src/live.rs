//! Runs jobs on real engines and keeps what they give.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stowplan_host::Host;
use stowplan_image::Image;
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_measure::lower::{LowerOptions, lower};
use stowplan_measure::{HostPlan, Measured, RunError, SessionPlan, measure};
use stowplan_model::WorkSpeed;
use stowplan_remote::AgentHost;
use stowplan_results::{BlockCalibration, RunData, ScheduledRun, StartKind};
use stowplan_site::Site;
use stowplan_suite::{Job, JobContext, OpenResult, RunFailed};
use stowplan_wire::agent::FailureKind;
use stowplan_wire::deployment::DeploymentPlan;

use crate::analyse::{Analysed, analyse};
use crate::engines::Engines;
use crate::fingerprint::{Values, changed, fingerprint, of_machine};
use crate::part::Part;
use crate::phases::phases;
use crate::prepare::{Planned, Prepared};
use crate::request::Request;
use crate::run_row::{self, RunFacts};
use crate::speed;
use crate::starts::{Start, run_numbers, starts};
use crate::wire::deployment_plan;

/// How often usage is sampled (docs/measuring.md §4).
const SAMPLE_PERIOD: Duration = Duration::from_millis(200);

/// Longest silence of a start, and for each process more: all of them share the machine's CPUs.
const STALL_BASE: Duration = Duration::from_secs(60);
const STALL_PER_PROCESS: Duration = Duration::from_secs(1);

/// What the experiments of one schedule share: one, or two of which one is measured again.
pub(crate) struct Shared<'s> {
    pub host: Rc<AgentHost>,
    pub engines: Engines<'s>,
    pub settle: Duration,
    /// DDS participants of the deployment that has most.
    pub participants: usize,
}

/// Everything that runs of one session of an experiment share.
pub(crate) struct Live<'a, 's> {
    pub shared: &'a Shared<'s>,
    pub request: &'a Request,
    pub prepared: &'a Prepared,
    /// Which of the schedule's deployments are its own.
    pub part: Part,
    pub image: &'a Image,
    /// Configuration of DDS in all deployments, for any domain.
    pub dds: DdsConfig,
    pub result: &'a OpenResult,
}

impl Live<'_, '_> {
    /// Measures one of its own deployments and keeps the result.
    pub(crate) fn run(&self, job: Job, context: &mut JobContext<'_>) -> Result<(), RunFailed> {
        self.calibrate(job.block)?;
        let mut numbers = run_numbers(job, self.part.of, self.request.starts).into_iter();
        for start in starts(self.request.starts) {
            let number = if start.kept {
                numbers.next().map(|(number, _)| number)
            } else {
                None
            };
            self.one_start(job, *start, number, context)?;
        }
        Ok(())
    }

    pub(crate) fn planned(&self, job: Job) -> &Planned {
        &self.prepared.deployments[job.deployment - self.part.first]
    }

    /// A run of a job as it stands in the schedule.
    pub(crate) fn scheduled(&self, job: Job, number: u32, start: StartKind) -> ScheduledRun {
        let deployment = &self.planned(job).record.id;
        job.scheduled(number, deployment, start, self.request.seed)
    }

    /// Label of a deployment, also beside that of a new experiment.
    fn label(&self, planned: &Planned) -> String {
        let again = if self.part.first > 0 { " (before)" } else { "" };
        format!("{}{again}", planned.record.label)
    }

    /// Nanoseconds per kernel iteration for the working sets of the block's stack, once per block.
    fn calibrate(&self, block: u32) -> Result<(), RunFailed> {
        let number = block + 1;
        if self.speed(block).is_some() {
            return Ok(());
        }
        self.result
            .note(|experiment| self.keep_values(experiment, block));
        let failed = |e| self.failed("calibration", e);
        let stack = self.stack(block).map_err(failed)?;
        let speed = speed::calibrate(&self.shared.host, self.image, [&*stack])
            .map_err(|e| failed(e.into()))?;
        let calibration = BlockCalibration::new(number, &speed);
        self.result
            .note(|experiment| experiment.calibration.push(calibration));
        let saved = self.result.save();
        saved.map_err(|e| RunFailed::of_results("calibration", &e))
    }

    fn one_start(
        &self,
        job: Job,
        start: Start,
        number: Option<u32>,
        context: &mut JobContext<'_>,
    ) -> Result<(), RunFailed> {
        let planned = self.planned(job);
        let label = &*self.label(planned);
        context.step(job, label, &detail(start));
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let settle = u64::try_from(self.shared.settle.as_millis()).unwrap_or(u64::MAX);
        let quiet = self.shared.host.quiet(settle);
        let quiet = quiet.map_err(|e| self.failed(label, e.into()))?;
        let trace_dir = self.trace_dir(number);
        let outcome = self.session(job, planned, start, context.elapsed(), &trace_dir);
        let stack = self.stack(job.block).map_err(|e| self.failed(label, e))?;
        let speed = self.speed(job.block);
        let facts = RunFacts {
            // A start that is not kept has no number, and no row.
            scheduled: &self.scheduled(job, number.unwrap_or(0), start.kind),
            planned,
            began_unix: began,
            quiet: quiet.quiet,
            window_ns: (self.request.window_ns > 0).then_some(self.request.window_ns),
            cpus: self.prepared.machine.cpus,
            stack: &stack,
            speed: speed.as_ref(),
            program_sha256: &self.image.program_sha256,
            replayed: self.request.replayed.as_ref(),
        };
        let result = outcome.and_then(|measured| {
            if !start.kept {
                return Ok(None);
            }
            let analysed = analyse(&self.prepared.stack, &measured, &trace_dir)?;
            run_row::check(&measured, &analysed, &facts)?;
            Ok(Some((measured, analysed)))
        });
        if !(self.request.options.keep_traces && start.kept && result.is_ok()) {
            // A trace that is not kept has done its work; a folder that is not there is as good as removed.
            let _ = std::fs::remove_dir_all(&trace_dir);
        }
        self.keep(number, &facts, result, label)
    }

    /// What is not as in the deployment's first run, or on the machine not as when the experiment began.
    fn changed(&self, deployment: &str, environment: &Values, settings: &Values) -> Option<String> {
        let experiment = self.result.experiment();
        let first = experiment.deployment(deployment).map(|d| &d.fingerprint);
        let own = first.and_then(|first| changed(first, environment));
        let machine = changed(
            &of_machine(&experiment.machine.settings),
            &of_machine(settings),
        );
        let all: Vec<String> = own.into_iter().chain(machine).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What the calibration of a block gives.
    fn speed(&self, block: u32) -> Option<WorkSpeed> {
        let experiment = self.result.experiment();
        let mut calibrations = experiment.calibration.iter();
        let of_block = calibrations.find(|c| c.block == block + 1);
        of_block.map(BlockCalibration::speed)
    }

    fn trace_dir(&self, number: Option<u32>) -> PathBuf {
        let name = number.map_or_else(|| "unkept".to_owned(), |number| format!("run-{number:04}"));
        self.result.dir().join("traces").join(name)
    }

    fn session(
        &self,
        job: Job,
        planned: &Planned,
        start: Start,
        elapsed: Duration,
        trace_dir: &Path,
    ) -> Result<Measured, RunError> {
        let run = format!(
            "{}-{}-{}",
            std::process::id(),
            job.block + 1,
            elapsed.as_millis()
        );
        let salt =
            u64::from(std::process::id()) + u64::from(job.block) * 31 + job.deployment as u64;
        let site: Rc<dyn Site> = self.shared.host.clone();
        let domain = site.free_domain(salt, self.shared.participants)?;
        let options = LowerOptions {
            run: run.clone(),
            domain,
            seed: self.request.seed,
            block: job.block,
            phases: phases(
                self.request,
                self.result.experiment().pilot.as_ref(),
                job.block,
            ),
            natural_phase: self.request.natural_phase,
            phase_spans: self.prepared.phase_spans.clone(),
            injection: planned.deployment.injection().cloned(),
            launching: planned.deployment.launching(),
            // The stack is scaled already.
            work_scale: 1.0,
            record: true,
            record_callback_cpu: self.request.options.callback_cpu,
            replay: self.prepared.replay.clone(),
        };
        let stack = self.stack(job.block)?;
        let services = lower(&stack, &planned.deployment.partition, &options);
        let image_dir = site.put(&self.image.dir)?;
        let engine = self
            .shared
            .engines
            .get(&planned.deployment.place.engine.name)?;
        let deployment = DeploymentPlan {
            parallelism: self.request.parallelism.unwrap_or(0),
            ..deployment_plan(&planned.real, &planned.deployment, &run, &image_dir)
        };
        let host = HostPlan {
            site,
            engine: engine.as_ref(),
            services: &services,
            deployment,
            real: &planned.real,
            cold: (start.kind == StartKind::Cold).then(|| vec![image_dir]),
        };
        measure(&SessionPlan {
            hosts: vec![host],
            domain,
            cyclonedds_xml: &cyclonedds_xml(DdsConfig {
                domain: Some(domain),
                ..self.dds
            }),
            ring_bytes: self.prepared.ring_bytes,
            stall_timeout: STALL_BASE
                + STALL_PER_PROCESS * u32::try_from(planned.plan.processes).unwrap_or(u32::MAX),
            warm_up: Duration::from_nanos(self.request.warm_up_ns),
            // Of a start that is not kept, what it leaves in the caches is all that is wanted.
            window: (self.request.window_ns > 0 && start.kept)
                .then(|| Duration::from_nanos(self.request.window_ns)),
            preemption: self.request.options.preemption,
            sample_period: SAMPLE_PERIOD,
            trace_dir,
        })
    }

    /// Writes the run, finished or failed; starts that are not kept only fail.
    fn keep(
        &self,
        number: Option<u32>,
        facts: &RunFacts<'_>,
        result: Result<Option<(Measured, Analysed)>, RunError>,
        label: &str,
    ) -> Result<(), RunFailed> {
        match result {
            Ok(None) => Ok(()),
            Ok(Some((measured, analysed))) => {
                let modules = modules(self.prepared);
                let environment = fingerprint(&measured);
                let machine = self.shared.host.facts();
                let machine = machine.map_err(|e| self.failed(label, e.into()))?;
                let changed =
                    self.changed(&facts.planned.record.id, &environment, &machine.settings);
                let data = run_row::finished(facts, &measured, changed, &analysed, &modules);
                self.note(&measured, environment, facts);
                let written = self.result.write_run(&data);
                written.map_err(|e| RunFailed::of_results(label, &e))
            }
            Err(error) => {
                let failed = self.failed(label, error);
                if number.is_some() {
                    let row = RunData::of(run_row::failed(facts, &failed.message));
                    let written = self.result.write_run(&row);
                    written.map_err(|e| RunFailed::of_results(label, &e))?;
                }
                Err(failed)
            }
        }
    }

    /// What a run tells about its deployment and about Stowplan itself.
    fn note(
        &self,
        measured: &Measured,
        environment: BTreeMap<String, String>,
        facts: &RunFacts<'_>,
    ) {
        self.result.note(|experiment| {
            for window in measured
                .hosts
                .iter()
                .filter_map(|host| host.window.as_ref())
            {
                let own = experiment.stowplan_own.get_or_insert_default();
                own.switches += window.own_switches;
                own.cpu_ns += window.own_cpu_ns;
                own.armed_ns += window.t_disarm_ns - window.t_arm_ns;
            }
            let mut all = experiment.deployments.iter_mut();
            if let Some(record) = all.find(|d| d.id == facts.planned.record.id) {
                for deviation in measured.hosts.iter().flat_map(|host| &host.deviations) {
                    if !record.deviations.contains(deviation) {
                        record.deviations.push(deviation.clone());
                    }
                }
                if record.fingerprint.is_empty() {
                    record.fingerprint = environment;
                }
            }
        });
    }

    fn failed(&self, what: &str, error: RunError) -> RunFailed {
        let gone = self.shared.host.clock().is_err();
        RunFailed {
            message: format!("{what}: {}", stowplan_host::chain(&error)),
            hint: error.hint.clone(),
            fatal: error.kind == FailureKind::Full || gone,
        }
    }
}

/// What is said of a start while it runs.
fn detail(start: Start) -> String {
    let kept = if start.kept { "" } else { ", not kept" };
    format!("{} start{kept}", start.kind.word())
}

/// Module of every node.
fn modules(prepared: &Prepared) -> BTreeMap<String, String> {
    prepared
        .stack
        .nodes
        .iter()
        .map(|n| (n.name.to_string(), n.module.to_string()))
        .collect()
}
