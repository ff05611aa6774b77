//! Containers by name: making and removing them.

use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
};
use stowplan_engine::{EngineError, FailureKind};
use stowplan_engine_daemon::is_ours;

use crate::Daemon;
use crate::client::{Client, is_absent, status};

/// Longest wait until a container that somebody else removes is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes a container; gives its id.
pub(crate) fn make(
    client: &Client,
    name: &str,
    body: ContainerCreateBody,
) -> Result<String, EngineError> {
    client.wait(make_one(client, name, body))
}

/// Makes a container; gives its id.
pub(crate) async fn make_one(
    client: &Client,
    name: &str,
    body: ContainerCreateBody,
) -> Result<String, EngineError> {
    let options = CreateContainerOptionsBuilder::default().name(name).build();
    let made = client.api().create_container(Some(options), body).await;
    let error = match made {
        Ok(made) => return Ok(made.id),
        Err(error) => error,
    };
    // Podman gives every failure one status: whether somebody has the name is seen by looking.
    let taken =
        status(&error) == Some(409) || client.api().inspect_container(name, None).await.is_ok();
    let error = client.error(format!("create the container {name}"), error);
    Err(if taken {
        error
            .of_kind(FailureKind::Refused)
            .hint("rename or remove the container that has this name; Stowplan leaves it alone")
    } else {
        error
    })
}

/// Kills the program of a container.
pub(crate) async fn kill(client: &Client, id: &str) -> Result<(), Error> {
    let options = KillContainerOptionsBuilder::default()
        .signal("SIGKILL")
        .build();
    client.api().kill_container(id, Some(options)).await
}

/// Kills and removes a container with its volumes.
pub(crate) async fn remove_by_id(client: &Client, id: &str) -> Result<(), Error> {
    let options = RemoveContainerOptionsBuilder::default()
        .force(true)
        .v(true)
        .build();
    client.api().remove_container(id, Some(options)).await
}

/// Kills and removes the container of this name if it was made here. Whether there was one.
pub(crate) fn remove(client: &Client, name: &str) -> Result<bool, EngineError> {
    client.wait(remove_one(client, name))
}

/// Kills and removes the container of this name if it was made here. Whether there was one.
pub(crate) async fn remove_one(client: &Client, name: &str) -> Result<bool, EngineError> {
    let failed = |error| client.error(format!("remove the container {name}"), error);
    let found = match client.inspect(name).await {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    let labels = found.config.and_then(|config| config.labels);
    let Some(id) = found.id.filter(|_| is_ours(name, labels.as_ref())) else {
        return Ok(false);
    };
    if client.daemon() == Daemon::Podman {
        // From version 5 on it would give the program ten seconds to end. One that does not run is told by the removal.
        let _ = kill(client, &id).await;
    }
    match remove_by_id(client, &id).await {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(true),
        // It is being removed already.
        Err(error) if status(&error) == Some(409) => {
            let gone = async {
                while !client.inspect(&id).await.is_err_and(|e| is_absent(&e)) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let waited = tokio::time::timeout(PATIENCE, gone).await;
            waited.map(|()| true).map_err(|_| failed(error))
        }
        Err(error) => Err(failed(error)),
    }
}
