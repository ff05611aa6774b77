//! What the containers of a run really are: read back from the daemon and from the kernel about every one of them, so
//! that no result carries a label that was only believed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use bollard::models::ContainerInspectResponse;
use stowplan_engine::EngineError;
use stowplan_host::ledger::unescape;
use stowplan_host::process;

use crate::Daemon;
use crate::client::Client;
use crate::probe;

/// Facts by name.
type Facts = BTreeMap<String, String>;

/// The label of the containers with these ids and first processes: one value of each fact for all of them.
///
/// # Errors
/// When two differ, or what the kernel shows contradicts what the daemon says.
pub(crate) fn read(client: &Client, containers: &[(String, u32)]) -> Result<Facts, EngineError> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (id, pid) in containers {
        let found = client
            .wait(client.inspect(id))
            .map_err(|error| client.error("tell of a container", error))?;
        for (name, value) in facts(client.daemon(), &found, &seen(*pid, id))? {
            all.entry(name).or_default().insert(value);
        }
    }
    let mut facts = Facts::from([(
        format!("engine.{}", client.daemon().name()),
        probe::version(client)?,
    )]);
    for (name, values) in all {
        let values: Vec<String> = values.into_iter().collect();
        match values.as_slice() {
            [one] => facts.insert(name, one.clone()),
            several => {
                return Err(EngineError::new(format!(
                    "containers of one run differ in {name}: {}",
                    several.join(", ")
                )));
            }
        };
    }
    Ok(facts)
}

/// What the kernel shows of a container's first process.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Kind of the file system on its root.
    root: String,
    /// Name of its parent.
    parent: String,
    /// Arguments of its parent.
    arguments: Vec<String>,
    /// Its cgroup, with `ID` for its own.
    cgroup: String,
}

fn seen(pid: u32, id: &str) -> Seen {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let parent = process::parent_of(pid).unwrap_or_default();
    let arguments = read(format!("/proc/{parent}/cmdline"));
    Seen {
        root: root_kind(&read(format!("/proc/{pid}/mountinfo"))).unwrap_or_default(),
        parent: read(format!("/proc/{parent}/comm")).trim().to_owned(),
        arguments: arguments.split('\0').map(str::to_owned).collect(),
        cgroup: cgroup(&read(format!("/proc/{pid}/cgroup")), id),
    }
}

/// Kind of the file system of the last mount on the root, proc_pid_mountinfo(5).
fn root_kind(mountinfo: &str) -> Option<String> {
    let mut lines = mountinfo.lines().rev();
    let last = lines.find(|line| line.split(' ').nth(4).is_some_and(|p| unescape(p) == "/"))?;
    let (_, right) = last.split_once(" - ")?;
    right.split(' ').next().map(str::to_owned)
}

/// The path that most hierarchies have, with `ID` for the container's own id.
fn cgroup(text: &str, id: &str) -> String {
    let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let own = paths.rfind(|path| path.contains(id));
    own.unwrap_or("none of its own").replace(id, "ID")
}

/// The facts of one container.
fn facts(
    daemon: Daemon,
    said: &ContainerInspectResponse,
    seen: &Seen,
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
    let runtime = match daemon {
        Daemon::Docker => said
            .host_config
            .as_ref()
            .and_then(|config| config.runtime.clone()),
        // The API has the same word for all runtimes; the monitor is told which one to call.
        Daemon::Podman => runtime_of(&seen.arguments),
    };
    let facts = [
        ("engine.storage", storage),
        (
            "engine.runtime",
            runtime.unwrap_or_else(|| "unknown".to_owned()),
        ),
        ("engine.monitor", seen.parent.clone()),
        ("engine.cgroup", seen.cgroup.clone()),
    ];
    Ok(facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

fn contradiction(what: &str, said: &str, seen: &str) -> EngineError {
    EngineError::new(format!(
        "the {what} should be '{said}', but the kernel shows '{seen}'"
    ))
    .hint("another program may answer on the daemon's socket; see `stowplan doctor`")
}

/// The runtime that conmon was started with: `--runtime` or `-r`, conmon(8).
fn runtime_of(arguments: &[String]) -> Option<String> {
    let at = arguments
        .iter()
        .position(|argument| argument == "-r" || argument == "--runtime")?;
    let path = arguments.get(at + 1)?;
    path.rsplit('/').next().map(str::to_owned)
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

    fn shown(parent: &str, root: &str) -> Seen {
        let arguments = ["conmon", "--api-version", "1", "-r", "/usr/bin/crun"];
        Seen {
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
        );
        let docker = docker.unwrap();
        assert_eq!(docker["engine.runtime"], "runc");
        assert_eq!(docker["engine.storage"], "overlay2");
        let podman = facts(Daemon::Podman, &said("vfs"), &shown("conmon", "ext4")).unwrap();
        assert_eq!(podman["engine.runtime"], "crun");
    }

    #[test]
    fn a_label_that_the_kernel_contradicts_is_an_error() {
        let wrong = [
            facts(
                Daemon::Docker,
                &said("overlay2"),
                &shown("conmon", "overlay"),
            ),
            facts(
                Daemon::Docker,
                &said("overlay2"),
                &shown("containerd-shim", "ext4"),
            ),
            facts(
                Daemon::Docker,
                &said("vfs"),
                &shown("containerd-shim", "overlay"),
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

    #[test]
    fn root_and_cgroup_are_found_in_the_kernels_tables() {
        let table = "21 1 0:20 / / rw - ext4 /dev/vda rw\n30 21 0:30 / / rw - overlay o rw\n\
                     31 30 0:5 / /proc rw - proc proc rw\n";
        assert_eq!(root_kind(table).as_deref(), Some("overlay"));
        let groups = "4:memory:/docker/abc\n0::/\n";
        assert_eq!(cgroup(groups, "abc"), "/docker/ID");
        assert_eq!(cgroup("0::/\n", "abc"), "none of its own");
    }
}
