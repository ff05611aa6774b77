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
    skip(&engine.name(), &format!("{reason} ({hint})"));
    false
}

/// Says that a test is skipped because the engine of this name is not to be had.
///
/// # Panics
/// When `$STOWPLAN_REQUIRE_ENGINES` names it.
pub fn skip(name: &str, reason: &str) {
    let required = std::env::var("STOWPLAN_REQUIRE_ENGINES").unwrap_or_default();
    assert!(
        !required.split(',').any(|required| required == name),
        "engine '{name}' is required and absent: {reason}"
    );
    eprintln!("skipped: {name} is not available here: {reason}");
}
