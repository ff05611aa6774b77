//! What the pods of a run stand on: a namespace, which goes with the run, and images that are unpacked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LocalObjectReference, Namespace, Pod, ServiceAccount};
use kube::api::{Api, ListParams};
use kube::runtime::wait::await_condition;
use serde_json::json;
use stowplan_engine::{EngineError, ImageFiles};
use stowplan_engine_daemon::cri::{self, image_folders};
use stowplan_engine_daemon::{container_entry, of_ground};
use stowplan_host::Host;
use tokio::time::timeout;

use crate::cluster::{Cluster, is_absent};
use crate::config::PULLED;
use crate::pods::{AT_ONCE_S, PodName};
use crate::push::Pusher;
use crate::registry::Registry;
use crate::state::{Phase, Seen};
use crate::watch::{Known, Watch};
use crate::{ENGINE, config, names, pods};

/// Longest wait for what the cluster does by itself.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Name of the pod that has images unpacked.
const IMAGES: &str = "stowplan-images";
/// Name of the secret with a password.
const PASSWORD: &str = "stowplan-registry";
/// Longest wait until the node has pulled images.
const PULLING: Duration = Duration::from_secs(3600);
/// What to do where it cannot.
const PULL: &str = "see that the node's runtime can pull from this registry: 'crictl pull' tells; \
                    one without TLS that is not on loopback stands in the runtime's configuration, in that of k3s in registries.yaml";
/// Told where the files of an image are no folders of an overlay.
const UNKNOWN_FILES: &str =
    "where a store that makes no overlay keeps the files of images is not known";

/// Folders with the files of each image that has been unpacked, by its tag.
pub(crate) type Unpacked = BTreeMap<String, Vec<String>>;

/// The namespace of a run.
#[derive(Debug)]
pub(crate) struct Ground {
    run: String,
    pub(crate) namespace: String,
    /// The node needs a password to pull images, which is in the namespace.
    has_password: bool,
}

impl Ground {
    /// Enters it in the ledger, makes it, and waits until pods can be made in it.
    pub(crate) fn lay(cluster: &Cluster, run: &str, host: &dyn Host) -> Result<Self, EngineError> {
        let name = of_ground(run);
        let mut ground = Self {
            run: run.to_owned(),
            namespace: names::namespace(&name),
            has_password: false,
        };
        let mut annotations = names::annotations(&name, run, None);
        let owner = format!("process {} on {}", std::process::id(), cluster.node.name);
        annotations.insert(names::OWNER.to_owned(), owner);
        let mut labels = names::labels(run, None);
        // Pods in the network of the node, with folders of it, are what a stricter default of the cluster would refuse.
        labels.insert(
            "pod-security.kubernetes.io/enforce".to_owned(),
            "privileged".to_owned(),
        );
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": ground.namespace, "labels": labels, "annotations": annotations}});
        host.enter(&container_entry(ENGINE, &name))?;
        // What an earlier deployment of this run has had removed may still be going.
        if is_going(cluster, &ground.namespace)? {
            are_gone(cluster, std::slice::from_ref(&ground.namespace))?;
        }
        let laid = cluster.wait(async {
            let made = cluster.create("/api/v1/namespaces", &object, false).await;
            made.map_err(|e| cluster.error(format!("make the namespace {}", ground.namespace), e))?;
            has_account(cluster, &ground.namespace).await
        });
        let laid = laid.and_then(|()| ground.give_password(cluster));
        if laid.is_err() {
            // Its own error is the lesser one, and the ledger has what stays.
            let _ = ground.clear(cluster, host);
        }
        laid.map(|()| ground)
    }

