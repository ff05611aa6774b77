//! Removing what a dead run left in a runtime.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon;
use stowplan_host::ledger::Object;

use crate::images::Store;
use crate::{Endpoint, pods};

/// Removes a pod or an image that a ledger names from the runtime on `endpoint`, or where `crictl` would look for one.
/// Whether there was one; a pod of that name that was not made here stays.
///
/// # Errors
/// When the runtime does not answer or cannot remove it.
pub fn remove(endpoint: Option<&Endpoint>, object: &Object) -> Result<bool, EngineError> {
    let store = Store(endpoint.cloned());
    match object {
        Object::Container { id, .. } => {
            let client = store.connect()?;
            client.wait(pods::remove_with_logs(&client, id))
        }
        Object::Image { tag, .. } => store.remove_image(&store.connect()?, tag),
        _ => Ok(false),
    }
}
