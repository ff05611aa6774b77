//! One run of a deployment: started, tried and removed.

use std::rc::Rc;

use stowplan_engine::{Engine, Variant};
use stowplan_measure::RunError;
use stowplan_site::Site;
use stowplan_wire::deployment::{DeploymentPlan, Program, Restarts, ServiceStart};
use stowplan_wire::service::ServicePlan;

use crate::fault::Settings;
use crate::figures::Figure;
use crate::stand::Stand;
use crate::trials::{CHECKS, PLANLESS, Trials};

/// Nothing is recorded: a trace buffer that is not used has the least size.
const RING_BYTES: u64 = 4096;

/// What is started, on which host, and what is tried of it.
pub struct Session<'a> {
    /// The host.
    pub site: Rc<dyn Site>,
    /// The engine.
    pub engine: &'a dyn Engine,
    /// What its variant can do.
    pub can: &'a Variant,
    /// Plans of the services.
    pub services: &'a [ServicePlan],
    /// What the engine starts; run folder, logs, limits and the service that cannot start are filled in.
    pub plan: DeploymentPlan,
    /// Configuration of DDS.
    pub cyclonedds_xml: String,
    /// Name of the service that is tried.
    pub service: &'a str,
    /// The faults.
    pub trials: &'a Trials,
    /// Number of the block, from 0.
    pub block: u32,
}

impl Session<'_> {
    /// Measures everything once; with settings of the engine, faults alone. Whatever happens, the deployment is destroyed and the run folder removed.
    ///
    /// # Errors
    /// When a service does not come up, or an engine fails where it should not.
    pub fn run(mut self) -> Result<Vec<Figure>, RunError> {
        let health = self.trials.settings == Settings::HealthChecks;
        let mut services = self.services.to_vec();
        for service in &mut services {
            service.answers = health && service.service == self.service;
        }
        let memory = self.trials.memory_bytes.filter(|_| self.can.limits.memory);
        self.fill(memory);
        let trials = Trials {
            memory_bytes: memory,
            ..self.trials.clone()
        };
        let block = self.block;
        Stand {
            site: self.site,
            engine: self.engine,
            can: self.can,
            services: &services,
            plan: self.plan,
            cyclonedds_xml: &self.cyclonedds_xml,
            ring_bytes: RING_BYTES,
            service: self.service,
        }
        .with(
            |site| Ok(site.add_real(vec![PLANLESS.to_owned()])?),
            |bench, _| {
                bench.bring_up()?;
                let mut figures = Vec::new();
                if trials.settings == Settings::None {
                    figures = bench.operations()?;
                }
                figures.extend(bench.faults(&trials, block)?);
                Ok(figures)
            },
        )
    }

    fn fill(&mut self, memory_bytes: Option<u64>) {
        self.plan
            .services
            .push(ServiceStart::new(PLANLESS, Program::Node));
        let mut all = self.plan.services.iter_mut();
        let tried = all.find(|service| service.name == self.service);
        if let Some(tried) = tried {
            tried.limits.memory_bytes = memory_bytes;
            tried.restarts = match self.trials.settings {
                Settings::ByDefault => Restarts::ByDefault,
                Settings::Restarts | Settings::HealthChecks if self.can.restarts => {
                    Restarts::AtOnce
                }
                _ => Restarts::Never,
            };
            tried.health = (self.trials.settings == Settings::HealthChecks).then_some(CHECKS);
        }
    }
}
