//! A deployment that is started, used and removed, whatever happens meanwhile.

use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, Variant};
use stowplan_host::Host;
use stowplan_measure::RunError;
use stowplan_site::Site;
use stowplan_wire::deployment::DeploymentPlan;
use stowplan_wire::service::ServicePlan;

use crate::bench::Bench;

/// What is started, and on which host.
pub(crate) struct Stand<'a> {
    /// The host.
    pub(crate) site: Rc<dyn Site>,
    /// The engine.
    pub(crate) engine: &'a dyn Engine,
    /// What its variant can do.
    pub(crate) can: &'a Variant,
    /// Plans of the services.
    pub(crate) services: &'a [ServicePlan],
    /// What the engine starts; run folder and logs are filled in.
    pub(crate) plan: DeploymentPlan,
    /// Configuration of DDS.
    pub(crate) cyclonedds_xml: &'a str,
    /// Size of a trace buffer.
    pub(crate) ring_bytes: u64,
    /// Service whose log says why something failed.
    pub(crate) service: &'a str,
}

impl Stand<'_> {
    /// Prepares the deployment for `drive`, which starts it; gives what that gives. `begin` runs before, in a run folder that is open.
    ///
    /// # Errors
    /// When an engine fails, or `drive` does. The deployment is destroyed and the run folder removed all the same.
    pub(crate) fn with<T>(
        mut self,
        begin: impl FnOnce(&dyn Site) -> Result<(), RunError>,
        drive: impl FnOnce(&mut Bench<'_>, &str) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let site = Rc::clone(&self.site);
        let services = self.services.to_vec();
        let xml = self.cyclonedds_xml.to_owned();
        let run_dir = site.open_run(&self.plan.run, services, xml, self.ring_bytes)?;
        lay_into(&run_dir, &mut self.plan);
        let driven = begin(site.as_ref()).and_then(|()| self.prepared(&run_dir, drive));
        let closed = site.close_run();
        let given = driven?;
        closed?;
        Ok(given)
    }

    fn prepared<T>(
        &self,
        run_dir: &str,
        drive: impl FnOnce(&mut Bench<'_>, &str) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        deployed(
            &self.site,
            self.engine,
            &self.plan,
            self.service,
            |deployment| {
                let mut bench = self.bench(deployment)?;
                drive(&mut bench, run_dir)
            },
        )
    }

    fn bench<'b>(&'b self, deployment: &'b mut dyn Deployment) -> Result<Bench<'b>, RunError> {
        let mut plans = self.services.iter();
        let plan = plans.find(|plan| plan.service == self.service);
        let plan = plan.ok_or_else(|| {
            let plans = self.services.iter();
            let names: Vec<&str> = plans.map(|plan| plan.service.as_str()).collect();
            let (service, names) = (self.service, names.join(", "));
            RunError::new(format!("no service '{service}'; services are {names}"))
        })?;
        Ok(Bench {
            site: self.site.as_ref(),
            deployment,
            can: self.can,
            plans: self.services,
            plan,
            is_healthy: false,
        })
    }
}

/// Prepares a plan for `drive`, and removes everything of it afterwards. The log of this service says why `drive` failed.
pub(crate) fn deployed<T>(
    site: &Rc<dyn Site>,
    engine: &dyn Engine,
    plan: &DeploymentPlan,
    service: &str,
    drive: impl FnOnce(&mut dyn Deployment) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let host: Rc<dyn Host> = Rc::clone(site) as Rc<dyn Host>;
    let mut deployment = engine.prepare(plan, host)?;
    let driven = drive(deployment.as_mut());
    let log = driven.as_ref().err();
    let log = log.and_then(|_| deployment.log(service, 4096).ok());
    let destroyed = deployment.destroy();
    let given = driven.map_err(|error| error.with_log(log))?;
    destroyed?;
    Ok(given)
}

/// Opens a run of the plan's services, which are no modelled ones, for `measure`, and closes it whatever happens.
pub(crate) fn in_run<T>(
    site: &dyn Site,
    mut plan: DeploymentPlan,
    measure: impl FnOnce(DeploymentPlan) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let run_dir = site.open_run(&plan.run, Vec::new(), String::new(), 4096)?;
    lay_into(&run_dir, &mut plan);
    let services = plan.services.iter();
    let services = services.map(|service| service.name.clone()).collect();
    let made = site.add_real(services).map_err(RunError::from);
    let measured = made.and_then(|()| measure(plan));
    let closed = site.close_run();
    let given = measured?;
    closed?;
    Ok(given)
}

/// Name of the run for one of its deployments: Kubernetes takes seconds to remove what an earlier one of the same name had, and
/// the next one would wait for that.
pub(crate) fn numbered(run: &str, number: u32) -> String {
    format!("{run}-{number}")
}

/// Fills in the run folder and the logs, which lie in it.
pub(crate) fn lay_into(run_dir: &str, plan: &mut DeploymentPlan) {
    run_dir.clone_into(&mut plan.run_dir);
    for service in &mut plan.services {
        service.log = format!("{run_dir}/{}/service.log", service.name);
    }
}
