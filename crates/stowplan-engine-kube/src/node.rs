//! The node that is this machine.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::cri::Endpoint;
use stowplan_host::process;

/// The resource that a device plugin counts GPUs by.
pub(crate) const GPU: &str = "nvidia.com/gpu";
/// The policy of a CPU manager that gives whole CPUs to single containers.
pub(crate) const STATIC: &str = "static";
/// Where a kubelet writes the logs of pods unless it is told otherwise.
const LOGS: &str = "/var/log/pods";
/// Sockets of the runtimes, for a kubelet that tells nothing: that of k3s, and those that packages have.
const SOCKETS: [&str; 3] = [
    "/run/k3s/containerd/containerd.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
];

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: String,
    /// Its runtime with its version, as `containerd://1.6.20`.
    pub(crate) runtime: String,
    /// Socket of the runtime.
    socket: PathBuf,
    /// Where the kubelet writes the logs of pods.
    pub(crate) logs: PathBuf,
    /// Who makes control groups; `None` where the kubelet does not tell.
    pub(crate) cgroup_driver: Option<String>,
    /// GPUs that pods may have.
    pub(crate) gpus: u64,
    /// Policy of the CPU manager; `None` where the kubelet does not tell.
    pub(crate) cpu_manager: Option<String>,
}

impl Node {
    /// The one of a cluster that runs this kernel, since it was started last.
    pub(crate) fn of_this_machine(cluster: &str, nodes: &Value) -> Result<Self, EngineError> {
        Self::with_boot_id(cluster, nodes, &process::boot_id())
    }

    fn with_boot_id(cluster: &str, nodes: &Value, boot_id: &str) -> Result<Self, EngineError> {
        let nodes = nodes["items"].as_array().map_or(&[][..], Vec::as_slice);
        let info = |node: &Value| node["status"]["nodeInfo"].clone();
        let own = nodes.iter().find(|node| {
            let of = text(&info(node)["bootID"]);
            !boot_id.is_empty() && of == boot_id.trim()
        });
        let Some(own) = own else {
            let names = nodes.iter().map(|node| text(&node["metadata"]["name"]));
            let names: Vec<String> = names.collect();
            return Err(EngineError::new(format!(
                "none of the nodes of {cluster} is this machine: {}",
                names.join(", ")
            ))
            .hint("set STOWPLAN_KUBECONFIG to the file of a cluster that has this machine as its node"));
        };
        let runtime = text(&info(own)["containerRuntimeVersion"]);
        let name = text(&own["metadata"]["name"]);
        if runtime.starts_with("docker:") {
            return Err(EngineError::new(format!(
                "node {name} of {cluster} has {runtime} as its runtime, whose store takes no image through the CRI"
            ))
            .hint("have the cluster use containerd: start k3s without --docker"));
        }
        let gpus = text(&own["status"]["allocatable"][GPU]);
        Ok(Self {
            name,
            runtime,
            gpus: gpus.parse().unwrap_or(0),
            ..Self::default()
        })
    }

    /// With what its kubelet tells of its configuration.
    pub(crate) fn configured(&mut self, configz: Option<&Value>) {
        let null = Value::Null;
        let told = configz.map_or(&null, |told| &told["kubeletconfig"]);
        let of = |key: &str| Some(text(&told[key])).filter(|text| !text.is_empty());
        self.cgroup_driver = of("cgroupDriver");
        self.cpu_manager = of("cpuManagerPolicy");
        self.logs = of("podLogsDir").map_or_else(|| LOGS.into(), PathBuf::from);
        let socket = of("containerRuntimeEndpoint").map(|at| {
            let path = at.strip_prefix("unix://").unwrap_or(&at);
            PathBuf::from(path)
        });
        let known = || {
            let mut all = SOCKETS.iter().map(Path::new);
            let found = all.find(|path| path.exists());
            found.unwrap_or(Path::new(SOCKETS[1])).to_owned()
        };
        self.socket = socket.unwrap_or_else(known);
    }

    /// Whether it gives whole CPUs to pods that ask for them.
    pub(crate) fn gives_cpus(&self) -> bool {
        self.cpu_manager.as_deref() == Some(STATIC)
    }

    /// Where its runtime listens.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::at(&self.socket)
    }
}

/// Text, or nothing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, boot: &str, runtime: &str) -> Value {
        json!({"metadata": {"name": name},
               "status": {"nodeInfo": {"bootID": boot, "containerRuntimeVersion": runtime}}})
    }

    #[test]
    fn the_node_is_the_one_that_runs_this_kernel() {
        let nodes = json!({"items": [node("far", "1", "containerd://2.0.0"), node("here", "2", "containerd://1.6.20")]});
        let found = Node::with_boot_id("c", &nodes, "2\n").unwrap();
        assert_eq!(
            (found.name.as_str(), found.runtime.as_str()),
            ("here", "containerd://1.6.20")
        );
        assert_eq!(found.gpus, 0);
        let error = Node::with_boot_id("Kubernetes 'prod'", &nodes, "3").unwrap_err();
        let expected = "none of the nodes of Kubernetes 'prod' is this machine: far, here";
        assert_eq!(error.to_string(), expected);
        assert!(error.hint.unwrap().contains("STOWPLAN_KUBECONFIG"));
        assert!(Node::with_boot_id("c", &json!({"items": [node("x", "", "")]}), "").is_err());
        assert!(Node::with_boot_id("c", &json!({}), "2").is_err());
    }

    #[test]
    fn a_node_has_the_gpus_that_it_may_give() {
        let mut own = node("here", "2", "containerd://1.6.20");
        own["status"]["capacity"] = json!({GPU: "4"});
        own["status"]["allocatable"] = json!({GPU: "3"});
        let found = Node::with_boot_id("c", &json!({"items": [own]}), "2").unwrap();
        assert_eq!(found.gpus, 3);
    }

    #[test]
    fn a_node_with_docker_is_refused() {
        let nodes = json!({"items": [node("here", "2", "docker://20.10.24")]});
        let error = Node::with_boot_id("c", &nodes, "2").unwrap_err();
        assert!(error.to_string().contains("docker://20.10.24"), "{error}");
    }

    #[test]
    fn a_kubelet_tells_where_its_things_are() {
        let mut node = Node::default();
        let told = json!({"kubeletconfig": {"cgroupDriver": "systemd", "cpuManagerPolicy": "static",
            "podLogsDir": "/logs", "containerRuntimeEndpoint": "unix:///x/c.sock"}});
        node.configured(Some(&told));
        assert_eq!(node.endpoint(), Endpoint::at(Path::new("/x/c.sock")));
        assert_eq!(node.logs, Path::new("/logs"));
        assert_eq!(node.cpu_manager.as_deref(), Some("static"));
        assert!(node.gives_cpus());
        node.configured(None);
        assert_eq!(node.logs, Path::new(LOGS));
        assert_eq!(node.cgroup_driver, None);
        assert!(!node.gives_cpus());
    }
}
