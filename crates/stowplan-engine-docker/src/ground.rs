//! What the containers of a run stand on: the network that all deployments of an experiment share, and the settings
//! that this daemon can give here, found out with a container that does nothing.
//!
//! Docker has no way to name a network namespace. A container can join that of another container, though, which for
//! the daemon is `/proc/PID/ns/net` of that one's first process (moby, `daemon/oci_linux.go`, `WithNamespaces`). So one
//! container enters the network namespace of the agent, which it is given as a file, and does nothing more; all others
//! join it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits,
};
use bollard::query_parameters::StartContainerOptions;
use rustix::process::geteuid;
use stowplan_engine::{EngineError, WITH_HOST_NETWORK};
use stowplan_engine_daemon::{Conversion, Images, container_entry, labels, of_ground};
use stowplan_host::cgroup::{Layout, Tree};
use stowplan_host::{Host, network};
use stowplan_image::Contents;

use crate::client::Client;
use crate::images::Store;
use crate::{Daemon, fleet, logs, runtime};

/// The mode of containers in the network of their daemon, and in its IPC namespace.
pub(crate) const HOST: &str = "host";
/// Where the network is in the container that stands for it.
const NETWORK: &str = "/network";
/// Longest wait until that container is in the network.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the containers of a run get.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ground {
    /// `host`, or the container that stands for the network.
    pub(crate) network_mode: String,
    /// Limits to set, where the daemon's own cannot be had.
    pub(crate) ulimits: Option<Vec<ResourcesUlimits>>,
    /// Where output goes, where the daemon's own way leaves no file.
    pub(crate) log_config: Option<HostConfigLogConfig>,
    /// First process of the container that stands for the network, where there is one.
    pub(crate) holder_pid: Option<u32>,
    /// The static agent program.
    pub(crate) agent: PathBuf,
    /// The control group of all containers, where the daemon's own has no real-time budget for them.
    pub(crate) cgroup_parent: Option<String>,
    /// What the runtime makes of shares.
    pub(crate) conversion: Conversion,
    /// Settings that are another way than the daemon's defaults, because those cannot be had.
    pub(crate) deviations: Vec<String>,
}

impl Ground {
    /// What is another way than the daemon's defaults, the network among it, which each container has for itself or not.
    pub(crate) fn deviations(&self, own_networks: bool) -> BTreeSet<String> {
        let network = if own_networks {
            Some(
                "network: none, so that each container has a network of its own with nothing but a loopback",
            )
        } else if self.network_mode == HOST {
            None
        } else {
            Some(
                "network: containers join the run's network namespace through one that stands for it, in place of the \
                 daemon's host network",
            )
        };
        let network = network.map(str::to_owned);
        self.deviations.iter().cloned().chain(network).collect()
    }
}

/// Who has the network of the run.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// The static program that does nothing when it is told to hold.
    pub(crate) program: PathBuf,
    /// The process in whose network the services are to be.
    pub(crate) of_process: u32,
}

impl Holder {
    fn contents(&self) -> Contents {
        Contents::Program {
            from: self.program.clone(),
            name: "stowplan-agent".to_owned(),
        }
    }

    /// Whether the daemon's own network is another one.
    pub(crate) fn is_apart(&self, client: &Client) -> bool {
        let wanted = network::of_process(self.of_process);
        let has = client.daemon_pid().and_then(network::of_process);
        has.is_some() && wanted != has
    }
}