    /// Puts the password of the registry that the user names where the kubelet finds it; without one, nothing.
    fn give_password(&mut self, cluster: &Cluster) -> Result<(), EngineError> {
        let Some(registry) = Registry::of_this_process()? else {
            return Ok(());
        };
        let pusher = Pusher::new(&registry)?;
        let Some((name, password)) = pusher.password() else {
            return Ok(());
        };
        let login = json!({"username": name, "password": password});
        let auths = json!({"auths": {&registry.host: login}}).to_string();
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": PASSWORD, "labels": names::labels(&self.run, None)},
            "stringData": {".dockerconfigjson": auths}});
        let path = format!("/api/v1/namespaces/{}/secrets", self.namespace);
        let made = cluster.wait(cluster.create(&path, &secret, false));
        made.map_err(|e| cluster.error(format!("make the secret {PASSWORD}"), e))?;
        self.has_password = true;
        Ok(())
    }

    /// Tells a pod of the password, where there is one.
    pub(crate) fn let_pull(&self, pod: &mut Pod) {
        if let Some(spec) = pod.spec.as_mut().filter(|_| self.has_password) {
            let name = PASSWORD.to_owned();
            spec.image_pull_secrets = Some(vec![LocalObjectReference { name }]);
        }
    }

    /// Has the namespace removed with all that is in it, which the cluster takes some seconds for; nothing of it runs by then.
    pub(crate) fn clear(&self, cluster: &Cluster, host: &dyn Host) -> Result<(), EngineError> {
        remove(cluster, &self.namespace)?;
        host.gone(&container_entry(ENGINE, &of_ground(&self.run)));
        Ok(())
    }

    /// Has the images of `tags` unpacked that are not in `known`: a pod has a container of each that cannot run.
    pub(crate) fn unpack(
        &self,
        cluster: &Cluster,
        runtime: &cri::Client,
        tags: &BTreeSet<String>,
        known: &mut Unpacked,
    ) -> Result<ImageFiles, EngineError> {
        // Where an image was removed, its files were.
        known.retain(|_, folders| folders.iter().all(|folder| Path::new(folder).exists()));
        let new: Vec<&String> = tags
            .iter()
            .filter(|tag| !known.contains_key(*tag))
            .collect();
        if !new.is_empty() {
            let one = |(number, tag): (usize, &&String)| {
                let nothing = vec!["/".to_owned()];
                config::container(&format!("image-{number:03}"), tag, nothing)
            };
            let all: Vec<Container> = new.iter().enumerate().map(one).collect();
            let count = all.len();
            let seen = self.try_pod(cluster, IMAGES, all, |seen| seen.containers.len() == count)?;
            for (id, tag) in seen.containers.iter().zip(&new) {
                let folders = runtime.wait(image_folders(runtime, id))?;
                known.insert((*tag).clone(), folders);
            }
            self.end(cluster, IMAGES)?;
        }
        let folders = tags.iter().filter_map(|tag| known.get(tag));
        let unshown = folders.clone().any(Vec::is_empty);
        let paths: BTreeSet<String> = folders.flatten().cloned().collect();
        Ok(ImageFiles {
            paths: paths.into_iter().collect(),
            unshown: unshown.then(|| UNKNOWN_FILES.to_owned()),
        })
    }

    /// Makes a pod of these containers and waits until `holds` of it.
    pub(crate) fn try_pod(
        &self,
        cluster: &Cluster,
        name: &str,
        containers: Vec<Container>,
        holds: impl Fn(&Seen) -> bool,
    ) -> Result<Seen, EngineError> {
        let node = &cluster.node.name;
        let images: Vec<String> = containers
            .iter()
            .filter_map(|of| of.image.clone())
            .collect();
        let mut pod = config::pod(name, &self.namespace, node, (&self.run, None), containers);
        pod.metadata.annotations = None;
        self.let_pull(&mut pod);
        let pulls = images
            .iter()
            .any(|image| config::pull_policy(image) == PULLED);
        let patience = if pulls { PULLING } else { PATIENCE };
        let at = PodName {
            namespace: &self.namespace,
            name,
        };
        let watch = Watch::new(cluster, &self.namespace);
        let pod = config::json(&pod)?;
        cluster.wait(async {
            pods::create(cluster, at, &pod, false).await?;
            let done = |known: &Known| {
                let seen = known.of(name)?;
                match &seen.phase {
                    _ if holds(seen) => Some(Ok(seen.clone())),
                    Phase::Failed(why) if !cannot_run(why) => Some(Err(why.clone())),
                    _ => None,
                }
            };
            let why = match watch.until(patience, done).await {
                Ok(Some(Ok(seen))) => return Ok(seen),
                Ok(Some(Err(why))) => why,
                Ok(None) => {
                    let warned = pods::warning(cluster, at).await;
                    warned.unwrap_or_else(|| "its containers do not come".to_owned())
                }
                Err(why) => return Err(cluster.lost(&why)),
            };
            let error = EngineError::new(format!("the pod {at} does not run: {why}"));
            Err(if pulls { error.hint(PULL) } else { error })
        })
    }

    /// Removes a pod of [`Ground::try_pod`].
    pub(crate) fn end(&self, cluster: &Cluster, name: &str) -> Result<(), EngineError> {
        let at = PodName {
            namespace: &self.namespace,
            name,
        };
        pods::remove_now(cluster, at).map(drop)
    }
}

