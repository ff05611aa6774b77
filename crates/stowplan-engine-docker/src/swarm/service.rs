//! Services of a swarm by name: making and removing them, and what becomes of their task.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bollard::models::{
    ServiceSpec, ServiceSpecMode, ServiceSpecModeReplicated, Task,
    TaskSpecRestartPolicyConditionEnum, TaskState,
};
use bollard::query_parameters::{
    InspectServiceOptions, ListContainersOptionsBuilder, ListTasksOptionsBuilder,
    UpdateServiceOptionsBuilder,
};
use stowplan_engine::{EngineError, FailureKind};
use stowplan_engine_daemon::{RUN, SERVICE, is_ours};
use stowplan_wire::deployment::EngineEventKind;

use crate::client::{Client, is_absent, status};
use crate::events::Feed;
use crate::fleet;

/// The label by which Docker says of which service a container is.
const OF_SERVICE: &str = "com.docker.swarm.service.name";
/// Most characters of a service's name (swarmkit, `manager/controlapi/service.go`).
const LONGEST: usize = 63;
/// Time between two looks at a task that has not started: Docker has events of containers and of services, and none of tasks. Only
/// one that fails before its container starts is seen by this.
const LOOK: Duration = Duration::from_millis(500);
/// Longest wait until a task starts.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a task may have no node.
const NO_PLACE: Duration = Duration::from_secs(30);
/// Time between two looks whether a task is gone.
const GONE: Duration = Duration::from_millis(100);

/// The name of a container of ours as one that a swarm takes: letters, digits, `-` and `_`, at most 63 of them.
pub(super) fn plain(name: &str) -> String {
    let name = name.replace('.', "-");
    if name.len() <= LONGEST {
        return name;
    }
    // FNV-1a; what is cut off may be all that tells two services apart.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let kept: String = name.chars().take(LONGEST - 9).collect();
    format!("{kept}-{hash:08x}")
}

/// Makes a service and waits until its container has started; gives the container's id.
pub(super) async fn make(
    client: &Client,
    name: &str,
    spec: ServiceSpec,
) -> Result<String, EngineError> {
    let label = |key: &str| {
        let labels = spec.labels.as_ref();
        labels.and_then(|labels| labels.get(key)).cloned()
    };
    let (run, service) = (label(RUN), label(SERVICE));
    // Before there is a task, so that nothing of it is missed.
    let mut feed = Feed::of_service(
        client,
        &run.unwrap_or_default(),
        &service.unwrap_or_default(),
    );
    let made = client.api().create_service(spec, None).await;
    let made = made.map_err(|error| {
        let taken = status(&error) == Some(409);
        let error = client.error(format!("create the service {name}"), error);
        if taken {
            error
                .of_kind(FailureKind::Refused)
                .hint("rename or remove the service that has this name; Stowplan leaves it alone")
        } else {
            error
        }
    })?;
    let id = made.id.unwrap_or_default();
    let begin = Instant::now();
    loop {
        if let Some(happened) = feed.within(client, LOOK).await? {
            if happened.kind == EngineEventKind::Started {
                return Ok(happened.container);
            }
            continue;
        }
        match look(client, &id, begin.elapsed()).await? {
            Some(container) => return Ok(container),
            None if begin.elapsed() > PATIENCE => {
                let waited = PATIENCE.as_secs();
                let message = format!("its task has not started within {waited} s");
                return Err(EngineError::new(message));
            }
            None => {}
        }
    }
}

