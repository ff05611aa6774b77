//! The station of an experiment for a suite that drives deployments by itself: planning, image, engines, records.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Engine, Variant};
use stowplan_host::Host;
use stowplan_measure::RunError;
use stowplan_measure::dds::{DdsConfig, cyclonedds_xml};
use stowplan_measure::lower::{LowerOptions, lower};
use stowplan_model::{RealService, Stack};
use stowplan_remote::AgentHost;
use stowplan_results::{DeploymentRecord, Experiment};
use stowplan_site::Site;
use stowplan_suite::OpenResult;
use stowplan_wire::deployment::DeploymentPlan;
use stowplan_wire::service::ServicePlan;

use crate::dds;
use crate::engines::CallerEngines;
use crate::error::ExperimentError;
use crate::missing::{keep_recorded, require_all};
use crate::phases::phases;
use crate::programs::Programs;
use crate::record::experiment;
use crate::request::Request;
use crate::resumed::Resumed;
use crate::speed;
use crate::station::{Ready, Station};
use crate::wire::deployment_plan;

/// What a stage needs from its caller.
pub struct StageCaller<'a> {
    /// Programs.
    pub programs: &'a Programs,
    /// Gets the pid of the agent as soon as there is one.
    pub agent_started: &'a mut dyn FnMut(u32),
    /// Engines beside those of the agent.
    pub outside: CallerEngines<'a>,
}

/// The agent, the engines and the planned deployments of an experiment.
pub struct Stage<'a> {
    station: Station<'a>,
    ready: Ready,
    dds: DdsConfig,
}

/// What one run of a deployment starts.
pub struct StagedRun {
    /// Plans of its services.
    pub services: Vec<ServicePlan>,
    /// What the engine starts; its run folder and logs are to be filled in.
    pub plan: DeploymentPlan,
    /// Configuration of DDS.
    pub cyclonedds_xml: String,
    /// The engine.
    pub engine: Rc<dyn Engine>,
    /// What its variant can do.
    pub can: Variant,
}

impl<'a> Stage<'a> {
    /// Starts an agent and plans a new experiment; gives its record, too, whose suite is to be filled in.
    ///
    /// # Errors
    /// When something that was asked for cannot be had here.
    pub fn open(
        request: &Request,
        caller: StageCaller<'a>,
    ) -> Result<(Self, Experiment), ExperimentError> {
        let station = Station::start(
            request,
            caller.programs,
            caller.outside,
            caller.agent_started,
        )?;
        station.require(request)?;
        let speed = station.calibrate(std::slice::from_ref(request))?;
        let ready = station.ready(request.clone(), &speed)?;
        require_all(request, &ready.prepared)?;
        let record = experiment(
            &ready.request,
            &ready.prepared,
            &station.facts,
            &ready.image,
            &station.engines.versions(),
            &speed,
        );
        Ok((Self::of(station, ready)?, record))
    }

    /// The same for a result that is gone on with.
    ///
    /// # Errors
    /// When the folder is not a result, or this is another machine or program than the one it began with.
    pub fn resume(
        dir: &Path,
        budget: Option<Duration>,
        caller: StageCaller<'a>,
    ) -> Result<(Self, OpenResult), ExperimentError> {
        let found = Resumed::open(dir, budget)?;
        let station = Station::start(
            &found.request,
            caller.programs,
            caller.outside,
            caller.agent_started,
        )?;
        let (begun, planned_with) = {
            let experiment = found.result.experiment();
            let speed = speed::of_parameters(&experiment.parameters);
            (experiment.deployments.clone(), speed)
        };
        let request = found.request.clone();
        let requests = std::slice::from_ref(&request);
        let speed = planned_with.map_or_else(|| station.calibrate(requests), Ok)?;
        let mut ready = station.ready(request, &speed)?;
        keep_recorded(&mut ready.prepared, &begun)?;
        let measured = found.go_on(ready, &station)?;
        Ok((Self::of(station, measured.ready)?, measured.result))
    }

    fn of(station: Station<'a>, ready: Ready) -> Result<Self, ExperimentError> {
        let participants = ready.prepared.participants();
        let profile = ready.request.dds_profile()?;
        let dds = dds::config(profile, participants, &station.facts);
        Ok(Self {
            station,
            ready,
            dds,
        })
    }

    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.ready.request
    }

    /// The agent's machine.
    #[must_use]
    pub fn host(&self) -> &Rc<AgentHost> {
        &self.station.host
    }

    /// Records of the deployments that can run, in the order of their numbers.
    pub fn deployments(&self) -> impl Iterator<Item = &DeploymentRecord> {
        self.ready.prepared.deployments.iter().map(|d| &d.record)
    }

    /// What the user should know before the first run.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.ready.prepared.warnings
    }

    /// The stack with scaled work.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.ready.prepared.stack
    }

    /// Trace buffer of every process, in bytes, for what was asked to be recorded: warm-up and window.
    #[must_use]
    pub fn ring_bytes(&self) -> u64 {
        self.ready.prepared.ring_bytes
    }

    /// Real programs of the stack.
    #[must_use]
    pub fn real_services(&self) -> &[RealService] {
        &self.ready.prepared.stack.services
    }

    /// Keeps what the result needs beside its tables.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn keep(&self, dir: &Path) -> Result<(), ExperimentError> {
        self.ready.request.save(dir)?;
        dds::keep(self.dds, dir)
    }

    /// A run of the deployment with this number, which records no trace.
    ///
    /// # Errors
    /// When the host gives no DDS domain or the engine is gone.
    pub fn run(&self, deployment: usize, block: u32, run: &str) -> Result<StagedRun, RunError> {
        let (request, prepared) = (&self.ready.request, &self.ready.prepared);
        let planned = &prepared.deployments[deployment];
        let host = &self.station.host;
        let salt = u64::from(std::process::id()) + u64::from(block) * 31 + deployment as u64;
        let domain = host.free_domain(salt, prepared.participants())?;
        let options = LowerOptions {
            run: run.to_owned(),
            domain,
            seed: request.seed,
            block,
            phases: phases(request, None, block),
            natural_phase: false,
            phase_spans: prepared.phase_spans.clone(),
            injection: None,
            launching: planned.deployment.launching(),
            work_scale: 1.0,
            record: false,
            record_callback_cpu: false,
            replay: Vec::new(),
        };
        let image_dir = host.put(&self.ready.image.dir)?;
        let engine = self
            .station
            .engines
            .get(&planned.deployment.place.engine.name)?;
        let plan = deployment_plan(&planned.real, &planned.deployment, run, &image_dir);
        let can = engine.capabilities();
        let can = can.variant(plan.variant.as_deref()).cloned();
        Ok(StagedRun {
            services: lower(&prepared.stack, &planned.deployment.partition, &options),
            plan,
            cyclonedds_xml: cyclonedds_xml(DdsConfig {
                domain: Some(domain),
                ..self.dds
            }),
            engine,
            can: can.ok_or_else(|| RunError::new("the engine has no such variant"))?,
        })
    }

    /// Waits until the machine is quiet, at most so long; whether it was.
    ///
    /// # Errors
    /// When the agent does not answer.
    pub fn quiet(&self, settle: Duration) -> Result<bool, RunError> {
        let settle = u64::try_from(settle.as_millis()).unwrap_or(u64::MAX);
        Ok(self.station.host.quiet(settle)?.quiet)
    }

    /// Whether the agent is gone, so that going on makes no sense.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.station.host.clock().is_err()
    }
}
