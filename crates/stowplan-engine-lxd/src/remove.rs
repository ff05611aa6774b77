//! Removing what a dead run left in a server.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon;
use stowplan_host::ledger::Object;

use crate::client::Client;
use crate::{Server, fleet, names, pool};

/// Removes an instance, an image or a storage pool of `server` that a ledger names. Whether there was one; what was not
/// made here stays, whatever it is called.
///
/// # Errors
/// When the server does not answer or cannot remove it.
pub fn remove(server: Server, object: &Object) -> Result<bool, EngineError> {
    match object {
        Object::Container { id, .. } => {
            let client = Client::connect(server)?;
            let instance = names::instance(id);
            client
                .serving()
                .wait(fleet::remove_instance(&client, &instance))
        }
        Object::Image { tag, .. } => server.remove_image(&Client::connect(server)?, tag),
        Object::Pool { name, .. } => pool::remove(&Client::connect(server)?, name),
        _ => Ok(false),
    }
}