/// Sees to it that no other task follows the one of this container, where the swarm would start one. It ends the container by that.
pub(super) async fn stays_ended(client: &Client, container: &str) -> Result<(), EngineError> {
    let failed = |error| client.error("stop a service of a swarm", error);
    let found = match client.inspect(container).await {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let labels = found.config.and_then(|config| config.labels);
    let Some(name) = labels.and_then(|labels| labels.get(OF_SERVICE).cloned()) else {
        return Ok(());
    };
    let api = client.api();
    let service = match api
        .inspect_service(&name, None::<InspectServiceOptions>)
        .await
    {
        Ok(service) => service,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let (Some(mut spec), Some(version)) = (service.spec, service.version.and_then(|v| v.index))
    else {
        return Ok(());
    };
    let task = spec.task_template.as_ref();
    let policy = task.and_then(|task| task.restart_policy.as_ref()?.condition);
    if policy == Some(TaskSpecRestartPolicyConditionEnum::NONE) {
        return Ok(());
    }
    spec.mode = Some(ServiceSpecMode {
        replicated: Some(ServiceSpecModeReplicated { replicas: Some(0) }),
        ..ServiceSpecMode::default()
    });
    let options = UpdateServiceOptionsBuilder::default()
        .version(i32::try_from(version).unwrap_or(i32::MAX))
        .build();
    let updated = api.update_service(&name, spec, options, None).await;
    updated.map(drop).map_err(failed)
}

/// Looks at the one task of a service: the container of one that has run and ended; an error of one that cannot.
async fn look(
    client: &Client,
    service: &str,
    waited: Duration,
) -> Result<Option<String>, EngineError> {
    let filters = HashMap::from([("service", vec![service])]);
    let options = ListTasksOptionsBuilder::default().filters(&filters).build();
    let tasks = client.api().list_tasks(Some(options)).await;
    let tasks = tasks.map_err(|error| client.error("tell of a task", error))?;
    let Some((container, why)) = tasks.iter().find_map(|task| trouble(task, waited)) else {
        return Ok(None);
    };
    if let Some(container) = container {
        let found = client.inspect(&container).await;
        let state = found.ok().and_then(|found| found.state);
        let started = state.and_then(|state| state.started_at);
        // Docker's word for never.
        if started.is_some_and(|at| !at.starts_with("0001-")) {
            return Ok(Some(container));
        }
    }
    Err(EngineError::new(format!(
        "the swarm cannot start it: {why}"
    )))
}

/// The tasks of a service.
async fn tasks(client: &Client, service: &str) -> Result<Vec<Task>, EngineError> {
    let filters = HashMap::from([("service", vec![service])]);
    let options = ListTasksOptionsBuilder::default().filters(&filters).build();
    let tasks = client.api().list_tasks(Some(options)).await;
    tasks.map_err(|error| client.error("tell of a task", error))
}

/// Why a task is not going to start, with its container where it has one.
fn trouble(task: &Task, waited: Duration) -> Option<(Option<String>, String)> {
    let status = task.status.as_ref()?;
    let said = status.err.clone().filter(|said| !said.is_empty());
    let state = status.state?;
    let is_stuck = match state {
        TaskState::FAILED
        | TaskState::REJECTED
        | TaskState::COMPLETE
        | TaskState::SHUTDOWN
        | TaskState::REMOVE
        | TaskState::ORPHANED => true,
        TaskState::PENDING => said.is_some() && waited > NO_PLACE,
        _ => false,
    };
    is_stuck.then(|| {
        let container = status.container_status.as_ref();
        let container = container.and_then(|of| of.container_id.clone());
        let container = container.filter(|id| !id.is_empty());
        (container, said.unwrap_or_else(|| format!("it is {state}")))
    })
}

/// Removes the service of this name with its containers, if it was made here. Whether there was one.
pub(super) async fn remove(client: &Client, name: &str) -> Result<bool, EngineError> {
    let failed = |error| client.error(format!("remove the service {name}"), error);
    let called = plain(name);
    let found = client
        .api()
        .inspect_service(&called, None::<InspectServiceOptions>)
        .await;
    let service = match found {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return remove_containers(client, name).await,
        // Who has left the swarm has taken its services along.
        Err(error) if status(&error) == Some(503) && left_swarm(client).await => {
            return remove_containers(client, name).await;
        }
        Err(error) => return Err(failed(error)),
    };
    let labels = service.spec.and_then(|spec| spec.labels);
    if !is_ours(name, labels.as_ref()) {
        return Ok(false);
    }
    let id = service.id.unwrap_or_default();
    let tasks = tasks(client, &id).await?;
    match client.api().delete_service(&called).await {
        Ok(()) => {}
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(failed(error)),
    }
    // The node would do that some seconds later.
    remove_containers(client, name).await?;
    for task in tasks.iter().filter(|task| may_get_container(task)) {
        until_gone(client, task.id.as_deref().unwrap_or_default()).await;
        remove_containers(client, name).await?;
    }
    Ok(true)
}

/// Whether a task has no container yet and may still get one.
fn may_get_container(task: &Task) -> bool {
    let status = task.status.as_ref();
    let container = status.and_then(|status| status.container_status.as_ref());
    let container = container.and_then(|of| of.container_id.as_deref());
    let is_over = trouble(task, Duration::ZERO).is_some();
    container.is_none_or(str::is_empty) && !is_over
}

/// Waits until the swarm has forgotten a task whose service is removed.
async fn until_gone(client: &Client, task: &str) {
    let begin = Instant::now();
    while begin.elapsed() < NO_PLACE {
        match client.api().inspect_task(task).await {
            Err(error) if is_absent(&error) => return,
            _ => tokio::time::sleep(GONE).await,
        }
    }
}

/// Whether the daemon is in no swarm.
async fn left_swarm(client: &Client) -> bool {
    let info = client.api().info().await;
    let swarm = info.ok().and_then(|info| info.swarm);
    swarm.is_some_and(|swarm| swarm.node_id.is_none_or(|id| id.is_empty()))
}

/// Removes containers that were left without their service. Whether there were any.
async fn remove_containers(client: &Client, name: &str) -> Result<bool, EngineError> {
    let left = containers(client, name).await?;
    for id in &left {
        match fleet::remove_by_id(client, id).await {
            // The node may be removing it, too.
            Err(error) if !is_absent(&error) && status(&error) != Some(409) => {
                return Err(client.error(format!("remove the container {id}"), error));
            }
            _ => {}
        }
    }
    let begin = Instant::now();
    while !left.is_empty() && begin.elapsed() < NO_PLACE {
        if containers(client, name).await?.is_empty() {
            break;
        }
        tokio::time::sleep(GONE).await;
    }
    Ok(!left.is_empty())
}

/// The containers of a service that was made here.
async fn containers(client: &Client, name: &str) -> Result<Vec<String>, EngineError> {
    let labels = vec![RUN.to_owned(), format!("{OF_SERVICE}={}", plain(name))];
    let filters = HashMap::from([("label", labels)]);
    let options = ListContainersOptionsBuilder::default()
        .all(true)
        .filters(&filters)
        .build();
    let found = client.api().list_containers(Some(options)).await;
    let found = found.map_err(|error| client.error("list containers", error))?;
    let ours = found
        .into_iter()
        .filter(|found| is_ours(name, found.labels.as_ref()));
    Ok(ours.filter_map(|found| found.id).collect())
}

#[cfg(test)]
mod tests {
    use bollard::models::{ContainerStatus, TaskStatus};

    use super::*;

    #[test]
    fn a_name_is_one_that_a_swarm_takes_and_tells_services_apart() {
        assert_eq!(plain("stowplan-7-1-a.b_c"), "stowplan-7-1-a-b_c");
        let long = |end: &str| plain(&format!("stowplan-7-1-{}{end}", "a".repeat(60)));
        assert_eq!(long("x").len(), LONGEST);
        assert_ne!(long("x"), long("y"));
        assert_eq!(plain(&long("x")), long("x"));
    }

    fn task(state: TaskState, err: &str, container: &str) -> Task {
        Task {
            status: Some(TaskStatus {
                state: Some(state),
                err: Some(err.to_owned()),
                container_status: Some(ContainerStatus {
                    container_id: Some(container.to_owned()),
                    ..ContainerStatus::default()
                }),
                ..TaskStatus::default()
            }),
            ..Task::default()
        }
    }

    #[test]
    fn a_task_that_cannot_start_says_why() {
        let soon = Duration::ZERO;
        let found = |task: &Task, waited| trouble(task, waited);
        let rejected = task(TaskState::REJECTED, "No such image", "");
        let why = Some((None, "No such image".to_owned()));
        assert_eq!(found(&rejected, soon), why);
        let ended = task(TaskState::COMPLETE, "", "c1");
        let why = Some((Some("c1".to_owned()), "it is complete".to_owned()));
        assert_eq!(found(&ended, soon), why);
        let no_node = task(TaskState::PENDING, "no suitable node", "");
        assert_eq!(found(&no_node, soon), None);
        assert!(found(&no_node, NO_PLACE * 2).is_some());
        for state in [TaskState::PREPARING, TaskState::RUNNING, TaskState::PENDING] {
            assert_eq!(found(&task(state, "", ""), NO_PLACE * 2), None);
            assert!(may_get_container(&task(state, "", "")));
        }
        assert!(!may_get_container(&rejected) && !may_get_container(&ended));
    }
}
