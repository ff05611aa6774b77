//! One run of a scenario: a strategy, a timeline, and what the chains made of it.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::{Engine, Variant};
use stowplan_measure::RunError;
use stowplan_measure::collect::RingFile;
use stowplan_model::Chain;
use stowplan_site::Site;
use stowplan_spec::{Scenario, Strategy};
use stowplan_wire::deployment::{DeploymentPlan, Select};
use stowplan_wire::service::ServicePlan;

use crate::bench::{ASKED, Bench};
use crate::figures::Figure;
use crate::stand::Stand;

use super::figures::{played, without};
use super::latency::{Outputs, outputs};
use super::player::{Played, Player};

/// What is recorded after the end of the timeline, until the last outputs of its inputs are there.
const AFTER: Duration = Duration::from_millis(500);

/// What is started, on which host, and what is played.
pub struct OnDemand<'a> {
    /// The host.
    pub site: Rc<dyn Site>,
    /// The engine.
    pub engine: &'a dyn Engine,
    /// What its variant can do.
    pub can: &'a Variant,
    /// Plans of the services; which of them record is filled in.
    pub services: Vec<ServicePlan>,
    /// What the engine starts; run folder and logs are filled in.
    pub plan: DeploymentPlan,
    /// Configuration of DDS.
    pub cyclonedds_xml: String,
    /// What is played.
    pub scenario: &'a Scenario,
    /// How services wait.
    pub strategy: Strategy,
    /// The chains that are looked at; none looks at none.
    pub chains: &'a [Chain],
    /// Trace buffer of each process, bytes.
    pub ring_bytes: u64,
    /// Folder for the trace, which exists; what is put there may stay.
    pub scratch: &'a Path,
}

impl OnDemand<'_> {
    /// Plays the timeline once. Whatever happens, the deployment is destroyed and the run folder removed.
    ///
    /// # Errors
    /// When a service does not come up, or an engine fails where it should not.
    pub fn run(mut self) -> Result<Vec<Figure>, RunError> {
        if let Some(why) = self.missing() {
            return Ok(without(self.scenario, self.strategy, why));
        }
        let on_demand = self.scenario.on_demand();
        for plan in &mut self.services {
            // A trace buffer is of one process: those that come and go have none.
            plan.record = !self.chains.is_empty() && !on_demand.contains(plan.service.as_str());
        }
        let Some(first) = on_demand.first().map(|name| (*name).to_owned()) else {
            return Ok(Vec::new());
        };
        let (scenario, strategy) = (self.scenario, self.strategy);
        let (chains, scratch, services) = (self.chains, self.scratch, &self.services);
        let (seen, outputs) = Stand {
            site: self.site,
            engine: self.engine,
            can: self.can,
            services,
            plan: self.plan,
            cyclonedds_xml: &self.cyclonedds_xml,
            ring_bytes: self.ring_bytes,
            service: &first,
        }
        .with(
            |_| Ok(()),
            |bench, run_dir| {
                let (seen, window) = play(bench, scenario, strategy)?;
                if chains.is_empty() {
                    return Ok((seen, Outputs::new()));
                }
                bench.deployment.stop(&Select::All, ASKED)?;
                let rings = rings(bench, services, run_dir, scratch)?;
                Ok((seen, outputs(&rings, scratch, chains, window)?))
            },
        )?;
        Ok(played(scenario, strategy, &seen, &outputs))
    }

    /// Why this place does not have the strategy.
    const fn missing(&self) -> Option<&'static str> {
        match self.strategy {
            Strategy::Created if !self.can.separate_create => {
                Some("this engine creates and starts at once")
            }
            Strategy::Paused if !self.can.pause => Some("this place cannot pause services"),
            Strategy::Frozen if !self.can.accounting => {
                Some("services of this place have no control groups of their own")
            }
            _ => None,
        }
    }
}

/// Starts everything, plays, and thaws what is frozen; gives the time that was played, too.
fn play(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    strategy: Strategy,
) -> Result<(Played, (u64, u64)), RunError> {
    bench.bring_up()?;
    let mut player = Player::new(bench, scenario, strategy)?;
    let seen = player.stand_by().and_then(|standing| {
        let zero_ns = player.arm()?;
        let starts = player.play(zero_ns)?;
        Ok((Played { standing, starts }, zero_ns))
    });
    let thawed = player.thaw();
    let (seen, zero_ns) = seen?;
    thawed?;
    bench.pass(AFTER)?;
    Ok((seen, (zero_ns, zero_ns + scenario.length_ns)))
}

/// The trace buffers of what was recorded.
fn rings(
    bench: &Bench<'_>,
    services: &[ServicePlan],
    run_dir: &str,
    scratch: &Path,
) -> Result<Vec<RingFile>, RunError> {
    let recording = services.iter().filter(|service| service.record);
    let processes = recording.flat_map(|s| s.processes.iter().map(move |p| (s, p)));
    let rings = processes.map(|(service, process)| {
        let file = PathBuf::from(run_dir).join(&service.service);
        let file = file.join(format!("{}.ring", process.name));
        Ok(RingFile {
            path: bench.site.bring(&file, scratch)?,
            service: service.service.clone(),
            process: process.name.clone(),
        })
    });
    rings.collect()
}
