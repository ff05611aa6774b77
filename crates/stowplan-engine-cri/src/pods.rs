//! Pods by name: making and removing them.

use std::collections::HashMap;
use std::path::PathBuf;

use stowplan_engine::EngineError;
use stowplan_engine_daemon::{is_ours, labels};
use tonic::Status;

use crate::logs;
use stowplan_engine_daemon::cri::api::runtime::v1::{
    ContainerFilter, ListContainersRequest, ListPodSandboxRequest, PodSandboxConfig,
    PodSandboxFilter, PodSandboxMetadata, RemovePodSandboxRequest, RunPodSandboxRequest,
    StopContainerRequest, StopPodSandboxRequest,
};
use stowplan_engine_daemon::cri::{Client, Runtime, insist, is_absent, request};

/// Namespace of all pods that are made here.
const NAMESPACE: &str = "stowplan";
/// Label of a pod's name, as the kubelet sets it.
const NAME: &str = "io.kubernetes.pod.name";

/// Name and labels of a pod. With the same uid there is one of a name at a time.
pub(crate) fn named(name: &str, run: &str, service: Option<&str>) -> PodSandboxConfig {
    PodSandboxConfig {
        metadata: Some(PodSandboxMetadata {
            name: name.to_owned(),
            uid: name.to_owned(),
            namespace: NAMESPACE.to_owned(),
        }),
        labels: labelled(name, run, service),
        ..PodSandboxConfig::default()
    }
}

/// Labels of a pod and of its container.
pub(crate) fn labelled(name: &str, run: &str, service: Option<&str>) -> HashMap<String, String> {
    let mut labels = labels(run, service);
    labels.insert(NAME.to_owned(), name.to_owned());
    labels
}

/// Makes a pod, whose pause process runs then; gives its id.
pub(crate) async fn run(
    client: &Client,
    config: &PodSandboxConfig,
    handler: &str,
) -> Result<String, EngineError> {
    let asked = request(RunPodSandboxRequest {
        config: Some(config.clone()),
        runtime_handler: handler.to_owned(),
    });
    let name = config.metadata.as_ref().map_or("", |found| &found.name);
    let hint = "rename or remove the pod that has this name; Stowplan leaves it alone";
    let made = client.runtime().run_pod_sandbox(asked).await;
    let id = match made {
        Ok(made) => made.into_inner().pod_sandbox_id,
        Err(status) => {
            let taken = status.message().contains("is reserved for");
            let error = client.error(format!("make the pod {name}"), status);
            return Err(if taken { error.hint(hint) } else { error });
        }
    };
    // Where there is one of that name, CRI-O gives that.
    if client.runtime == Runtime::CriO && !ours(client, name).await?.contains(&id) {
        let taken = format!("CRI-O has a pod {name} that was not made here");
        return Err(EngineError::new(taken).hint(hint));
    }
    Ok(id)
}

/// Kills and removes the pods of this name that were made here. Whether there was one.
pub(crate) async fn remove(client: &Client, name: &str) -> Result<bool, EngineError> {
    let mut removed = false;
    for pod in ours(client, name).await? {
        removed |= end_ours(client, name, &pod).await?;
    }
    Ok(removed)
}

/// The same with the logs of the pods, for what a ledger names: a runtime that comes back makes them again, with their
/// folders, where those of the run have been removed.
pub(crate) async fn remove_with_logs(client: &Client, name: &str) -> Result<bool, EngineError> {
    let mut removed = false;
    for pod in ours(client, name).await? {
        let folder = log_folder(client, &pod).await;
        let folder =
            folder.map_err(|status| client.error(format!("tell of the pod {name}"), status))?;
        if end_ours(client, name, &pod).await? {
            removed = true;
            if let Some(folder) = &folder {
                logs::remove(folder);
            }
        }
    }
    Ok(removed)
}

/// Ids of the pods of this name that were made here.
async fn ours(client: &Client, name: &str) -> Result<Vec<String>, EngineError> {
    let asked = request(ListPodSandboxRequest {
        filter: Some(PodSandboxFilter {
            label_selector: HashMap::from([(NAME.to_owned(), name.to_owned())]),
        }),
    });
    let found = client.runtime().list_pod_sandbox(asked).await;
    let found = found
        .map_err(|status| client.error(format!("look for the pod {name}"), status))?
        .into_inner()
        .items;
    let ours = found.into_iter().filter(|pod| {
        let metadata = pod.metadata.clone().unwrap_or_default();
        metadata.namespace == NAMESPACE
            && metadata.name == name
            && metadata.uid == name
            && is_ours(name, Some(&pod.labels))
    });
    Ok(ours.map(|pod| pod.id).collect())
}

