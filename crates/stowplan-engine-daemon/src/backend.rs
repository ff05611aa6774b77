//! What a daemon is asked for a deployment.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stowplan_engine::EngineError;
use stowplan_host::Host;
use stowplan_host::process::clock_ns;
use stowplan_wire::deployment::{EngineEventKind, StopMode};

use crate::{Place, Serving};

/// Something that happened to a service's container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The service.
    pub service: String,
    /// Id of the container.
    pub container: String,
    /// What.
    pub kind: EngineEventKind,
    /// CLOCK_MONOTONIC ns.
    pub t_ns: u64,
}

/// The daemon of a deployment, asked for one container at a time: of many at once [`Serving::each`] takes care.
///
/// A container has a name, which is ours and known before it is made, and an id, which is the daemon's.
pub trait Backend {
    /// What it is asked to make for one service.
    type Request;

    /// Whether a container is made and started by two requests. Where not, [`Backend::make`] does both, and returns when its program
    /// runs.
    const CREATES_APART: bool = true;

    /// Name of the engine, as in the ledger.
    fn engine(&self) -> &'static str;

    /// What drives its futures.
    fn serving(&self) -> &Serving;

    /// Makes a container; gives its id.
    fn make(
        &self,
        name: &str,
        request: &Self::Request,
    ) -> impl Future<Output = Result<String, EngineError>>;

    /// Lets the program of a container run.
    fn begin(&self, id: &str) -> impl Future<Output = Result<(), EngineError>>;

    /// Asks the program of a container to end, or ends it, and waits until it has.
    fn end(&self, id: &str, how: StopMode) -> impl Future<Output = Result<(), EngineError>>;

    /// Kills and removes the container of this name if it was made here. Whether there was one.
    fn remove(&self, name: &str) -> impl Future<Output = Result<bool, EngineError>>;

    /// Where the container with this id is.
    ///
    /// # Errors
    /// When the daemon cannot tell.
    fn locate(&self, id: &str) -> Result<Place, EngineError>;

    /// Freezes or thaws the container with this id.
    ///
    /// # Errors
    /// When it cannot.
    fn freeze(&self, id: &str, frozen: bool) -> Result<(), EngineError>;

    /// The next event of a service, if one comes within `wait`.
    ///
    /// # Errors
    /// When the daemon is gone.
    fn next(&mut self, wait: Duration) -> Result<Option<Happened>, EngineError>;

    /// The last `bytes` bytes that the container with this id, whose place is known where it has one, has said.
    ///
    /// # Errors
    /// When that cannot be read.
    fn log(&self, id: &str, bytes: u64) -> Result<String, EngineError>;

    /// What containers with these ids and first processes really are: one value of each fact for all of them.
    ///
    /// # Errors
    /// When two differ, or what the kernel shows contradicts what the daemon says.
    fn label(&self, containers: &[(String, u32)]) -> Result<BTreeMap<String, String>, EngineError>;

    /// The engine's own processes, where services have these first ones.
    fn processes(&self, first: &[u32]) -> Vec<u32>;

    /// The parts of an orchestrator that these processes are, by their pids.
    fn orchestrator(&self, _processes: &[u32]) -> BTreeMap<u32, String> {
        BTreeMap::new()
    }

    /// Removes what all containers of the run stood on. They are gone.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn clear(&mut self, host: &dyn Host) -> Result<(), EngineError>;
}

/// The instant of CLOCK_MONOTONIC, in ns, of one that a daemon gives in ns since the epoch. The two are compared now: the
/// other clock may be set.
#[must_use]
pub fn monotonic_ns(epoch_ns: i64) -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now_ns = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
    let behind_ns = now_ns - i128::from(clock_ns());
    u64::try_from(i128::from(epoch_ns) - behind_ns).unwrap_or(0)
}
