//! Whether a cluster can start a pod here, and what it is.

use std::cell::RefCell;

use stowplan_engine::{EngineError, parts};
use stowplan_engine_daemon::{cri, in_probe_run};
use stowplan_host::cgroup::Tree;

use crate::cluster::{Cluster, label};
use crate::config::{CONTAINER, container};
use crate::ground::Ground;
use crate::state::Phase;
use crate::{ENGINE, names};

/// Starts a pod of an image that holds, and removes it with its namespace.
pub(crate) fn try_out(
    cluster: &Cluster,
    runtime: &cri::Client,
    image: &str,
    going: &RefCell<Vec<String>>,
) -> Result<(), EngineError> {
    in_probe_run(ENGINE, |run, host| {
        let ground = Ground::lay(cluster, run, host)?;
        let holds = vec![container(CONTAINER, image, Vec::new())];
        let name = names::plain(&format!("stowplan-{run}"));
        let tried = ground.try_pod(cluster, &name, holds, |seen| {
            matches!(seen.phase, Phase::Running(_))
        });
        let is_told = tried.and_then(|seen| match &seen.phase {
            Phase::Running(id) => runtime
                .wait(runtime.container(id))
                .map(drop)
                .map_err(|status| runtime.error("tell of a pod's container", status)),
            _ => Ok(()),
        });
        let ended = ground.end(cluster, &name);
        let cleared = ground.clear(cluster, host);
        going.borrow_mut().push(ground.namespace);
        is_told.and(ended).and(cleared)
    })
}

/// The cluster with its parts.
pub(crate) fn version(cluster: &Cluster, runtime: &cri::Client) -> Result<String, EngineError> {
    let node = &cluster.node;
    let untold = "untold".to_owned();
    let driver = node.cgroup_driver.as_ref().unwrap_or(&untold);
    let cpus = node.cpu_manager.as_ref().unwrap_or(&untold);
    let storage = runtime.settings.handler(None)?.snapshotter;
    let runtime = node.runtime.replace("://", " ");
    Ok(format!(
        "{} (node {}, {}, CPU manager {cpus})",
        label(&cluster.version),
        node.name,
        parts(&storage, &runtime, driver, Tree::detect()?.layout.version()),
    ))
}
