//! Containers by name: making and removing them.

use std::future::Future;
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

/// Longest wait until a daemon can remove what it could not remove at once.
const BUSY: Duration = Duration::from_secs(10);

/// Time between two looks at a container.
const LOOK: Duration = Duration::from_millis(10);

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
    match remove_patiently(|| remove_by_id(client, &id), BUSY).await {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(true),
        // It is being removed already.
        Err(error) if status(&error) == Some(409) => {
            let gone = async {
                while !client.inspect(&id).await.is_err_and(|e| is_absent(&e)) {
                    tokio::time::sleep(LOOK).await;
                }
            };
            let waited = tokio::time::timeout(PATIENCE, gone).await;
            waited.map(|()| true).map_err(|_| failed(error))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Asks for a removal until it is done, absent or refused, at most for `longest`. Gives the first failure: after it a
/// daemon may have forgotten half of what it names.
///
/// A daemon that was killed while it started a container may find its file system busy, and free a moment later.
async fn remove_patiently<F>(mut ask: impl FnMut() -> F, longest: Duration) -> Result<(), Error>
where
    F: Future<Output = Result<(), Error>>,
{
    let Err(first) = ask().await else {
        return Ok(());
    };
    if status(&first) != Some(500) {
        return Err(first);
    }
    let again = async {
        loop {
            tokio::time::sleep(LOOK).await;
            match ask().await {
                Err(error) if status(&error) == Some(500) => {}
                Err(error) if !is_absent(&error) => return Err(error),
                _ => return Ok(()),
            }
        }
    };
    tokio::time::timeout(longest, again)
        .await
        .unwrap_or(Err(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a removal ends whose answers have these statuses, and how often it was asked for. The last is repeated.
    fn removal(statuses: &[u16], longest: Duration) -> (Option<u16>, usize) {
        let asked = std::cell::Cell::new(0);
        let ask = || {
            let at = asked.replace(asked.get() + 1);
            let status = statuses[at.min(statuses.len() - 1)];
            std::future::ready(match status {
                204 => Ok(()),
                status_code => Err(Error::DockerResponseServerError {
                    status_code,
                    message: String::from("device or resource busy"),
                }),
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let ended = runtime.block_on(remove_patiently(ask, longest));
        (ended.err().and_then(|error| status(&error)), asked.get())
    }

    #[test]
    fn a_busy_container_is_removed_as_soon_as_it_is_not() {
        let long = Duration::from_secs(600);
        assert_eq!(removal(&[204], long), (None, 1));
        assert_eq!(removal(&[500, 500, 204], long), (None, 3));
        assert_eq!(removal(&[500, 404], long), (None, 2));
        assert_eq!(removal(&[404], long), (Some(404), 1));
        assert_eq!(removal(&[500, 403], long), (Some(403), 2));
        assert_eq!(removal(&[409], long), (Some(409), 1));
        assert_eq!(removal(&[500], Duration::ZERO), (Some(500), 1));
    }
}
