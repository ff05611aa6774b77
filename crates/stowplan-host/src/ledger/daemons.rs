//! Where a run's daemons were.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// The variables by which clients of Docker, Podman, the CRI, Kubernetes, registries, LXD and Incus are told where to look.
const NAMES: [&str; 12] = [
    "CONTAINER_HOST",
    "CONTAINER_RUNTIME_ENDPOINT",
    "DOCKER_HOST",
    "HOME",
    "INCUS_DIR",
    "INCUS_SOCKET",
    "KUBECONFIG",
    "LXD_DIR",
    "LXD_SOCKET",
    "STOWPLAN_KUBECONFIG",
    "STOWPLAN_KUBE_REGISTRY",
    "XDG_RUNTIME_DIR",
];

/// Which of them were set, and to what: whoever cleans up after a dead run may have them set to something else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DaemonVariables(BTreeMap<String, String>);

impl DaemonVariables {
    /// Those of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
        Self(NAMES.iter().filter_map(|name| set(name)).collect())
    }

    /// The value of one; `None` where it was not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<OsString> {
        self.0.get(name).map(OsString::from)
    }
}
