//! What the containers of a run really are.

use bollard::models::ContainerInspectResponse;
use stowplan_engine::{EngineError, Facts, ObservedContainer, agreed, contradiction};
use stowplan_engine_daemon::{runtime_name, runtime_version};

use crate::Daemon;
use crate::client::Client;
use crate::probe;
use crate::runtime::called;

/// The label of the containers of this engine with these ids and first processes: one value of each fact for all of them.
///
/// # Errors
/// When two differ, or what the kernel shows contradicts what the daemon says.
pub(crate) fn read(
    client: &Client,
    engine: &str,
    containers: &[(String, u32)],
) -> Result<Facts, EngineError> {
    let mut all = Vec::new();
    let mut program = None;
    for (id, pid) in containers {
        let found = client
            .wait(client.inspect(id))
            .map_err(|error| client.error("tell of a container", error))?;
        let seen = ObservedContainer::of(*pid, id);
        let called = called(client.daemon(), *pid, id, &seen);
        all.push(facts(client.daemon(), &found, &seen, called.as_deref())?);
        program = called;
    }
    let mut facts = agreed(all)?;
    facts.extend(runtime_version(program.as_deref()));
    facts.insert(format!("engine.{engine}"), probe::version(client)?);
    Ok(facts)
}

/// The facts of one container.
fn facts(
    daemon: Daemon,
    said: &ContainerInspectResponse,
    seen: &ObservedContainer,
    called: Option<&str>,
) -> Result<Facts, EngineError> {
    let storage = said
        .graph_driver
        .as_ref()
        .map(|driver| driver.name.clone())
        .or_else(|| said.driver.clone())
        .unwrap_or_default();
    let monitor = match daemon {
        Daemon::Docker => "containerd-shim",
        Daemon::Podman => "conmon",
    };
    if !seen.parent.starts_with(monitor) {
        return Err(contradiction("monitor", monitor, &seen.parent));
    }
    if storage.starts_with("overlay") != (seen.root == "overlay") {
        return Err(contradiction("storage driver", &storage, &seen.root));
    }
    let named = said.host_config.as_ref();
    let named = named.and_then(|config| config.runtime.as_deref());
    let named = format!("{}, as the daemon says", named.unwrap_or("unknown"));
    let facts = [
        ("engine.storage", storage),
        ("engine.runtime", runtime_name(called, &named)),
        ("engine.monitor", seen.parent.clone()),
        ("engine.cgroup", seen.cgroup.clone()),
    ];
    Ok(facts.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use bollard::models::{DriverData, HostConfig};

    use super::*;

    fn said(storage: &str) -> ContainerInspectResponse {
        ContainerInspectResponse {
            graph_driver: Some(DriverData {
                name: storage.to_owned(),
                ..DriverData::default()
            }),
            host_config: Some(HostConfig {
                runtime: Some("runc".to_owned()),
                ..HostConfig::default()
            }),
            ..ContainerInspectResponse::default()
        }
    }

    fn shown(parent: &str, root: &str) -> ObservedContainer {
        let arguments = ["conmon", "--api-version", "1", "-r", "/usr/bin/crun"];
        ObservedContainer {
            root: root.to_owned(),
            parent: parent.to_owned(),
            arguments: arguments.map(str::to_owned).to_vec(),
            cgroup: "/docker/ID".to_owned(),
        }
    }

    #[test]
    fn a_label_says_what_daemon_and_kernel_agree_on() {
        let docker = facts(
            Daemon::Docker,
            &said("overlay2"),
            &shown("containerd-shim", "overlay"),
            None,
        );
        let docker = docker.unwrap();
        let told = "runc, as the daemon says (not seen in the bundle)";
        assert_eq!(docker["engine.runtime"], told);
        assert_eq!(docker["engine.storage"], "overlay2");
        let conmon = shown("conmon", "ext4");
        let called = crate::runtime::of_conmon(&conmon.arguments);
        let podman = facts(Daemon::Podman, &said("vfs"), &conmon, called.as_deref()).unwrap();
        assert_eq!(podman["engine.runtime"], "crun");
    }

    #[test]
    fn a_label_that_the_kernel_contradicts_is_an_error() {
        let wrong = [
            facts(
                Daemon::Docker,
                &said("overlay2"),
                &shown("conmon", "overlay"),
                None,
            ),
            facts(
                Daemon::Docker,
                &said("overlay2"),
                &shown("containerd-shim", "ext4"),
                None,
            ),
            facts(
                Daemon::Docker,
                &said("vfs"),
                &shown("containerd-shim", "overlay"),
                None,
            ),
        ];
        for outcome in wrong {
            assert!(
                outcome
                    .unwrap_err()
                    .to_string()
                    .contains("the kernel shows")
            );
        }
    }
}
