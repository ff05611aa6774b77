//! Removing what a dead run left in a runtime.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Daemon;
use stowplan_host::ledger::{DaemonVariables, Object};

use crate::{Endpoint, pods, store};

/// Removes a pod or an image that a ledger names from the runtime that `at` tells of. Whether there was one; a pod of that
/// name that was not made here stays.
///
/// # Errors
/// When the runtime does not answer or cannot remove it.
pub fn remove(object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let store = || Ok::<_, EngineError>(store(Some(Endpoint::told_by(at)?)));
    match object {
        Object::Container { id, .. } => {
            let client = store()?.connect()?;
            client.wait(pods::remove_with_logs(&client, id))
        }
        Object::Image { tag, .. } => {
            let store = store()?;
            store.remove_image(&store.connect()?, tag)
        }
        _ => Ok(false),
    }
}
