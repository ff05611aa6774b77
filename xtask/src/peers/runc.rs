//! Containers of `runc`, with the configuration that our own engine uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::error::PeersError;
use super::process::{Running, run};

/// Longest time for `runc` to remove a container.
const PATIENCE: Duration = Duration::from_secs(30);

/// `runc` and where it works.
pub struct Runc {
    program: PathBuf,
    /// Folder of bundles and of its state.
    folder: PathBuf,
    rootfs: PathBuf,
    configuration: String,
}

/// A folder with a configuration.
pub struct Bundle {
    id: String,
    folder: PathBuf,
}

/// Containers that run.
pub struct Containers<'a> {
    runc: &'a Runc,
    running: Vec<(String, Running)>,
}

impl Runc {
    /// `configuration` is one service's `config.json` of our own engine; `peers` is the folder for peers' files.
    pub fn new(program: PathBuf, peers: &Path, configuration: String) -> Self {
        Self {
            program,
            folder: peers.join("runc"),
            rootfs: peers.join("rootfs"),
            configuration,
        }
    }

    /// Writes a bundle for every service, all with the same root file system.
    pub fn bundles(&self, services: &[String], run_dir: &str) -> Result<Vec<Bundle>, PeersError> {
        services
            .iter()
            .map(|service| {
                let text = configuration(&self.configuration, &self.rootfs, run_dir, service)?;
                let folder = self.folder.join("bundles").join(service);
                fs::create_dir_all(&folder)
                    .and_then(|()| fs::write(folder.join("config.json"), text))
                    .map_err(PeersError::io(format!("write the bundle {}", folder.display())))?;
                Ok(Bundle {
                    id: format!("stowplan-peers-{}-{service}", std::process::id()),
                    folder,
                })
            })
            .collect()
    }

    /// Runs all of them at once.
    pub fn start(&self, bundles: &[Bundle]) -> Result<Containers<'_>, PeersError> {
        let mut containers = Containers {
            runc: self,
            running: Vec::with_capacity(bundles.len()),
        };
        for bundle in bundles {
            let mut command = self.command();
            command.arg("run").arg("--bundle").arg(&bundle.folder).arg(&bundle.id);
            containers.running.push((bundle.id.clone(), Running::start(&mut command)?));
        }
        Ok(containers)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(self.folder.join("state"));
        command
    }
}

impl Containers<'_> {
    /// Kills and removes them.
    pub fn remove(mut self) -> Result<(), PeersError> {
        self.delete()
    }

    fn delete(&mut self) -> Result<(), PeersError> {
        let mut result = Ok(());
        for (id, running) in self.running.drain(..) {
            let mut command = self.runc.command();
            command.args(["delete", "--force"]).arg(id);
            result = result.and(run(&mut command, PATIENCE).map(drop));
            result = result.and(running.end().map(drop));
        }
        result
    }
}

impl Drop for Containers<'_> {
    fn drop(&mut self) {
        // What is left here is left after an error that is told already.
        let _ = self.delete();
    }
}

/// The configuration of `text`'s service made one for `service`: another root, another folder in the run folder.
fn configuration(
    text: &str,
    rootfs: &Path,
    run_dir: &str,
    service: &str,
) -> Result<String, PeersError> {
    let bad = |what: &str| PeersError::output(format!("our runtime configuration {what}"), text);
    let mut config: Value =
        serde_json::from_str(text).map_err(|error| bad(&format!("is not JSON: {error}")))?;
    config["root"]["path"] = json!(rootfs);
    if config["hostname"].is_string() {
        config["hostname"] = json!(service);
    }
    let folder = format!("{run_dir}/{service}");
    let mounts = config["mounts"].as_array_mut().ok_or_else(|| bad("has no mounts"))?;
    let shared = mounts
        .iter_mut()
        .find(|mount| is_in_run_folder(&mount["destination"]))
        .ok_or_else(|| bad("mounts no run folder"))?;
    shared["source"] = json!(folder);
    shared["destination"] = json!(folder);
    let arguments = config["process"]["args"].as_array_mut().ok_or_else(|| bad("has no arguments"))?;
    let plan = arguments
        .iter_mut()
        .find(|argument| argument.as_str().is_some_and(|path| path.ends_with("/plan.json")))
        .ok_or_else(|| bad("names no plan"))?;
    *plan = json!(format!("{folder}/plan.json"));
    // Null is not what runc takes for absent everywhere.
    remove_nulls(&mut config);
    Ok(config.to_string())
}

fn is_in_run_folder(path: &Value) -> bool {
    path.as_str().is_some_and(|path| path.starts_with("/dev/shm/stowplan-"))
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_moved_to_another_service() {
        let ours = json!({
            "root": {"path": "/dev/shm/stowplan-r/s0/.oci/root"},
            "hostname": "s0",
            "process": {"args": ["/stowplan-node", "launch", "/dev/shm/stowplan-r/s0/plan.json"]},
            "mounts": [
                {"destination": "/proc", "source": "proc"},
                {"destination": "/dev/shm/stowplan-r/s0", "source": "/dev/shm/stowplan-r/s0"},
            ],
            "linux": {"seccomp": null},
        });
        let text = configuration(&ours.to_string(), Path::new("/rootfs"), "/dev/shm/stowplan-q", "s7").unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "root": {"path": "/rootfs"},
            "hostname": "s7",
            "process": {"args": ["/stowplan-node", "launch", "/dev/shm/stowplan-q/s7/plan.json"]},
            "mounts": [
                {"destination": "/proc", "source": "proc"},
                {"destination": "/dev/shm/stowplan-q/s7", "source": "/dev/shm/stowplan-q/s7"},
            ],
            "linux": {},
        });
        assert_eq!(config, expected);
    }

    #[test]
    fn a_configuration_without_run_folder_is_refused() {
        let error = configuration("{\"mounts\": []}", Path::new("/r"), "/d", "s").unwrap_err();
        assert!(error.to_string().contains("mounts no run folder"));
    }
}
