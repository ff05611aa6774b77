//! Trying an engine out when no run is open.

use std::sync::atomic::{AtomicU32, Ordering};

use stowplan_engine::EngineError;
use stowplan_host::{Host, LocalHost, ledger};

/// Calls `attempt` with the name of a run that has a ledger of its own; it removes what it makes.
///
/// # Errors
/// That of `attempt`, or when the ledger cannot be kept.
pub fn in_probe_run<T>(
    engine: &str,
    attempt: impl FnOnce(&str, &dyn Host) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let host = LocalHost::new(&ledger::folder()?)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let run = format!("probe-{engine}-{}-{number}", std::process::id());
    host.open_run(&run)?;
    let outcome = attempt(&run, &host);
    let closed = host.close_run();
    let outcome = outcome?;
    closed?;
    Ok(outcome)
}
