//! Containers of `runc`, with the configuration that our own engine uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stowplan_engine_oci::runtime_config;
use stowplan_wire::deployment::{DeploymentPlan, EngineRequest};

use super::error::PeersError;
use super::process::{Running, run};
use super::ways::Prepared;

/// Longest time for `runc` to remove a container.
const PATIENCE: Duration = Duration::from_secs(30);

/// `runc` and where it works.
pub struct Runc {
    program: PathBuf,
    /// Folder of bundles and of its state.
    folder: PathBuf,
}

/// A folder with a configuration.
struct Bundle {
    id: String,
    folder: PathBuf,
}

/// Bundles, and the containers of them that run.
pub struct Containers<'a> {
    runc: &'a Runc,
    bundles: Vec<Bundle>,
    running: Vec<(String, Running)>,
}

impl Runc {
    /// `peers` is the folder for peers' files.
    pub fn new(program: PathBuf, peers: &Path) -> Self {
        Self {
            program,
            folder: peers.join("runc"),
        }
    }

    /// Writes a bundle for every service of `plan`, all with the same root file system.
    pub fn prepare(
        &self,
        plan: &DeploymentPlan,
        rootfs: &Path,
    ) -> Result<Containers<'_>, PeersError> {
        let names = plan.services.iter().map(|service| service.name.as_str());
        Ok(Containers {
            runc: self,
            bundles: names
                .map(|name| self.bundle(plan, name, rootfs))
                .collect::<Result<_, _>>()?,
            running: Vec::new(),
        })
    }

    fn bundle(
        &self,
        plan: &DeploymentPlan,
        name: &str,
        rootfs: &Path,
    ) -> Result<Bundle, PeersError> {
        let text = runtime_config(plan, name, rootfs).ok_or_else(|| {
            PeersError::output(format!("no runtime configuration for service {name}"), "")
        })?;
        let folder = self.folder.join("bundles").join(name);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("config.json"), without_nulls(&text)?))
            .map_err(PeersError::io(format!(
                "write the bundle {}",
                folder.display()
            )))?;
        Ok(Bundle {
            id: format!("{}-{name}", plan.run),
            folder,
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(self.folder.join("state"));
        command
    }
}

impl Prepared for Containers<'_> {
    /// Runs all of them at once.
    fn start(&mut self) -> Result<(), PeersError> {
        for bundle in &self.bundles {
            let mut command = self.runc.command();
            command
                .arg("run")
                .arg("--bundle")
                .arg(&bundle.folder)
                .arg(&bundle.id);
            let running = Running::start(&mut command)?;
            self.running.push((bundle.id.clone(), running));
        }
        Ok(())
    }

    fn requests(&self) -> Result<Vec<EngineRequest>, PeersError> {
        Ok(Vec::new())
    }

    fn remove(&mut self) -> Result<(), PeersError> {
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
        let _ = self.remove();
    }
}

/// The same configuration with what is null left out: `runc` does not take it for absent everywhere.
fn without_nulls(text: &str) -> std::io::Result<String> {
    let mut config: Value = serde_json::from_str(text)?;
    remove_nulls(&mut config);
    Ok(config.to_string())
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
    fn nulls_are_left_out_at_every_depth() {
        let text = r#"{"a":null,"b":[{"c":null,"d":1}]}"#;
        assert_eq!(without_nulls(text).unwrap(), r#"{"b":[{"d":1}]}"#);
    }
}
