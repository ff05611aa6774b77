//! Removing what a dead run left in a daemon.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon as _;
use stowplan_host::ledger::{DaemonVariables, Object};

use crate::client::Client;
use crate::images::Store;
use crate::{Daemon, fleet};

/// Removes a container or an image that a ledger names of the `daemon` that `at` tells of. Whether there was one; a
/// container of that name that was not made here stays.
///
/// # Errors
/// When the daemon does not answer or cannot remove it.
pub fn remove(daemon: Daemon, object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let client = || Client::connect_at(daemon, at);
    match object {
        Object::Container { id, .. } => fleet::remove(&client()?, id),
        Object::Image { tag, .. } => Store(daemon).remove_image(&client()?, tag),
        _ => Ok(false),
    }
}