/// Whether a container has been made, and its program is none.
fn cannot_run(why: &str) -> bool {
    why.starts_with("StartError") || why.starts_with("RunContainerError")
}

/// A pod without an account is refused, and a controller makes that of a new namespace.
async fn has_account(cluster: &Cluster, namespace: &str) -> Result<(), EngineError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().clone(), namespace);
    let there = await_condition(accounts, "default", |found: Option<&ServiceAccount>| {
        found.is_some()
    });
    match timeout(PATIENCE, there).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(EngineError::new(format!(
            "{} makes no service account in the namespace {namespace}",
            cluster.name()
        ))
        .hint("see whether its controller-manager runs")),
    }
}

/// Whether a namespace is being removed.
fn is_going(cluster: &Cluster, namespace: &str) -> Result<bool, EngineError> {
    match cluster.wait(cluster.get(&format!("/api/v1/namespaces/{namespace}"))) {
        Ok(found) => Ok(found["metadata"]["deletionTimestamp"].is_string()),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(cluster.error(format!("look for the namespace {namespace}"), error)),
    }
}

/// Has a namespace removed. Whether it was there, and not going already.
fn remove(cluster: &Cluster, namespace: &str) -> Result<bool, EngineError> {
    let path = format!("/api/v1/namespaces/{namespace}");
    let found = cluster.wait(async {
        let found = cluster.get(&path).await?;
        if found["metadata"]["deletionTimestamp"].is_string() {
            return Ok(false);
        }
        cluster.delete(&path, AT_ONCE_S).await.map(|_| true)
    });
    match found {
        Err(error) if is_absent(&error) => Ok(false),
        found => found.map_err(|e| cluster.error(format!("remove the namespace {namespace}"), e)),
    }
}

/// Removes the namespace that a ledger knows under this name, and before that its pods. Whether there was one.
pub(crate) fn remove_known(cluster: &Cluster, name: &str) -> Result<bool, EngineError> {
    let namespace = names::namespace(name);
    let all: Api<Namespace> = Api::all(cluster.client().clone());
    let found = cluster
        .wait(all.get_opt(&namespace))
        .map_err(|e| cluster.error(format!("look for the namespace {namespace}"), e))?;
    let ours = found.is_some_and(|of| names::is_named(name, of.metadata.annotations.as_ref()));
    if !ours {
        return Ok(false);
    }
    let in_it: Api<Pod> = Api::namespaced(cluster.client().clone(), &namespace);
    let left = cluster
        .wait(in_it.list(&ListParams::default()))
        .map_err(|e| cluster.error("look for pods", e))?;
    for pod in left.items {
        let own = pod.metadata.name.unwrap_or_default();
        let at = PodName {
            namespace: &namespace,
            name: &own,
        };
        pods::remove_now(cluster, at)?;
    }
    remove(cluster, &namespace)
}

/// Waits until namespaces that were removed are gone.
pub(crate) fn are_gone(cluster: &Cluster, namespaces: &[String]) -> Result<(), EngineError> {
    for name in namespaces {
        let all: Api<Namespace> = Api::all(cluster.client().clone());
        let gone = await_condition(all, name, |found: Option<&Namespace>| found.is_none());
        let waited = cluster.wait(async { timeout(PATIENCE, gone).await });
        if !matches!(waited, Ok(Ok(_))) {
            return Err(EngineError::new(format!(
                "{} does not remove the namespace {name}",
                cluster.name()
            )));
        }
    }
    Ok(())
}
