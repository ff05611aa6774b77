//! A containerd as its user would look at it, with `ctr`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Labelled, NOT_OURS, RUN, SERVICE, User};

/// A containerd.
#[derive(Debug, Clone)]
pub struct Containerd {
    socket: PathBuf,
}

impl Containerd {
    /// The one on this socket.
    #[must_use]
    pub fn at(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
        }
    }

    /// The one that `$CONTAINER_RUNTIME_ENDPOINT` names, or that of the machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let set = std::env::var("CONTAINER_RUNTIME_ENDPOINT").unwrap_or_default();
        let socket = match set.trim_start_matches("unix://") {
            "" => "/run/containerd/containerd.sock",
            path => path,
        };
        Self::at(Path::new(socket))
    }

    /// What `ctr` says in the CRI's namespace.
    fn ctr(&self, arguments: &[&str]) -> String {
        let said = self.ask(arguments);
        said.unwrap_or_else(|complaint| panic!("ctr {arguments:?}: {complaint}"))
    }

    /// What it says, or complains of.
    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("ctr");
        command.arg("--address").arg(&self.socket);
        let ended = command.args(["--namespace", "k8s.io"]).args(arguments);
        let ended = ended.output().expect("ctr can be run");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        if ended.status.success() {
            Ok(text(ended.stdout))
        } else {
            Err(text(ended.stderr))
        }
    }
}

impl User for Containerd {
    /// Pods by their containers; the pause process of a pod is none.
    fn labelled(&self) -> Vec<Labelled> {
        let ids = self.ctr(&["containers", "ls", "-q", &format!("labels.\"{RUN}\"")]);
        let labelled = ids.lines().filter_map(|id| {
            // It may have gone since it was listed.
            let told = self.ask(&["containers", "info", id]);
            let told = told.map_err(|complaint| assert!(complaint.contains("not found")));
            let told = told.ok()?;
            let told: Value = serde_json::from_str(&told).expect("JSON");
            let label = |key: &str| told["Labels"][key].as_str().map(str::to_owned);
            (label("io.cri-containerd.kind").as_deref() != Some("sandbox")).then(|| Labelled {
                name: label("io.kubernetes.pod.name").unwrap_or_else(|| id.to_owned()),
                run: label(RUN).expect("it was asked for"),
                service: label(SERVICE),
            })
        });
        labelled.collect()
    }

    fn images(&self) -> Vec<String> {
        let names = self.ctr(&["images", "ls", "-q"]);
        names.lines().map(str::to_owned).collect()
    }

    /// Under all its names.
    fn remove_image(&self, tag: &str) {
        let table = self.ctr(&["images", "ls"]);
        let rows = || {
            let rows = table.lines().map(|line| line.split_whitespace());
            rows.map(|mut words| (words.next(), words.nth(1)))
        };
        let Some((_, digest)) = rows().find(|(found, _)| *found == Some(tag)) else {
            return;
        };
        for (found, same) in rows() {
            if let Some(found) = found.filter(|_| same == digest) {
                let _ = self.ctr(&["images", "rm", "--sync", found]);
            }
        }
    }

    fn make(&self, name: &str) {
        let label = format!("{RUN}={NOT_OURS}");
        let create = ["containers", "create", "--rootfs", "--label", &label];
        self.ctr(&[&create[..], &["/", name, "/none"]].concat());
    }

    fn has(&self, name: &str) -> bool {
        self.ctr(&["containers", "ls", "-q"])
            .lines()
            .any(|id| id == name)
    }

    fn remove(&self, name: &str) {
        self.ctr(&["containers", "rm", name]);
    }

    /// Those of pods are the CRI's, which `ctr` does not speak.
    fn takes_names(&self) -> bool {
        false
    }
}
