//! Removing what a dead run left in a daemon.

use stowplan_engine::EngineError;
use stowplan_host::ledger::Object;

use crate::client::Client;
use crate::{Daemon, fleet, images};

/// Removes a container or an image of `daemon` that a ledger names. Whether there was one; a container of that name
/// that was not made here stays.
///
/// # Errors
/// When the daemon does not answer or cannot remove it.
pub fn remove(daemon: Daemon, object: &Object) -> Result<bool, EngineError> {
    match object {
        Object::Container { id, .. } => fleet::remove(&Client::connect(daemon)?, id),
        Object::Image { tag, .. } => images::remove(&Client::connect(daemon)?, tag),
        _ => Ok(false),
    }
}
