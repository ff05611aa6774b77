//! The connection to a cluster one of whose nodes is this machine.

use std::time::Duration;

use http::Request;
use kube::config::KubeConfigOptions;
use kube::{Client, Config, Error};
use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_engine_daemon::Serving;

use crate::kubeconfig::{HINT, Source};
use crate::node::{Node, text};

/// Longest wait for the answer to a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for a connection.
const CONNECTING: Duration = Duration::from_secs(10);
/// The oldest version of Kubernetes, by its second number, whose API has all that is asked of it.
const OLDEST: u32 = 28;
/// What to do when the API server does not answer.
const START: &str = "start the cluster again ('systemctl start k3s', where it is k3s); 'stowplan clean' removes what is left";

/// A cluster.
pub(crate) struct Cluster {
    serving: Serving,
    client: Client,
    /// How it is called in errors: context and address.
    name: String,
    /// Its version, as it says it.
    pub(crate) version: String,
    /// The node that is this machine.
    pub(crate) node: Node,
}

impl Cluster {
    /// Connects, and finds the node that is this machine.
    pub(crate) fn connect(source: &Source) -> Result<Self, EngineError> {
        let kubeconfig = source.read()?;
        let context = kubeconfig.current_context.clone().unwrap_or_default();
        let serving = Serving::new()?;
        let unusable = || {
            EngineError::new(format!(
                "the context '{context}' of {} cannot be used",
                source.told()
            ))
        };
        let config = serving.wait(Config::from_custom_kubeconfig(
            kubeconfig,
            &KubeConfigOptions::default(),
        ));
        let mut config = config.map_err(|e| unusable().because(e).hint(HINT))?;
        config.connect_timeout = Some(CONNECTING);
        let name = format!("Kubernetes '{context}' at {}", config.cluster_url);
        // It spawns what serves it.
        let client = serving.wait(async { Client::try_from(config) });
        let client = client.map_err(|e| unusable().because(e).hint(HINT))?;
        let mut cluster = Self {
            serving,
            client,
            name,
            version: String::new(),
            node: Node::default(),
        };
        let version = cluster.ask("tell its version", "/version")?;
        cluster.version = text(&version["gitVersion"]);
        require(&cluster.name, &cluster.version)?;
        let nodes = cluster.ask("tell its nodes", "/api/v1/nodes")?;
        cluster.node = Node::of_this_machine(&cluster.name, &nodes)?;
        // Not everybody may ask a kubelet, and then the defaults hold.
        let path = format!("/api/v1/nodes/{}/proxy/configz", cluster.node.name);
        let told = cluster.wait(cluster.get(&path));
        cluster.node.configured(told.ok().as_ref());
        Ok(cluster)
    }

    pub(crate) const fn serving(&self) -> &Serving {
        &self.serving
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// How it is called in errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.serving.wait(future)
    }

    fn ask(&self, what: &str, path: &str) -> Result<Value, EngineError> {
        self.wait(self.get(path)).map_err(|e| self.error(what, e))
    }

    /// What is at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.send(Request::get(path), Vec::new()).await
    }

    /// Makes something of `collection`, where the server finds nothing odd in it. With `dry` it only says what it would make.
    pub(crate) async fn create(
        &self,
        collection: &str,
        object: &Value,
        dry: bool,
    ) -> Result<Value, Error> {
        let dry = if dry { "&dryRun=All" } else { "" };
        let path = format!("{collection}?fieldManager=stowplan&fieldValidation=Strict{dry}");
        self.send(Request::post(path), object.to_string().into_bytes())
            .await
    }

    /// Has something end within `grace_s` seconds; 0 removes it at once, whatever still runs.
    pub(crate) async fn delete(&self, path: &str, grace_s: u64) -> Result<Value, Error> {
        let options = serde_json::json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": grace_s,
        });
        self.send(Request::delete(path), options.to_string().into_bytes())
            .await
    }

    async fn send(&self, request: http::request::Builder, body: Vec<u8>) -> Result<Value, Error> {
        let request = request
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(Error::HttpError)?;
        let answer = self.client.request::<Value>(request);
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer,
            Err(late) => Err(Error::Service(Box::new(late))),
        }
    }

    /// The error of a request.
    pub(crate) fn error(&self, what: impl std::fmt::Display, error: Error) -> EngineError {
        let name = &self.name;
        match error {
            Error::Api(said) => {
                let error = EngineError::new(format!("{name} cannot {what}: {}", said.message));
                match said.code {
                    401 => error.hint("its token may have expired: get a new kubeconfig"),
                    403 if !said.message.contains("quota") => {
                        error.hint("use a kubeconfig of somebody who may do this")
                    }
                    _ => error,
                }
            }
            error => EngineError::new(format!("{name} does not {what}"))
                .because(error)
                .hint(START),
        }
    }

    /// The error of a watch that has ended.
    pub(crate) fn lost(&self, why: &str) -> EngineError {
        EngineError::new(format!(
            "{} has stopped telling what happens to pods: {why}",
            self.name
        ))
        .hint(START)
    }
}

/// Whether the answer is that there is none.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::Api(said) if said.code == 404)
}

/// Whether the answer is that there is one of that name, or that it is going.
pub(crate) fn is_there(error: &Error) -> bool {
    matches!(error, Error::Api(said) if said.code == 409)
}

fn require(name: &str, version: &str) -> Result<(), EngineError> {
    let minor = minor(version);
    if minor.is_some_and(|minor| minor < OLDEST) {
        return Err(EngineError::new(format!(
            "{name} has version {version}, which is older than 1.{OLDEST}"
        ))
        .hint("update it"));
    }
    Ok(())
}

/// The second number of a version.
fn minor(version: &str) -> Option<u32> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let minor = numbers.nth(1)?;
    let end = minor.find(|c: char| !c.is_ascii_digit());
    minor[..end.unwrap_or(minor.len())].parse().ok()
}

/// What a version is called in results: the distribution, where the version names one, and its first two numbers.
pub(crate) fn label(version: &str) -> String {
    let (plain, of) = version.split_once('+').unwrap_or((version, ""));
    let numbers: Vec<&str> = plain.trim_start_matches('v').splitn(3, '.').collect();
    let short = numbers[..numbers.len().min(2)].join(".");
    match of.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => format!("kubernetes {short}"),
        "k3s" => format!("k3s {short}"),
        other => format!("kubernetes {short} ({other})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_its_distribution() {
        assert_eq!(label("v1.34.4+lab"), "kubernetes 1.34 (lab)");
        assert_eq!(label("v1.34.1+k3s1"), "k3s 1.34");
        assert_eq!(label("v1.28.0"), "kubernetes 1.28");
        assert_eq!(label("v1.31.2+rke2r1"), "kubernetes 1.31 (rke2r)");
    }

    #[test]
    fn an_old_version_is_refused() {
        assert_eq!(minor("v1.28.0-rc.1"), Some(28));
        assert!(require("x", "v1.34.4+lab").is_ok());
        let error = require("Kubernetes 'a'", "v1.27.9").unwrap_err();
        assert!(error.to_string().ends_with("older than 1.28"), "{error}");
        // One that cannot be read is tried.
        assert!(require("x", "").is_ok());
    }
}