/// Where the runtime writes the logs of a pod; `None` where it does not say or has no such pod any more.
async fn log_folder(client: &Client, id: &str) -> Result<Option<PathBuf>, Status> {
    match client.sandbox(id).await {
        Ok(inside) => {
            let folder = inside["config"]["log_directory"].as_str();
            Ok(folder.map(PathBuf::from))
        }
        Err(status) if is_absent(&status) => Ok(None),
        Err(status) => Err(status),
    }
}

/// Whether the pod was still there to be removed.
async fn end_ours(client: &Client, name: &str, id: &str) -> Result<bool, EngineError> {
    match end(client, id).await {
        Ok(()) => Ok(true),
        // Somebody else was faster.
        Err(status) if is_absent(&status) => Ok(false),
        Err(status) => Err(client.error(format!("remove the pod {name}"), status)),
    }
}

/// Kills and removes the pod with this id.
async fn end(client: &Client, id: &str) -> Result<(), Status> {
    let stop = || StopPodSandboxRequest {
        pod_sandbox_id: id.to_owned(),
    };
    let remove = || RemovePodSandboxRequest {
        pod_sandbox_id: id.to_owned(),
    };
    let ended = insist(|| async {
        let mut runtime = client.runtime();
        if client.runtime == Runtime::CriO {
            kill(client, id).await?;
        }
        runtime.stop_pod_sandbox(request(stop())).await?;
        runtime.remove_pod_sandbox(request(remove())).await
    });
    ended.await.map(drop)
}

/// Kills the containers of a pod: with the pod itself CRI-O gives each two minutes to end.
async fn kill(client: &Client, pod: &str) -> Result<(), Status> {
    let of_pod = ListContainersRequest {
        filter: Some(ContainerFilter {
            pod_sandbox_id: pod.to_owned(),
        }),
    };
    let found = client.runtime().list_containers(request(of_pod)).await?;
    for container in found.into_inner().containers {
        let stop = StopContainerRequest {
            container_id: container.id,
            timeout: 0,
        };
        match client.runtime().stop_container(request(stop)).await {
            Err(status) if !is_absent(&status) => return Err(status),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stowplan_engine_daemon::{Daemon, Images, RUN, of_service};
    use stowplan_host::LocalHost;
    use stowplan_host::cgroup::{remove_tree, top_folders};
    use stowplan_testkit::{agent_program, available};

    use super::*;
    use stowplan_engine::SharedNetwork;

    use crate::{CriEngine, config, store};
    use stowplan_engine_daemon::cri::api::runtime::v1::PodSandboxStatusRequest;
    use stowplan_engine_daemon::cri::provide_pause;

    #[test]
    fn a_pod_of_the_user_with_a_name_that_a_run_needs_is_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let host = LocalHost::new(state.path()).unwrap();
        let engine = CriEngine::new(None, agent_program(), SharedNetwork::of_this_process());
        if !available(&engine, &host) {
            return;
        }
        let client = store(None).connect().unwrap();
        let mut images = Images::new(store(None));
        provide_pause(&client, &mut images, agent_program().to_owned()).unwrap();
        let run_name = format!("taken-{}", std::process::id());
        let name = of_service(&run_name, "s0");
        let group = format!("stowplan-{run_name}");
        let ours = config::sandbox(&name, &run_name, Some("s0"), &format!("/{group}"));
        // With labels that look like ours, but do not say the same.
        let mut users = ours.clone();
        users.labels.insert(RUN.to_owned(), "another".to_owned());
        let asked = RunPodSandboxRequest {
            config: Some(users),
            runtime_handler: String::new(),
        };
        let made = client.wait(client.runtime().run_pod_sandbox(request(asked)));
        let pod = made.unwrap().into_inner().pod_sandbox_id;
        let error = client.wait(run(&client, &ours, "")).unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
        assert!(error.hint.unwrap().contains("leaves it alone"));
        assert!(!client.wait(remove(&client, &name)).unwrap());
        let asked = PodSandboxStatusRequest {
            pod_sandbox_id: pod.clone(),
            verbose: false,
        };
        let mut runtime = client.runtime();
        let still = client.wait(runtime.pod_sandbox_status(request(asked)));
        assert!(still.is_ok(), "the user's pod is gone: {still:?}");
        client.wait(end(&client, &pod)).unwrap();
        for folder in top_folders(&group).unwrap() {
            remove_tree(&folder).unwrap();
        }
    }
}
