//! Pods by name: making and removing them.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::Value;
use stowplan_engine::EngineError;

use crate::cluster::{Cluster, is_absent, is_there};
use crate::names;
use crate::node::text;
use crate::watch::{Known, Watch};

/// Longest wait for a pod that does not go, beyond the time that it is given.
const PATIENCE: Duration = Duration::from_secs(120);
/// The shortest time that a kubelet gives a program to end: none removes the pod from the API before its processes have ended.
pub(crate) const AT_ONCE_S: u64 = 1;

/// A pod in a namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PodName<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl PodName<'_> {
    fn path(&self) -> String {
        format!("{}/{}", collection(self.namespace), self.name)
    }
}

impl std::fmt::Display for PodName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Makes a pod, or with `dry` says what would be made of it.
pub(crate) async fn create(
    cluster: &Cluster,
    name: PodName<'_>,
    pod: &Value,
    dry: bool,
) -> Result<Value, EngineError> {
    let made = cluster.create(&collection(name.namespace), pod, dry).await;
    made.map_err(|error| {
        let taken = is_there(&error);
        let error = cluster.error(format!("make the pod {name}"), error);
        if taken {
            error.hint("rename or remove the pod that has this name; Stowplan leaves it alone")
        } else {
            error
        }
    })
}

/// Has a pod end within `grace_s` seconds, and waits until it is gone. Whether there was one.
pub(crate) async fn remove(
    cluster: &Cluster,
    watch: &Watch,
    name: PodName<'_>,
    grace_s: u64,
) -> Result<bool, EngineError> {
    let patience = PATIENCE.saturating_add(Duration::from_secs(grace_s));
    let whole = watch.until(patience, |_| Some(())).await;
    whole.map_err(|why| cluster.lost(&why))?;
    let (uid, there) = match cluster.delete(&name.path(), grace_s).await {
        // Of a pod that nothing runs of the answer is that it is gone.
        Ok(answer) if answer["kind"] == "Status" => (text(&answer["details"]["uid"]), true),
        Ok(answer) => (text(&answer["metadata"]["uid"]), true),
        // Its end may be told a moment later.
        Err(error) if is_absent(&error) => (String::new(), false),
        Err(error) => return Err(cluster.error(format!("remove the pod {name}"), error)),
    };
    let is_gone = |known: &Known| {
        let gone = known.of(name.name).is_none() && (uid.is_empty() || known.has_gone(&uid));
        gone.then_some(())
    };
    match watch.until(patience, is_gone).await {
        Ok(Some(())) => Ok(there),
        Ok(None) => Err(EngineError::new(format!(
            "{} does not remove the pod {name}",
            cluster.name()
        ))
        .hint("see 'kubectl describe pod' and the kubelet's log")),
        Err(why) => Err(cluster.lost(&why)),
    }
}

/// The last warning about a pod, where there is one.
pub(crate) async fn warning(cluster: &Cluster, name: PodName<'_>) -> Option<String> {
    let path = format!(
        "/api/v1/namespaces/{}/events?fieldSelector=involvedObject.name={}",
        name.namespace, name.name
    );
    let events = cluster.get(&path).await.ok()?;
    let mut warnings = events["items"].as_array()?.iter().rev();
    let last = warnings.find(|event| event["type"] == "Warning")?;
    Some(format!(
        "{}: {}",
        text(&last["reason"]),
        text(&last["message"])
    ))
}

/// Kills and removes the pods that a ledger knows under this name, wherever they are. Whether there was one.
pub(crate) fn remove_known(cluster: &Cluster, name: &str) -> Result<bool, EngineError> {
    let all: Api<Pod> = Api::all(cluster.client().clone());
    let ours = ListParams::default().labels(&names::selector());
    let found = cluster
        .wait(all.list(&ours))
        .map_err(|error| cluster.error("look for pods", error))?;
    let mut removed = false;
    for pod in found.items {
        let (Some(namespace), Some(own)) = (&pod.metadata.namespace, &pod.metadata.name) else {
            continue;
        };
        if names::is_named(name, pod.metadata.annotations.as_ref()) {
            let at = PodName {
                namespace,
                name: own,
            };
            removed |= remove_now(cluster, at)?;
        }
    }
    Ok(removed)
}

/// Kills and removes a pod, and waits until it is gone. Whether there was one.
pub(crate) fn remove_now(cluster: &Cluster, at: PodName<'_>) -> Result<bool, EngineError> {
    let watch = Watch::new(cluster, at.namespace);
    cluster.wait(remove(cluster, &watch, at, AT_ONCE_S))
}
