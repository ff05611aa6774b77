//! Containers into the network of the run, or into networks of their own.
//!
//! The CRI knows two networks for a pod: one that a CNI plugin makes, and that of the node. What a container joins when
//! its process is made is written in its OCI specification, though, as a path, and containerd keeps that from
//! `CreateContainer` to `StartContainer` in a store of its own, from which it is read only then (containerd,
//! `services/tasks/local.go`, `Create`). Between the two the path is replaced by that of the agent's namespace, or taken
//! away, for which a runtime makes a new namespace with its loopback up. Pods are in the network of the node, so that no
//! plugin is needed.

use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_host::network;

use stowplan_engine_daemon::cri::api::containerd::services::containers::v1::{
    Container, GetContainerRequest, UpdateContainerRequest,
};
use stowplan_engine_daemon::cri::{Client, below};

/// The network of a container that is not that of its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// That of a process.
    Of(u32),
    /// One with nothing but a loopback.
    Own,
}

/// The process whose network is to be joined, where the daemon's own is another one.
pub(crate) fn apart(client: &Client, network_of: u32) -> Option<u32> {
    let wanted = network::of_process(network_of);
    let has = client.daemon_pid().and_then(network::of_process);
    (has.is_some() && wanted != has).then_some(network_of)
}

/// Gives the container with this id, which is not started, a network for when it is.
pub(crate) async fn give(client: &Client, id: &str, network: Network) -> Result<(), EngineError> {
    let failed = |status| client.error("give a container its network", status);
    let get = below(GetContainerRequest { id: id.to_owned() });
    let found = client.containers().get(get).await.map_err(failed)?;
    let mut spec = found
        .into_inner()
        .container
        .and_then(|container| container.spec)
        .unwrap_or_default();
    spec.value = with(&spec.value, network)?;
    let update = below(UpdateContainerRequest {
        container: Some(Container {
            id: id.to_owned(),
            spec: Some(spec),
            ..Container::default()
        }),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["spec".to_owned()],
        }),
    });
    let updated = client.containers().update(update).await;
    updated.map(drop).map_err(failed)
}

/// An OCI specification (<https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md>, "Namespaces") with another network namespace.
fn with(spec: &[u8], network: Network) -> Result<Vec<u8>, EngineError> {
    let unknown = || EngineError::new("containerd keeps no OCI specification of a container");
    let mut spec: Value = serde_json::from_slice(spec).map_err(|e| unknown().because(e))?;
    let namespaces = spec["linux"]["namespaces"].as_array_mut();
    let namespaces = namespaces.ok_or_else(unknown)?;
    namespaces.retain(|namespace| namespace["type"] != "network");
    namespaces.push(match network {
        Network::Of(process) => {
            serde_json::json!({"type": "network", "path": format!("/proc/{process}/ns/net")})
        }
        Network::Own => serde_json::json!({"type": "network"}),
    });
    Ok(spec.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_namespace_alone_is_replaced() {
        let of = |network: &str| {
            let spec = format!(
                r#"{{"linux":{{"namespaces":[{{"type":"pid"}}{network}]}},"process":{{"cwd":"/"}}}}"#
            );
            [Network::Of(7), Network::Own].map(|network| {
                let given = with(spec.as_bytes(), network).unwrap();
                serde_json::from_slice::<Value>(&given).unwrap()
            })
        };
        let expected = [
            serde_json::json!({"type": "network", "path": "/proc/7/ns/net"}),
            serde_json::json!({"type": "network"}),
        ]
        .map(|network| {
            serde_json::json!({
                "linux": {"namespaces": [{"type": "pid"}, network]},
                "process": {"cwd": "/"},
            })
        });
        assert_eq!(
            of(r#",{"type":"network","path":"/proc/1/ns/net"}"#),
            expected
        );
        // A container of a node's network may have none.
        assert_eq!(of(""), expected);
        assert!(with(b"", Network::Own).is_err());
    }
}
