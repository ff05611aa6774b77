//! What engines and measurements may ask of the machine that services run on.

use std::path::Path;

use stowplan_wire::agent::ProgramDigest;
use stowplan_wire::deployment::Locator;
use stowplan_wire::host::{LimitsReadBack, MachineFacts, MemorySample, SampleSubject, Sampled};

use crate::HostError;
use crate::object::Object;

/// A machine: this one (`LocalHost`, inside the agent) or one behind a pipe (`AgentHost`).
///
/// Methods take `&self`: a host is shared by the engine, the deployment and the caller of one thread.
pub trait Host {
    /// Name of the host, as in [`Locator::host`].
    fn id(&self) -> String;

    /// CLOCK_MONOTONIC of that host in ns. Clocks of two hosts are two clocks.
    ///
    /// # Errors
    /// When the host does not answer.
    fn clock(&self) -> Result<u64, HostError>;

    /// Name of that clock, as in `EngineEvent::clock`.
    fn clock_domain(&self) -> String {
        format!("host:{}/monotonic", self.id())
    }

    /// What the machine is.
    ///
    /// # Errors
    /// When the host does not answer.
    fn facts(&self) -> Result<MachineFacts, HostError>;

    /// Samples these cgroups every `period_ms` milliseconds until [`Host::stop_sampling`]. `own` are processes of the
    /// host that work for Stowplan, beside itself: what they use is its own.
    ///
    /// # Errors
    /// When a cgroup file cannot be opened.
    fn start_sampling(
        &self,
        subjects: &[SampleSubject],
        own: &[u32],
        period_ms: u64,
    ) -> Result<(), HostError>;

    /// Samples these too, beginning at once. They must have used nothing before sampling began, as services that were
    /// started meanwhile: their counters count from their own beginning. Processes of a subject that is sampled already are
    /// added to it.
    ///
    /// # Errors
    /// When sampling was not started or the host does not answer.
    fn sample_also(&self, subjects: &[SampleSubject]) -> Result<(), HostError>;

    /// Ends sampling and gives what was sampled.
    ///
    /// # Errors
    /// When sampling was not started or the host does not answer.
    fn stop_sampling(&self) -> Result<Sampled, HostError>;

    /// Memory of the processes of these subjects, what they share by its share. Reading disturbs them for milliseconds.
    ///
    /// # Errors
    /// When the host does not answer.
    fn memory(&self, subjects: &[SampleSubject]) -> Result<Vec<MemorySample>, HostError>;

    /// Limits of a service as the kernel has them.
    ///
    /// # Errors
    /// When the service's cgroup files cannot be read.
    fn limits(&self, service: &Locator) -> Result<LimitsReadBack, HostError>;

    /// SHA-256 of the programs that these processes of the host execute, once per distinct file.
    ///
    /// # Errors
    /// When a process is gone or its program cannot be read.
    fn digests(&self, pids: &[u32]) -> Result<Vec<ProgramDigest>, HostError>;

    /// Copies a file of the host to a path here.
    ///
    /// # Errors
    /// When either file fails.
    fn fetch(&self, from: &str, to: &Path) -> Result<(), HostError>;

    /// Kills every process in the service's cgroups, or the process group of its first process where it has none.
    ///
    /// # Errors
    /// When a process cannot be killed.
    fn kill_tree(&self, service: &Locator) -> Result<(), HostError>;

    /// Freezes or thaws the control group of a service by the kernel alone: its engine knows nothing of it. Thaw it before the
    /// engine is asked for anything else of this service.
    ///
    /// # Errors
    /// When the service has no control group of its own, or that does not freeze.
    fn freeze(&self, service: &Locator, frozen: bool) -> Result<(), HostError>;

    /// Enters an object in the ledger of the run. Call it before the object is made; it returns when the entry
    /// is on disk.
    ///
    /// # Errors
    /// When the ledger cannot be written; the object must then not be made.
    fn enter(&self, object: &Object) -> Result<(), HostError>;

    /// Takes note in the ledger of the run that an engine with a daemon has removed what is its own to remove.
    fn gone(&self, object: &Object);
}
