//! What a session starts, and what is measured of it.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stowplan_engine::Engine;
use stowplan_model::RealService;
use stowplan_site::Site;
use stowplan_wire::deployment::DeploymentPlan;
use stowplan_wire::service::ServicePlan;

/// What a session starts on one host.
pub struct HostPlan<'a> {
    /// The host.
    pub site: Rc<dyn Site>,
    /// The engine that starts its services.
    pub engine: &'a dyn Engine,
    /// Plans of its services of modelled nodes.
    pub services: &'a [ServicePlan],
    /// What the engine starts; its run folder is filled in.
    pub deployment: DeploymentPlan,
    /// Its real programs and how they tell that they are ready.
    pub real: &'a [RealService],
    /// Files that must not be resident before the start; `None` leaves the page cache as it is.
    pub cold: Option<Vec<String>>,
}

/// What is started, and what is measured of it.
pub struct SessionPlan<'a> {
    /// The hosts with what is started on each. The first one's clock is that of the session.
    pub hosts: Vec<HostPlan<'a>>,
    /// DDS domain of the run.
    pub domain: u32,
    /// CycloneDDS configuration.
    pub cyclonedds_xml: &'a str,
    /// Trace buffer of each process in bytes.
    pub ring_bytes: u64,
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

impl SessionPlan<'_> {
    /// Processes of the node program on all hosts, launchers included.
    pub(super) fn processes(&self) -> usize {
        let services = self.hosts.iter().flat_map(|host| host.services);
        services.map(|service| service.processes.len() + 1).sum()
    }
}
