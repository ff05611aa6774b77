//! Containers by id: where they are, freezing and ending them.

use std::time::Duration;

use bollard::query_parameters::{StopContainerOptionsBuilder, WaitContainerOptionsBuilder};
use futures_util::StreamExt;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::Place;
use stowplan_wire::deployment::StopMode;

use crate::client::{Client, PATIENCE_S, is_absent, status};
use crate::fleet;

/// Asks the program of a container to end, or ends it, and waits until it has.
pub(crate) async fn end(client: &Client, id: &str, how: StopMode) -> Result<(), EngineError> {
    let failed = |error| client.error("stop a container", error);
    let stopped = match how {
        StopMode::Terminate { grace_ms } => {
            // The API has whole seconds.
            let grace_s = grace_ms.div_ceil(1000);
            let options = StopContainerOptionsBuilder::default()
                .t(i32::try_from(grace_s).unwrap_or(i32::MAX))
                .build();
            let limit = Duration::from_secs(PATIENCE_S.saturating_add(grace_s));
            let api = client.patient(limit);
            api.stop_container(id, Some(options)).await
        }
        StopMode::Kill => fleet::kill(client, id).await,
    };
    match stopped {
        Ok(()) => {}
        // It is gone, or it has ended already.
        Err(error) if is_absent(&error) || status(&error) == Some(409) => {}
        // Podman gives every failure one status: whether it runs is seen by looking.
        Err(error) if runs(client, id).await => return Err(failed(error)),
        Err(_) => {}
    }
    let options = WaitContainerOptionsBuilder::default()
        .condition("not-running")
        .build();
    let mut ended = client.api().wait_container(id, Some(options));
    match ended.next().await {
        // The status of the program is told as an error.
        None | Some(Ok(_) | Err(bollard::errors::Error::DockerContainerWaitError { .. })) => Ok(()),
        Some(Err(error)) if is_absent(&error) => Ok(()),
        Some(Err(error)) => Err(failed(error)),
    }
}

/// Whether the program of a container runs, as far as the daemon tells.
async fn runs(client: &Client, id: &str) -> bool {
    let found = client.inspect(id).await.ok();
    let state = found.and_then(|found| found.state);
    state.is_none_or(|state| state.running != Some(false))
}

/// Where a container is.
pub(crate) fn locate(client: &Client, id: &str) -> Result<Place, EngineError> {
    let found = client
        .wait(client.inspect(id))
        .map_err(|error| client.error("tell of a container", error))?;
    let state = found.state.unwrap_or_default();
    let pid = u32::try_from(state.pid.unwrap_or_default()).unwrap_or_default();
    Ok(Place {
        out_of_memory: state.oom_killed.unwrap_or_default(),
        log: found.log_path.filter(|path| !path.is_empty()),
        ..Place::find(pid, id)?
    })
}

/// Freezes or thaws a container.
pub(crate) fn freeze(client: &Client, id: &str, frozen: bool) -> Result<(), EngineError> {
    let api = client.api();
    if frozen {
        let paused = client.wait(api.pause_container(id));
        paused.map_err(|e| client.error("pause a container", e))
    } else {
        let resumed = client.wait(api.unpause_container(id));
        resumed.map_err(|e| client.error("resume a container", e))
    }
}
