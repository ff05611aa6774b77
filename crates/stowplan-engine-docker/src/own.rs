//! What the engine itself uses while services run: its daemons, and what watches over each container.

use std::fs;
use std::path::Path;

use stowplan_engine_daemon::{peer, watchers};
use stowplan_host::process;

use crate::Daemon;
use crate::client::Client;

/// Where a containerd listens that Docker has not started itself.
const CONTAINERD: &str = "/run/containerd/containerd.sock";

/// The daemon, its containerd, what watches over the containers with these first processes, and the container that stands
/// for the network.
pub(crate) fn processes(client: &Client, first: &[u32], holder: Option<u32>) -> Vec<u32> {
    let daemon = client.daemon_pid();
    let watching = watchers(first.iter().chain(&holder));
    let containerd = match client.daemon() {
        Daemon::Docker => containerd(daemon),
        Daemon::Podman => None,
    };
    let daemons = daemon.into_iter().chain(containerd);
    daemons.chain(watching).chain(holder).collect()
}

/// The containerd that dockerd has started, else the one of the machine.
fn containerd(dockerd: Option<u32>) -> Option<u32> {
    let own = dockerd.into_iter().flat_map(process::tree_of).find(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name.trim() == "containerd")
    });
    own.or_else(|| peer(Path::new(CONTAINERD)))
}
