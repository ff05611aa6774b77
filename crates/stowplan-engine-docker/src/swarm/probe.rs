//! Whether a swarm can start a service here, and what it is.

use stowplan_engine::EngineError;
use stowplan_engine_daemon::Images;

use super::backend::in_daemons_network;
use super::member::{Manager, manager};
use crate::Daemon;
use crate::client::Client;
use crate::ground::Holder;
use crate::images::Store;
use crate::probe;

/// Looks whether the daemon manages a swarm, and starts a container of it that does nothing. Gives the daemon with its parts, and
/// how many nodes the swarm has.
pub(super) fn try_out(images: &mut Images<Store>, holder: &Holder) -> Result<String, EngineError> {
    let client = Client::connect(Daemon::Docker)?;
    let Manager { nodes, .. } = manager(&client)?;
    in_daemons_network(&client, holder)?;
    let daemon = probe::try_out(Daemon::Docker, images, holder)?;
    let others = match nodes {
        1 => "a swarm of one node".to_owned(),
        nodes => format!("a swarm of {nodes} nodes, of which this one is used"),
    };
    Ok(format!("{daemon}; {others}"))
}
