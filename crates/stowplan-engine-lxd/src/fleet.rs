//! Instances by name: making, looking at and removing them.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use stowplan_engine::EngineError;
use stowplan_engine_tool::lxc;

use crate::api::Instance;
use crate::client::{ApiError, Client};
use crate::names;

/// Path of an instance.
pub(crate) fn path(instance: &str) -> String {
    format!("/1.0/instances/{instance}")
}

/// Makes an instance as `request` has it.
pub(crate) async fn make(
    client: &Client,
    instance: &str,
    request: &Value,
) -> Result<(), EngineError> {
    let mut body = request.clone();
    body["name"] = Value::String(instance.to_owned());
    let made = client.ask(Method::POST, "/1.0/instances", &body, Duration::ZERO);
    made.await.map_err(|error| {
        let taken = error.is_taken();
        let error = client.error(format!("create the instance {instance}"), error);
        if taken {
            error.hint("rename or remove the instance that has this name; Stowplan leaves it alone")
        } else {
            error
        }
    })
}

/// Brings an instance into another state (`PUT /1.0/instances/NAME/state`).
pub(crate) async fn put(client: &Client, instance: &str, state: Value) -> Result<(), ApiError> {
    let seconds = state["timeout"].as_u64().unwrap_or_default();
    let longer = Duration::from_secs(seconds);
    let path = format!("{}/state", path(instance));
    client
        .ask_when_idle(Method::PUT, &path, &state, longer)
        .await
}

/// Lets the program of an instance run. Where it does not come so far, liblxc's last complaint is the reason.
pub(crate) async fn start(client: &Client, instance: &str) -> Result<(), EngineError> {
    let Err(error) = put(client, instance, json!({"action": "start"})).await else {
        return Ok(());
    };
    let error = client.error("start an instance", error);
    let log = log(client, instance).await.unwrap_or_default();
    Err(match complaint(&log) {
        Some(complaint) => error.because(std::io::Error::other(complaint.to_owned())),
        None => error,
    })
}

/// Kills what runs in an instance and waits until it has ended.
pub(crate) async fn kill(client: &Client, instance: &str) -> Result<(), ApiError> {
    match put(client, instance, json!({"action": "stop", "force": true})).await {
        Err(error) if error.is_stopped() || error.is_absent() => Ok(()),
        done => done,
    }
}

/// Kills and removes the instance of this name if it was made here. Whether there was one.
pub(crate) async fn remove_instance(client: &Client, instance: &str) -> Result<bool, EngineError> {
    let failed = |error| client.error(format!("remove the instance {instance}"), error);
    let found: Instance = match client.get(&path(instance)).await {
        Ok(found) => found,
        Err(error) if error.is_absent() => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    if !names::is_ours(instance, &found.config) {
        return Ok(false);
    }
    kill(client, instance).await.map_err(failed)?;
    let path = path(instance);
    let removed = client.ask_when_idle(Method::DELETE, &path, &Value::Null, Duration::ZERO);
    match removed.await {
        Ok(()) => Ok(true),
        Err(error) if error.is_absent() => Ok(true),
        Err(error) => Err(failed(error)),
    }
}

/// liblxc's log of the last start of an instance.
pub(crate) async fn log(client: &Client, instance: &str) -> Result<String, ApiError> {
    client
        .text(&format!("{}/logs/lxc.log", path(instance)))
        .await
}

/// Pid of an instance's first process, once it has run.
pub(crate) async fn first_process(client: &Client, instance: &str) -> Result<u32, EngineError> {
    match log(client, instance).await {
        Ok(log) => Ok(lxc::leader(&log).unwrap_or(0)),
        // It has never been started.
        Err(error) if error.is_absent() => Ok(0),
        Err(error) => Err(client.error("give the log of an instance", error)),
    }
}

/// The last line at level ERROR: `lxc NAME TIME ERROR MODULE - FILE:FUNCTION:LINE - MESSAGE`.
fn complaint(log: &str) -> Option<&str> {
    let line = log.lines().rev().find(|line| line.contains(" ERROR "))?;
    line.splitn(3, " - ").nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_complaint_is_told() {
        let log = "lxc a 20261122063445.690 ERROR    conf - ../src/lxc/conf.c:f:1 - First\n\
            lxc a 20261122063445.691 ERROR    start - ../src/lxc/start.c:f:2 - No such file - Failed to exec\n\
            lxc a 20261122063445.692 INFO     start - ../src/lxc/start.c:f:3 - Something else\n";
        assert_eq!(complaint(log), Some("No such file - Failed to exec"));
        assert_eq!(complaint(""), None);
    }
}
