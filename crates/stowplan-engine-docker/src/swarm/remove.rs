//! Removing what a dead run left in a swarm.

use stowplan_engine::EngineError;
use stowplan_host::ledger::{DaemonVariables, Object};

use super::service;
use crate::Daemon;
use crate::client::Client;

/// Removes a service that a ledger names of the swarm of the daemon that `at` tells of. Whether there was one; a service of that
/// name that was not made here stays.
///
/// # Errors
/// When the daemon does not answer or cannot remove it.
pub fn remove(object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let Object::Container { id, .. } = object else {
        return Ok(false);
    };
    let client = Client::connect_at(Daemon::Docker, at)?;
    client.wait(service::remove(&client, id))
}