/// Tries the container that does nothing, with the daemon's defaults and then with the nearest that can be had. It
/// stays where services have to join its network.
pub(crate) fn lay(
    client: &Client,
    images: &mut Images<Store>,
    holder: &Holder,
    run: &str,
    host: &dyn Host,
) -> Result<Ground, EngineError> {
    let rootless = client.rootless_user();
    may_see_runs(client.daemon(), rootless, geteuid().as_raw())?;
    let image = images.load(client, &holder.contents())?;
    let name = of_ground(run);
    let apart = holder.is_apart(client);
    let layout = Tree::detect()?.layout;
    let mut ground = Ground {
        network_mode: HOST.to_owned(),
        agent: holder.program.clone(),
        deviations: without_groups(rootless, layout).into_iter().collect(),
        ..Ground::default()
    };
    let entry = container_entry(client.daemon().name(), &name);
    host.enter(&entry)?;
    loop {
        match attempt(client, holder, &ground, &image, &name, run, apart) {
            Ok((pid, id)) => {
                ground.holder_pid = apart.then_some(pid);
                ground.conversion =
                    Conversion::of(layout, || runtime::of(client.daemon(), pid, &id));
                break;
            }
            Err(error) => {
                fleet::remove(client, &name)?;
                if !is_about_rlimits(&error) || ground.ulimits.is_some() {
                    host.gone(&entry);
                    return Err(error);
                }
                set_ulimits(client, &mut ground);
            }
        }
    }
    set_log(client, &name, &mut ground);
    if apart {
        ground.network_mode = format!("container:{name}");
    } else {
        fleet::remove(client, &name)?;
        host.gone(&entry);
    }
    Ok(ground)
}

/// A daemon of another user's sees nothing of the folder of a run.
fn may_see_runs(daemon: Daemon, rootless: Option<u32>, own: u32) -> Result<(), EngineError> {
    match rootless {
        Some(user) if user != own => Err(EngineError::new(format!(
            "{} is that of user {user}, who may not see what user {own} runs",
            daemon.name()
        ))
        .hint("run stowplan as that user, or choose root's daemon")),
        _ => Ok(()),
    }
}

/// Control groups of version 1 are root's, so that a rootless daemon gives its containers none.
fn without_groups(rootless: Option<u32>, layout: Layout) -> Option<String> {
    (rootless.is_some() && layout != Layout::V2).then(|| {
        "control groups: none, because the daemon is rootless and those of version 1 are root's: limits do not act, and \
         CPU time and memory of services are not known"
            .to_owned()
    })
}

