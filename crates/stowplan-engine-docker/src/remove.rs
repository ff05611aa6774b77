//! Removing what a dead run left in a daemon.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon as _;
use stowplan_host::ledger::Object;

use crate::client::Client;
use crate::images::Store;
use crate::{Daemon, fleet};

/// Removes a container or an image of `daemon` that a ledger names. Whether there was one; a container of that name
/// that was not made here stays.
///
/// # Errors
/// When the daemon does not answer or cannot remove it.
pub fn remove(daemon: Daemon, object: &Object) -> Result<bool, EngineError> {
    match object {
        Object::Container { id, .. } => fleet::remove(&Client::connect(daemon)?, id),
        Object::Image { tag, .. } => Store(daemon).remove_image(&Client::connect(daemon)?, tag),
        _ => Ok(false),
    }
}
