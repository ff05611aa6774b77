//! The engines that run inside the agent. The only file of the agent that names one.

use stowplan_engine::Engine;

/// All of them.
pub(crate) fn all() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(stowplan_engine_bare::Bare),
        Box::new(stowplan_engine_oci::OciEngine::default()),
        Box::new(stowplan_engine_nspawn::Nspawn),
        Box::new(stowplan_engine_lxc::Lxc),
    ]
}

/// What this program does when an engine has started it with this word, as the helper of one of its services.
pub(crate) fn helper(word: &str) -> Option<fn() -> !> {
    let oci: fn() -> ! = stowplan_engine_oci::helper_main;
    (word == stowplan_engine_oci::NAME).then_some(oci)
}
