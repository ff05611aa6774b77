//! One run of a deployment: started, tried and removed.

use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, Variant};
use stowplan_host::Host;
use stowplan_measure::RunError;
use stowplan_site::Site;
use stowplan_wire::deployment::{DeploymentPlan, LimitsPlan, Program, ServiceStart};
use stowplan_wire::service::ServicePlan;

use crate::bench::Bench;
use crate::figures::Figure;
use crate::trials::{PLANLESS, Trials};

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
    /// Measures everything once. Whatever happens, the deployment is destroyed and the run folder removed.
    ///
    /// # Errors
    /// When a service does not come up, or an engine fails where it should not.
    pub fn run(self) -> Result<Vec<Figure>, RunError> {
        let site = Rc::clone(&self.site);
        let services = self.services.to_vec();
        let xml = self.cyclonedds_xml.clone();
        // Nothing is recorded: a trace buffer that is not used has the least size.
        let run_dir = site.open_run(&self.plan.run, services, xml, 4096)?;
        let measured = self.measured(&run_dir);
        let closed = site.close_run();
        let figures = measured?;
        closed?;
        Ok(figures)
    }

    fn measured(mut self, run_dir: &str) -> Result<Vec<Figure>, RunError> {
        self.site.add_real(vec![PLANLESS.to_owned()])?;
        let memory = self.trials.memory_bytes.filter(|_| self.can.limits.memory);
        self.fill(run_dir, memory);
        let trials = Trials {
            memory_bytes: memory,
            ..self.trials.clone()
        };
        let host: Rc<dyn Host> = Rc::clone(&self.site) as Rc<dyn Host>;
        let mut deployment = self.engine.prepare(&self.plan, host)?;
        let driven = self.drive(deployment.as_mut(), &trials);
        let log = driven.as_ref().err();
        let log = log.and_then(|_| deployment.log(self.service, 4096).ok());
        let destroyed = deployment.destroy();
        let figures = driven.map_err(|error| error.with_log(log))?;
        destroyed?;
        Ok(figures)
    }

    fn fill(&mut self, run_dir: &str, memory_bytes: Option<u64>) {
        run_dir.clone_into(&mut self.plan.run_dir);
        self.plan.services.push(ServiceStart {
            restarts: false,
            name: PLANLESS.to_owned(),
            program: Program::Node,
            limits: LimitsPlan::default(),
            log: String::new(),
        });
        for service in &mut self.plan.services {
            service.log = format!("{run_dir}/{}/service.log", service.name);
            if service.name == self.service {
                service.limits.memory_bytes = memory_bytes;
            }
        }
    }

    fn drive(
        &self,
        deployment: &mut dyn Deployment,
        trials: &Trials,
    ) -> Result<Vec<Figure>, RunError> {
        let plans = self.services.iter();
        let plan = plans.clone().find(|plan| plan.service == self.service);
        let mut bench = Bench {
            site: self.site.as_ref(),
            deployment,
            can: self.can,
            plans: self.services,
            plan: plan.ok_or_else(|| {
                let names: Vec<&str> = plans.map(|plan| plan.service.as_str()).collect();
                let service = self.service;
                let names = names.join(", ");
                RunError::new(format!("no service '{service}'; services are {names}"))
            })?,
        };
        bench.bring_up()?;
        let mut figures = bench.operations()?;
        figures.extend(bench.faults(trials, self.block)?);
        Ok(figures)
    }
}
