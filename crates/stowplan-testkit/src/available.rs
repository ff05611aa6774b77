//! Engines that are not on every machine.

use stowplan_engine::{Engine, Probe};
use stowplan_host::Host;

/// Whether the engine can be used here.
///
/// # Panics
/// When it cannot, and `$STOWPLAN_REQUIRE_ENGINES` names it.
pub fn available(engine: &dyn Engine, host: &dyn Host) -> bool {
    let Probe::Absent { reason, hint } = engine.probe(host) else {
        return true;
    };
    absent(&engine.name(), &format!("{reason} ({hint})"));
    false
}

/// Records that a test is skipped, or a part of it, because the engine of this name is not to be had.
///
/// # Panics
/// When `$STOWPLAN_REQUIRE_ENGINES` names it.
pub fn absent(name: &str, reason: &str) {
    let required = std::env::var("STOWPLAN_REQUIRE_ENGINES").unwrap_or_default();
    assert!(
        !required.split(',').any(|required| required == name),
        "engine '{name}' is required and absent: {reason}"
    );
    crate::skip!("engine '{name}' is not available here: {reason}");
}

/// Whether this user is root, which `what` needs; else the test is recorded as skipped.
#[must_use]
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip!("only root can {what}");
    }
    root
}
