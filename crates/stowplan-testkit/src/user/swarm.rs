//! A swarm of Docker's, as its user would look at it.

use std::path::PathBuf;

use serde_json::{Value, json};
use stowplan_host::ledger::Object;

use super::docker::DockerApi;
use super::{Labelled, NOT_OURS, RUN, SERVICE, User, ask};

/// Address of a swarm of a test's own: the machine's daemon may have one on the usual one.
const ADDRESS: &str = "127.0.0.2";
/// Port of the networks that a swarm makes, likewise.
const DATA_PORT: u16 = 4_790;
/// Name of the network that every swarm has on its node, and what its bridge is called here.
const GATEWAY: [&str; 2] = ["docker_gwbridge", "stowplan-gw"];
/// Addresses of that network.
const SUBNET: &str = "10.197.53.0/24";

/// The swarm of a daemon of Docker.
#[derive(Debug, Clone)]
pub struct Swarm {
    docker: DockerApi,
    socket: PathBuf,
}

impl Swarm {
    /// That of the daemon on this unix socket.
    #[must_use]
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        let socket = socket.into();
        Self {
            docker: DockerApi::at(&socket),
            socket,
        }
    }

    /// Whether the daemon answers and manages a swarm; where it answers and is in none, one is made.
    pub(crate) fn is_there(&self) -> bool {
        let state = || {
            let (status, info) = ask(&self.socket, "GET", "/v1.41/info", b"").ok()?;
            let state = info["Swarm"]["LocalNodeState"].as_str().map(str::to_owned);
            state.filter(|_| status == 200)
        };
        match state().as_deref() {
            Some("inactive") => {
                let [name, bridge] = GATEWAY;
                let gateway = json!({
                    "Name": name,
                    "Driver": "bridge",
                    "IPAM": {"Config": [{"Subnet": SUBNET}]},
                    "Options": {"com.docker.network.bridge.name": bridge},
                });
                // A swarm that was left leaves it.
                let (status, said) = self.call("POST", "/networks/create", &gateway);
                assert!(matches!(status, 201 | 409), "{said}");
                let init = json!({
                    "ListenAddr": format!("{ADDRESS}:2377"),
                    "AdvertiseAddr": ADDRESS,
                    "DataPathPort": DATA_PORT,
                });
                let (status, said) = self.call("POST", "/swarm/init", &init);
                assert_eq!(status, 200, "{said}");
                false
            }
            // Before it has a leader it knows no nodes.
            Some("active") => {
                let (_, nodes) = self.call("GET", "/nodes", &Value::Null);
                nodes[0]["Status"]["State"] == "ready"
            }
            _ => false,
        }
    }

    /// Leaves the swarm and removes the bridge of it, where the daemon answers.
    pub(crate) fn leave(&self) {
        let [gateway, _] = GATEWAY;
        for (method, path) in [
            ("POST", "/v1.41/swarm/leave?force=true".to_owned()),
            ("DELETE", format!("/v1.41/networks/{gateway}")),
        ] {
            // Where a test has killed the daemon, there is nobody to ask.
            let _ = ask(&self.socket, method, &path, b"");
        }
    }

    /// The bridge that a daemon which did not answer has left.
    pub(crate) fn bridge() -> Object {
        let [_, bridge] = GATEWAY;
        Object::Link {
            name: bridge.to_owned(),
        }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let path = format!("/v1.41{path}");
        ask(&self.socket, method, &path, body.as_bytes()).expect("the daemon answers")
    }
}

impl User for Swarm {
    /// Its services, and containers that are of none of them.
    fn labelled(&self) -> Vec<Labelled> {
        let filter = format!("%7B%22label%22%3A%5B%22{RUN}%22%5D%7D");
        let (_, list) = self.call("GET", &format!("/services?filters={filter}"), &Value::Null);
        let services = list.as_array().expect("a list").iter().map(|one| {
            let label = |key: &str| one["Spec"]["Labels"][key].as_str().map(str::to_owned);
            Labelled {
                name: one["Spec"]["Name"].as_str().expect("a name").to_owned(),
                run: label(RUN).expect("it was asked for"),
                service: label(SERVICE),
            }
        });
        let services: Vec<Labelled> = services.collect();
        let mut containers = self.docker.labelled();
        // That of a task is called SERVICE.SLOT.TASK.
        containers.retain(|container| {
            let is_of = |service: &Labelled| {
                let rest = container.name.strip_prefix(&service.name);
                rest.is_some_and(|rest| rest.starts_with('.'))
            };
            !services.iter().any(is_of)
        });
        services.into_iter().chain(containers).collect()
    }

    fn images(&self) -> Vec<String> {
        self.docker.images()
    }

    fn remove_image(&self, tag: &str) {
        self.docker.remove_image(tag);
    }

    /// A service without a task.
    fn make(&self, name: &str) {
        let spec = json!({
            "Name": name,
            "Labels": {RUN: NOT_OURS},
            "TaskTemplate": {"ContainerSpec": {"Image": "localhost/users-own"}},
            "Mode": {"Replicated": {"Replicas": 0}},
        });
        let (status, said) = self.call("POST", "/services/create", &spec);
        assert_eq!(status, 201, "{said}");
    }

    fn has(&self, name: &str) -> bool {
        self.call("GET", &format!("/services/{name}"), &Value::Null)
            .0
            == 200
    }

    fn remove(&self, name: &str) {
        let (status, said) = self.call("DELETE", &format!("/services/{name}"), &Value::Null);
        assert_eq!(status, 200, "{said}");
    }
}