/// Makes the container and waits until it is in the network of the run. Gives the pid of its first process and its id.
fn attempt(
    client: &Client,
    holder: &Holder,
    ground: &Ground,
    image: &str,
    name: &str,
    run: &str,
    apart: bool,
) -> Result<(u32, String), EngineError> {
    let mut command = vec!["/stowplan-agent".to_owned(), "hold".to_owned()];
    let mut mounts = Vec::new();
    if apart {
        command.push(NETWORK.to_owned());
        mounts.push(Mount {
            target: Some(NETWORK.to_owned()),
            source: Some(format!("/proc/{}/ns/net", holder.of_process)),
            typ: Some(MountType::BIND),
            ..Mount::default()
        });
    }
    let body = ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(command),
        labels: Some(labels(run, None)),
        host_config: Some(HostConfig {
            network_mode: Some(HOST.to_owned()),
            cap_add: apart.then(|| vec!["SYS_ADMIN".to_owned()]),
            mounts: Some(mounts),
            ulimits: ground.ulimits.clone(),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    fleet::make(client, name, body)?;
    let started = client.wait(
        client
            .api()
            .start_container(name, None::<StartContainerOptions>),
    );
    started.map_err(|error| client.error("start a container", error))?;
    let wanted = network::of_process(holder.of_process);
    let begin = Instant::now();
    loop {
        let found = client
            .wait(client.inspect(name))
            .map_err(|error| client.error("tell of a container", error))?;
        let pid = found.state.and_then(|state| state.pid).unwrap_or_default();
        let pid = u32::try_from(pid).unwrap_or_default();
        let has = network::of_process(pid);
        if pid > 0 && has.is_some() && has == wanted {
            return Ok((pid, found.id.unwrap_or_default()));
        }
        if pid == 0 || begin.elapsed() > PATIENCE {
            let said = logs::tail(client, name, 4096).unwrap_or_default();
            return Err(EngineError::new(format!(
                "a container of {} does not get into the network of the run: {}",
                client.daemon().name(),
                said.trim()
            ))
            .hint(WITH_HOST_NETWORK));
        }
        // The kernel tells nobody when a process changes its namespace: ask again.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A daemon whose limits are above those that this machine gives cannot start anything.
fn is_about_rlimits(error: &EngineError) -> bool {
    let text = stowplan_host::chain(error).to_lowercase();
    text.contains("rlimit")
}

/// The nearest limits that can be had: nobody without CAP_SYS_RESOURCE goes above those of this process and of the
/// daemon, whichever has less.
fn set_ulimits(client: &Client, ground: &mut Ground) {
    let own = hard_limits("self");
    let daemon = client
        .daemon_pid()
        .map(|pid| hard_limits(&pid.to_string()))
        .unwrap_or_default();
    let mut told = Vec::new();
    let mut ulimits = Vec::new();
    for (name, key) in [("nofile", "Max open files"), ("nproc", "Max processes")] {
        let known = [own.get(key), daemon.get(key)];
        // A limit that is not there is none.
        let limit = known.into_iter().flatten().min().copied().unwrap_or(-1);
        told.push(format!("{name}={limit}"));
        ulimits.push(ResourcesUlimits {
            name: Some(name.to_owned()),
            soft: Some(limit),
            hard: Some(limit),
        });
    }
    ground.ulimits = Some(ulimits);
    ground.deviations.push(format!(
        "ulimits: {}, because the daemon's defaults are more than this machine allows",
        told.join(" ")
    ));
}

/// The hard limits of a process by their names in /proc/PID/limits (proc_pid_limits(5)); those without a number have
/// none.
fn hard_limits(process: &str) -> BTreeMap<String, i64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    text.lines().filter_map(hard_limit).collect()
}

/// Name, soft limit, hard limit and unit stand in columns, and a name has spaces.
fn hard_limit(line: &str) -> Option<(String, i64)> {
    let name = line.get(..26)?.trim();
    let hard = line.get(26..)?.split_whitespace().nth(1)?;
    Some((name.to_owned(), hard.parse().ok()?))
}

/// A daemon that keeps output in another daemon's journal keeps it in a file for us.
fn set_log(client: &Client, name: &str, ground: &mut Ground) {
    let found = client.wait(client.inspect(name));
    let has_file = found.is_ok_and(|found| found.log_path.is_some_and(|path| !path.is_empty()));
    if has_file {
        return;
    }
    let driver = match client.daemon() {
        Daemon::Docker => "json-file",
        Daemon::Podman => "k8s-file",
    };
    ground.log_config = Some(HostConfigLogConfig {
        typ: Some(driver.to_owned()),
        config: None,
    });
    ground.deviations.push(format!(
        "log driver: {driver}, because the daemon's default keeps no file"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rootless_daemon_is_its_users_alone_and_has_no_groups_of_version_1() {
        assert!(may_see_runs(Daemon::Podman, None, 7).is_ok());
        assert!(may_see_runs(Daemon::Podman, Some(7), 7).is_ok());
        let error = may_see_runs(Daemon::Podman, Some(7), 0).unwrap_err();
        assert!(error.to_string().contains("user 7"), "{error}");
        assert!(error.hint.unwrap().contains("as that user"));
        assert_eq!(without_groups(None, Layout::V1), None);
        assert_eq!(without_groups(Some(7), Layout::V2), None);
        let told = without_groups(Some(7), Layout::Hybrid).unwrap();
        assert!(told.contains("limits do not act"), "{told}");
    }

    #[test]
    fn a_hard_limit_is_the_second_number_of_its_line() {
        let line = "Max open files            1024                 20000                files     ";
        assert_eq!(
            hard_limit(line),
            Some(("Max open files".to_owned(), 20_000))
        );
        let none = "Max cpu time              unlimited            unlimited            seconds   ";
        assert_eq!(hard_limit(none), None);
        assert!(hard_limits("self").contains_key("Max open files"));
    }
}
