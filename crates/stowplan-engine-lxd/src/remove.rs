//! Removing what a dead run left in a server.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon;
use stowplan_host::ledger::{DaemonVariables, Object};

use crate::client::Client;
use crate::{Server, fleet, names, pool};

/// Removes an instance, an image or a storage pool that a ledger names of the `server` that `at` tells of. Whether there was
/// one; what was not made here stays, whatever it is called.
///
/// # Errors
/// When the server does not answer or cannot remove it.
pub fn remove(server: Server, object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let client = || Client::connect_at(server, at);
    match object {
        Object::Container { id, .. } => {
            let client = client()?;
            let instance = names::instance(id);
            client
                .serving()
                .wait(fleet::remove_instance(&client, &instance))
        }
        Object::Image { tag, .. } => server.remove_image(&client()?, tag),
        Object::Pool { name, .. } => pool::remove(&client()?, name),
        _ => Ok(false),
    }
}
