//! Whether a runtime can start a container here, and what it is.

use std::collections::BTreeSet;
use std::time::Duration;

use stowplan_engine::{CGROUPFS, EngineError, parts};
use stowplan_engine_daemon::{Images, in_probe_run};
use stowplan_engine_tool::ask;
use stowplan_host::cgroup::Tree;
use stowplan_host::chain;

use stowplan_engine_daemon::cri::{Client, Handler, Store};

use crate::ground::{self, Holder};
use crate::{ENGINE, HANDLERS};

/// Longest time that a program takes to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// What stands before the words of a runtime.
const HEARD: &str = "OCI runtime create failed: ";

/// Starts a container that does nothing and removes it, with the default handler and those that are variants. Gives the
/// runtime with its parts: version, API, snapshotter, runtime, cgroup driver and version, and why a variant cannot be had.
pub(crate) fn try_out(
    client: &Client,
    images: &mut Images<Store>,
    holder: &Holder,
) -> Result<String, EngineError> {
    let deviations = attempt(client, images, holder, None).map_err(with_hint)?;
    let handler = client.settings.handler(None)?;
    let mut told = version(client, &handler)?;
    for deviation in deviations {
        told.push_str(&format!("; {deviation}"));
    }
    for name in HANDLERS {
        if name == handler.name {
            continue;
        }
        if let Err(error) = attempt(client, images, holder, Some(name)) {
            let said = chain(&error);
            // containerd tells through whom it has heard of it.
            let why = said.rsplit(HEARD).next().unwrap_or(&said);
            let why = why.trim_end_matches(": unknown");
            told.push_str(&format!("; {ENGINE}:{name} cannot be had: {why}"));
        }
    }
    Ok(told)
}

fn attempt(
    client: &Client,
    images: &mut Images<Store>,
    holder: &Holder,
    variant: Option<&str>,
) -> Result<BTreeSet<String>, EngineError> {
    in_probe_run(ENGINE, |run, host| {
        let none = BTreeSet::new();
        let mut ground = ground::lay(client, images, holder, variant, run, host, &none)?;
        ground.clear(host)?;
        Ok(ground.deviations)
    })
}

/// What to do about a runtime that does not work on this machine.
fn with_hint(error: EngineError) -> EngineError {
    let said = chain(&error);
    if said.contains("oom_score_adj") {
        error.hint(
            "this machine does not let containerd lower a score: set 'restrict_oom_score_adj = true' below \
             [plugins.\"io.containerd.grpc.v1.cri\"] in its configuration and start it anew",
        )
    } else if said.contains("executable file not found") {
        error.hint("install the runtime with 'apt-get install runc'")
    } else {
        error
    }
}

/// The runtime with its parts.
pub(crate) fn version(client: &Client, handler: &Handler) -> Result<String, EngineError> {
    // The program says `NAME version VERSION` in its first line.
    let said = ask(&handler.program, &["--version"], PATIENCE).unwrap_or_default();
    let version = said.lines().next().and_then(|line| line.rsplit(' ').next());
    let program = match version {
        Some(version) => format!("{} {version}", handler.program),
        None => handler.program.clone(),
    };
    let driver = if handler.systemd_cgroup {
        "systemd"
    } else {
        CGROUPFS
    };
    Ok(format!(
        "{} {} (API {}, {})",
        client.runtime.name(),
        client.version,
        client.api,
        parts(
            &handler.snapshotter,
            &program,
            driver,
            Tree::detect()?.layout.version()
        ),
    ))
}
