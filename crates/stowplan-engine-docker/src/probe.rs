//! Whether a daemon can start a container here, and what it is.

use bollard::models::SystemVersion;
use stowplan_engine::{EngineError, parts};
use stowplan_engine_daemon::{Images, container_entry, in_probe_run, of_ground};
use stowplan_host::cgroup::{Layout, Tree};

use crate::Daemon;
use crate::client::Client;
use crate::fleet;
use crate::ground::{self, Holder};
use crate::images::Store;

/// Starts a container that does nothing and removes it. Gives the daemon with its parts: version, API, storage driver,
/// runtime, cgroup driver and version.
pub(crate) fn try_out(
    daemon: Daemon,
    images: &mut Images<Store>,
    holder: &Holder,
) -> Result<String, EngineError> {
    let client = Client::connect(daemon)?;
    let version = version(&client)?;
    let ground = in_probe_run(daemon.name(), |run, host| {
        let tried = ground::lay(&client, images, holder, run, host);
        let name = of_ground(run);
        fleet::remove(&client, &name)?;
        host.gone(&container_entry(daemon.name(), &name));
        tried
    });
    let ground = ground.map_err(|error| {
        let hint = runtime_hint(daemon, &stowplan_host::chain(&error));
        hint.into_iter().fold(error, EngineError::hint)
    })?;
    let told = ground
        .deviations
        .iter()
        .map(|deviation| format!("; {deviation}"));
    Ok(std::iter::once(version).chain(told).collect())
}

/// What to do about a runtime that does not work on this machine.
fn runtime_hint(daemon: Daemon, said: &str) -> Option<String> {
    let complains = said.contains("cgroup") && said.contains("crun");
    (daemon == Daemon::Podman && (complains || said.contains("cgroups in hybrid mode"))).then(|| {
        "crun does not take this machine's control groups: install runc and start the service with \
         'podman --runtime runc system service --time=0'"
            .to_owned()
    })
}

/// The daemon with its parts.
pub(crate) fn version(client: &Client) -> Result<String, EngineError> {
    let failed = |error| client.error("tell its version", error);
    let version = client.wait(client.api().version()).map_err(failed)?;
    let info = client.wait(client.api().info()).map_err(failed)?;
    let unknown = || "unknown".to_owned();
    let runtime = info.default_runtime.unwrap_or_else(unknown);
    let rootless = client
        .rootless_user()
        .map(|user| format!(", rootless as user {user}"));
    Ok(format!(
        "{} (API {}, {}{})",
        version.version.clone().unwrap_or_else(unknown),
        client.api().client_version(),
        parts(
            &info.driver.unwrap_or_else(unknown),
            &runtime_version(&version, &runtime)
                .map_or_else(|| runtime.clone(), |version| format!("{runtime} {version}")),
            &info
                .cgroup_driver
                .map_or_else(unknown, |driver| driver.to_string()),
            &info
                .cgroup_version
                .map_or_else(unknown, |version| version_of(version.as_ref())),
        ),
        rootless.unwrap_or_default(),
    ))
}

/// The version of control groups that a daemon names, with what the machine has beside it.
fn version_of(said: &str) -> String {
    match Tree::detect().map(|tree| tree.layout) {
        Ok(Layout::Hybrid) if said == "1" => Layout::Hybrid.version().to_owned(),
        _ => format!("v{said}"),
    }
}

/// The version of a runtime among the parts of a daemon: Docker calls the part by its name, Podman
/// `OCI Runtime (NAME)`, with what the program says of itself.
fn runtime_version(version: &SystemVersion, runtime: &str) -> Option<String> {
    let parts = version.components.as_ref()?;
    let part = parts
        .iter()
        .find(|part| part.name == runtime || part.name.contains(&format!("({runtime})")))?;
    let said = part.version.lines().next()?;
    Some(said.rsplit(' ').next().unwrap_or(said).to_owned())
}

#[cfg(test)]
mod tests {
    use bollard::models::SystemVersionComponents;

    use super::*;

    #[test]
    fn the_runtimes_version_is_found_as_either_daemon_tells_it() {
        let of = |name: &str, version: &str| SystemVersion {
            components: Some(vec![SystemVersionComponents {
                name: name.to_owned(),
                version: version.to_owned(),
                details: None,
            }]),
            ..SystemVersion::default()
        };
        let docker = of("runc", "1.1.5+ds1");
        assert_eq!(
            runtime_version(&docker, "runc").as_deref(),
            Some("1.1.5+ds1")
        );
        let podman = of("OCI Runtime (crun)", "crun version 1.8.1\ncommit: f8a0");
        assert_eq!(runtime_version(&podman, "crun").as_deref(), Some("1.8.1"));
        assert_eq!(runtime_version(&podman, "runc"), None);
    }

    #[test]
    fn a_runtime_that_refuses_the_machine_has_a_way_out() {
        let said = "crun: the requested cgroup controller `pids` is not available";
        assert!(runtime_hint(Daemon::Podman, said).unwrap().contains("runc"));
        assert_eq!(runtime_hint(Daemon::Docker, said), None);
    }
}
