//! The Kubernetes of tests as its user would look at it, with `kubectl` and `ctr`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Containerd, Labelled, NOT_OURS, RUN, SERVICE, User};
use crate::lab_files;

/// Annotation with the name that a ledger has.
const NAME: &str = "stowplan.name";

/// Somebody with the Kubernetes that `tests/fixtures/kube-lab` starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kubernetes;

impl Kubernetes {
    /// What `kubectl` says to these arguments, given `input`.
    ///
    /// # Errors
    /// What it complains of.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new(lab_files::script());
        command.arg("kubectl").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a program");
        let mut pipe = child.stdin.take().expect("a pipe");
        // It may have ended already.
        let _ = pipe.write_all(input.as_bytes());
        drop(pipe);
        let ended = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        if ended.status.success() {
            Ok(text(ended.stdout))
        } else {
            Err(text(ended.stderr))
        }
    }

    /// What is in the field `path`, as `.spec.nodeName`, of `object`, as `pod/NAME`.
    ///
    /// # Panics
    /// When there is no such object.
    #[must_use]
    pub fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        let output = format!("jsonpath={{{path}}}");
        let get = ["get", object, "--namespace", namespace, "--output", &output];
        let said = self.kubectl(&get, "");
        said.unwrap_or_else(|complaint| panic!("{path} of {object}: {complaint}"))
    }

    fn list(&self, arguments: &[&str]) -> Vec<Value> {
        let get = ["get", "--output", "json", "--selector", RUN];
        let said = self.kubectl(&[&get, arguments].concat(), "");
        let said = said.unwrap_or_else(|complaint| panic!("kubectl {arguments:?}: {complaint}"));
        let list: Value = serde_json::from_str(&said).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    }

    fn containerd() -> Containerd {
        Containerd::at(&lab_files::folder().join("node1/cd.sock"))
    }
}

fn labelled(one: &Value) -> Labelled {
    let of = |name: &str| {
        let metadata = &one["metadata"];
        let word = metadata["annotations"][name].as_str();
        word.or(metadata["labels"][name].as_str())
            .map(str::to_owned)
    };
    let own = one["metadata"]["name"].as_str().expect("a name");
    Labelled {
        name: of(NAME).unwrap_or_else(|| own.to_owned()),
        run: of(RUN).expect("it was asked for"),
        service: of(SERVICE),
    }
}

impl User for Kubernetes {
    /// Pods, and namespaces that are not being removed.
    fn labelled(&self) -> Vec<Labelled> {
        let pods = self.list(&["pods", "--all-namespaces"]);
        let mut spaces = self.list(&["namespaces"]);
        spaces.retain(|space| space["status"]["phase"] == "Active");
        pods.iter().chain(&spaces).map(labelled).collect()
    }

    fn images(&self) -> Vec<String> {
        Self::containerd().images()
    }

    fn remove_image(&self, tag: &str) {
        Self::containerd().remove_image(tag);
    }

    /// A pod that is never placed.
    fn make(&self, name: &str) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {RUN: NOT_OURS}},
            "spec": {"schedulingGates": [{"name": "stowplan.test/never"}], "containers": [{"name": "own", "image": "none"}]}});
        let made = self.kubectl(&["create", "--filename", "-"], &pod.to_string());
        made.expect("a pod can be made");
    }

    fn has(&self, name: &str) -> bool {
        self.kubectl(&["get", "pod", name], "").is_ok()
    }

    fn remove(&self, name: &str) {
        let removed = self.kubectl(&["delete", "pod", name, "--wait"], "");
        removed.expect("it can be removed");
    }

    /// Those of pods are in the namespace of their run.
    fn takes_names(&self) -> bool {
        false
    }
}
