//! Removing what a dead run left in a cluster.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri;
use stowplan_host::ledger::{DaemonVariables, Object};

use crate::cluster::Cluster;
use crate::kubeconfig::Source;
use crate::store::NodeStore;
use crate::{ground, pods};

/// Removes a pod, a namespace or an image that a ledger names from the cluster that `at` tells of. Whether there was one; what
/// was not made here stays, whatever it is called.
///
/// # Errors
/// When the cluster does not answer or cannot remove it.
pub fn remove(object: &Object, at: &DaemonVariables) -> Result<bool, EngineError> {
    let cluster = || Cluster::connect(&Source::told_by(at)?);
    match object {
        Object::Container { id, .. } => {
            let cluster = cluster()?;
            let removed = ground::remove_known(&cluster, id)?;
            Ok(removed | pods::remove_known(&cluster, id)?)
        }
        Object::Image { tag, .. } => {
            let runtime = cri::Client::connect(&cluster()?.node.endpoint())?;
            NodeStore::default().remove(&runtime, tag, at)
        }
        _ => Ok(false),
    }
}
