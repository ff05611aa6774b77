//! The trait of everything that a run asks of a host, beside what engines ask of it.

use std::path::{Path, PathBuf};

use stowplan_engine::EngineError;
use stowplan_host::Host;
use stowplan_wire::agent::{Announced, ProgramDigest, Recipients, ServiceSignal};
use stowplan_wire::announce::Control;
use stowplan_wire::deployment::EngineEvent;
use stowplan_wire::host::{ColdProof, Preemptions};
use stowplan_wire::service::ServicePlan;

/// What a window cost the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Armed {
    /// Arming instant, CLOCK_MONOTONIC ns of the host.
    pub t_arm_ns: u64,
    /// Disarming instant.
    pub t_disarm_ns: u64,
    /// Context switches of the agent between the two.
    pub own_switches: u64,
    /// CPU time of the agent between the two in ns.
    pub own_cpu_ns: u64,
}

/// What happened since the last look.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Engine events in order.
    pub engine: Vec<EngineEvent>,
    /// Announcements in order of arrival.
    pub announcements: Vec<Announced>,
}

/// A host on which runs are made.
pub trait Site: Host {
    /// Makes the run folder with plans, sockets and trace buffers of `ring_bytes` each; gives its path on the host.
    ///
    /// # Errors
    /// When a run is open or something cannot be made.
    fn open_run(
        &self,
        run: &str,
        services: Vec<ServicePlan>,
        cyclonedds_xml: String,
        ring_bytes: u64,
    ) -> Result<String, EngineError>;

    /// Makes the folders of these services in the run folder, with the DDS configuration: those of real programs, which
    /// the run was opened without.
    ///
    /// # Errors
    /// When no run is open or one cannot be made.
    fn add_real(&self, services: Vec<String>) -> Result<(), EngineError>;

    /// Removes everything of the run on the host and what was entered in its ledger.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn close_run(&self) -> Result<(), EngineError>;

    /// Engine events and announcements since the last look; waits up to `timeout_ms` until there is one.
    ///
    /// # Errors
    /// When the host does not answer.
    fn watch(&self, timeout_ms: u64) -> Result<Watched, EngineError>;

    /// A DDS domain with nobody in it, in the network that the host's services share.
    ///
    /// # Errors
    /// When every domain that Stowplan uses is taken.
    fn free_domain(&self, salt: u64, participants: usize) -> Result<u32, EngineError>;

    /// Lets the host read a folder of the caller's, such as an image; gives its path there.
    ///
    /// # Errors
    /// When it cannot be copied there.
    fn put(&self, folder: &Path) -> Result<String, EngineError>;

    /// Lets the caller read a file of the host's, such as a trace buffer; gives its path here, which lies in `scratch` where the
    /// host is another machine.
    ///
    /// # Errors
    /// When it cannot be read or copied.
    fn bring(&self, file: &Path, scratch: &Path) -> Result<PathBuf, EngineError>;

    /// Does what takes time before a window of which the end is at most `longest_ns` away: with `preemption` the kernel records
    /// context switches from now on. Gives the host's clock when that is done.
    ///
    /// # Errors
    /// When no run is open, or the kernel does not let the host record.
    fn before_window(&self, longest_ns: u64, preemption: bool) -> Result<u64, EngineError>;

    /// Tells every node program to arm at an instant of the host's clock for a window of this length, and returns when all
    /// are ready for it.
    ///
    /// # Errors
    /// When a process is not ready by then, fails or ends; the error names it and its log.
    fn arm(&self, t_arm_ns: u64, window_ns: u64) -> Result<(), EngineError>;

    /// Waits until the window that was armed is over, which is at most `longest_ns` away.
    ///
    /// # Errors
    /// When none was armed in time, or a process fails or ends in the window; the error names it and its log.
    fn wait_window(&self, longest_ns: u64) -> Result<Armed, EngineError>;

    /// Tells every node program to stop and send its counters, which come by [`Site::watch`].
    ///
    /// # Errors
    /// When no run is open.
    fn stop_nodes(&self) -> Result<(), EngineError>;

    /// Tells node programs of a service something; gives the host's clock, read before that.
    ///
    /// # Errors
    /// When no run is open or none of them is connected.
    fn tell_service(
        &self,
        service: &str,
        to: Recipients,
        control: &Control,
    ) -> Result<u64, EngineError>;

    /// Sends a signal to node programs of a service; gives the host's clock, read before that.
    ///
    /// # Errors
    /// When no run is open or none of them is connected.
    fn signal_service(
        &self,
        service: &str,
        to: Recipients,
        signal: ServiceSignal,
    ) -> Result<u64, EngineError>;

    /// Ends the recording of when threads of the node programs lose their CPU, which a window began; what it has, where there is one.
    ///
    /// # Errors
    /// When no run is open.
    fn end_preemption(&self) -> Result<Option<Preemptions>, EngineError>;

    /// Digests of the programs that the run's node programs execute.
    ///
    /// # Errors
    /// When a process is gone.
    fn node_digests(&self) -> Result<Vec<ProgramDigest>, EngineError>;

    /// Drops the page cache and counts what is still resident of `files`; a folder stands for all in it.
    ///
    /// # Errors
    /// When the cache may not be dropped.
    fn cold(&self, files: Vec<String>) -> Result<ColdProof, EngineError>;

    /// Bytes that were read from block devices since boot, by whomever.
    ///
    /// # Errors
    /// When the kernel does not tell.
    fn paged_in_bytes(&self) -> Result<u64, EngineError>;
}
