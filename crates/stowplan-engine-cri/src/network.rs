//! Containers into the network of the run.
//!
//! The CRI knows two networks for a pod: one that a CNI plugin makes, and that of the node. What a container joins when
//! its process is made is written in its OCI specification, though, as a path, and containerd keeps that from
//! `CreateContainer` to `StartContainer` in a store of its own, from which it is read only then (containerd,
//! `services/tasks/local.go`, `Create`). Between the two the path is replaced by that of the agent's namespace. Pods
//! are in the network of the node, so that no plugin is needed.

use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_host::network;

use crate::api::containerd::services::containers::v1::{
    Container, GetContainerRequest, UpdateContainerRequest,
};
use crate::client::{Client, below};

/// The process whose network is to be joined, where the daemon's own is another one.
pub(crate) fn apart(client: &Client, network_of: u32) -> Option<u32> {
    let wanted = network::of_process(network_of);
    let has = client.daemon_pid().and_then(network::of_process);
    (has.is_some() && wanted != has).then_some(network_of)
}

/// Makes the container with this id, which is not started, join the network of a process when it is.
pub(crate) async fn join(client: &Client, id: &str, process: u32) -> Result<(), EngineError> {
    let failed = |status| client.error("give a container the network of the run", status);
    let get = below(GetContainerRequest { id: id.to_owned() });
    let found = client.containers().get(get).await.map_err(failed)?;
    let mut spec = found
        .into_inner()
        .container
        .and_then(|container| container.spec)
        .unwrap_or_default();
    spec.value = joining(&spec.value, process)?;
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

/// An OCI specification (runtime-spec, `config-linux.md`, "Namespaces") with the network namespace of a process.
fn joining(spec: &[u8], process: u32) -> Result<Vec<u8>, EngineError> {
    let unknown = || EngineError::new("containerd keeps no OCI specification of a container");
    let mut spec: Value = serde_json::from_slice(spec).map_err(|e| unknown().because(e))?;
    let namespaces = spec["linux"]["namespaces"].as_array_mut();
    let namespaces = namespaces.ok_or_else(unknown)?;
    namespaces.retain(|namespace| namespace["type"] != "network");
    namespaces.push(serde_json::json!({
        "type": "network",
        "path": format!("/proc/{process}/ns/net"),
    }));
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
            let joined = joining(spec.as_bytes(), 7).unwrap();
            serde_json::from_slice::<Value>(&joined).unwrap()
        };
        let expected = serde_json::json!({
            "linux": {"namespaces": [{"type": "pid"}, {"type": "network", "path": "/proc/7/ns/net"}]},
            "process": {"cwd": "/"},
        });
        assert_eq!(
            of(r#",{"type":"network","path":"/proc/1/ns/net"}"#),
            expected
        );
        // A container of a node's network may have none.
        assert_eq!(of(""), expected);
        assert!(joining(b"", 7).is_err());
    }
}
