//! What this machine is in a swarm.

use bollard::models::{LocalNodeState, SwarmInfo};
use stowplan_engine::EngineError;

use crate::client::Client;

/// What makes a swarm of this machine alone.
const INIT: &str = "docker swarm init --advertise-addr 127.0.0.1";

/// A node that manages a swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manager {
    /// Its id.
    pub(super) node: String,
    /// How many nodes the swarm has.
    pub(super) nodes: i64,
}

/// The node of this daemon, where it manages a swarm. Nothing is made or left here: a swarm is its user's.
pub(super) fn manager(client: &Client) -> Result<Manager, EngineError> {
    let info = client.wait(client.api().info());
    let info = info.map_err(|error| client.error("tell of its swarm", error))?;
    of_info(info.swarm.unwrap_or_default())
}

fn of_info(swarm: SwarmInfo) -> Result<Manager, EngineError> {
    let state = swarm.local_node_state.unwrap_or(LocalNodeState::INACTIVE);
    if state == LocalNodeState::ACTIVE && swarm.control_available == Some(true) {
        return Ok(Manager {
            node: swarm.node_id.unwrap_or_default(),
            nodes: swarm.nodes.unwrap_or(1),
        });
    }
    let said = swarm.error.unwrap_or_default();
    let (message, hint) = match state {
        LocalNodeState::ACTIVE => (
            "the docker daemon is a worker of a swarm, and only a manager starts services"
                .to_owned(),
            "run stowplan on a manager of the swarm, or choose the engine 'docker'".to_owned(),
        ),
        LocalNodeState::LOCKED => (
            "the swarm of the docker daemon is locked".to_owned(),
            "unlock it with 'docker swarm unlock'".to_owned(),
        ),
        LocalNodeState::PENDING | LocalNodeState::ERROR => (
            format!("the docker daemon is not in a swarm yet ({state}): {said}"),
            format!("wait for it, or begin anew: 'docker swarm leave --force', then '{INIT}'"),
        ),
        LocalNodeState::EMPTY | LocalNodeState::INACTIVE => (
            "the docker daemon is in no swarm".to_owned(),
            format!("make one of this machine with '{INIT}'"),
        ),
    };
    Err(EngineError::new(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(state: LocalNodeState, manages: bool) -> Result<Manager, EngineError> {
        of_info(SwarmInfo {
            node_id: Some("n1".to_owned()),
            local_node_state: Some(state),
            control_available: Some(manages),
            nodes: Some(1),
            ..SwarmInfo::default()
        })
    }

    #[test]
    fn a_manager_is_taken_and_everything_else_says_what_to_do() {
        let node = found(LocalNodeState::ACTIVE, true).unwrap().node;
        assert_eq!(node, "n1");
        for (state, hint) in [
            (LocalNodeState::INACTIVE, INIT),
            (LocalNodeState::ACTIVE, "'docker'"),
            (LocalNodeState::LOCKED, "docker swarm unlock"),
            (LocalNodeState::ERROR, "docker swarm leave"),
        ] {
            let error = found(state, false).unwrap_err();
            assert!(error.hint.unwrap().contains(hint), "{state}");
        }
        assert!(of_info(SwarmInfo::default()).is_err());
    }
}
