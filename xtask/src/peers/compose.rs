//! `docker-compose up -d` of services that are made as the engine `docker` makes them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use stowplan_engine::{Engine, EngineError, SharedNetwork};
use stowplan_engine_daemon::{arguments, container_entry, environment, labels, mounts, of_service};
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_host::Host;
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_image::Contents;
use stowplan_remote::AgentHost;
use stowplan_wire::deployment::{DeploymentPlan, EngineRequest, ServiceStart};

use super::build::installed;
use super::error::PeersError;
use super::process::run;
use super::ways::{Ground, Prepared, available};

/// Longest time of one command.
const PATIENCE: Duration = Duration::from_secs(300);

/// What says how many containers it makes at once; its own default is measured.
const PARALLELISM: &str = "COMPOSE_PARALLEL_LIMIT";

/// `docker-compose`, and the image of its services.
pub struct Compose {
    program: PathBuf,
    folder: PathBuf,
    tag: String,
    /// It keeps the image.
    _engine: DockerEngine,
}

impl Compose {
    /// Finds it and brings the image into Docker's store.
    pub fn open(ground: &Ground, host: &dyn Host) -> Result<Self, PeersError> {
        let program = installed("docker-compose", "docker-compose")?;
        let engine = DockerEngine::new(
            Daemon::Docker,
            &ground.agent,
            SharedNetwork::of_this_process(),
        );
        available(engine.probe(host))?;
        Ok(Self {
            program,
            folder: ground.folder.join("compose"),
            tag: engine.load(&Contents::Image(ground.image.clone()))?,
            _engine: engine,
        })
    }

    /// Its version, and how many containers it makes at once.
    pub fn describe(&self) -> Result<String, PeersError> {
        let mut command = self.command();
        command.args(["version", "--short"]);
        let version = run(&mut command, PATIENCE)?.output.trim().to_owned();
        Ok(format!(
            "version {version}; {PARALLELISM} is not set, so at most 64 at once in version 1"
        ))
    }

    /// Writes the file and enters its containers in the ledger.
    pub fn prepare(
        &self,
        plan: &DeploymentPlan,
        host: &Rc<AgentHost>,
    ) -> Result<Project<'_>, PeersError> {
        let file = self.folder.join("compose.json");
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&file, document(plan, &self.tag).to_string()))
            .map_err(PeersError::io(format!("write {}", file.display())))?;
        let mut project = Project {
            compose: self,
            host: Rc::clone(host),
            run: plan.run.clone(),
            file,
            containers: Vec::new(),
        };
        for service in &plan.services {
            let name = of_service(&plan.run, &service.name);
            let entry = container_entry(Daemon::Docker.name(), &name);
            host.enter(&entry)?;
            project.containers.push(entry);
        }
        Ok(project)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_remove(PARALLELISM);
        command
    }
}

/// Services of one file.
pub struct Project<'a> {
    compose: &'a Compose,
    host: Rc<AgentHost>,
    run: String,
    file: PathBuf,
    /// Those that there may be.
    containers: Vec<Object>,
}

impl Prepared for Project<'_> {
    fn start(&mut self) -> Result<(), PeersError> {
        let mut command = self.compose.command();
        command
            .args(["--project-name", &self.run, "--file"])
            .arg(&self.file)
            .args(["up", "-d"]);
        run(&mut command, PATIENCE).map(drop)
    }

    fn requests(&self) -> Result<Vec<EngineRequest>, PeersError> {
        Ok(Vec::new())
    }

    /// As `stowplan clean` does it: by name, where the labels are ours too.
    fn remove(&mut self) -> Result<(), PeersError> {
        let containers = std::mem::take(&mut self.containers);
        let removed: Vec<Result<bool, EngineError>> = thread::scope(|scope| {
            let begun: Vec<_> = containers
                .iter()
                .map(|entry| {
                    scope.spawn(move || {
                        let at = DaemonVariables::of_this_process();
                        stowplan_engine_docker::remove(Daemon::Docker, entry, &at)
                    })
                })
                .collect();
            let ended = begun.into_iter().map(|thread| {
                let died = || Err(EngineError::new("cannot remove a container"));
                thread.join().unwrap_or_else(|_| died())
            });
            ended.collect()
        });
        let mut result = Ok(());
        for (entry, removed) in containers.iter().zip(removed) {
            match removed {
                Ok(_) => self.host.gone(entry),
                Err(error) => result = Err(error.into()),
            }
        }
        result
    }
}

impl Drop for Project<'_> {
    fn drop(&mut self) {
        // What is left here is left after an error that is told already; the ledger has it.
        let _ = self.remove();
    }
}

/// The file. JSON is YAML.
fn document(plan: &DeploymentPlan, tag: &str) -> Value {
    let services = plan
        .services
        .iter()
        .map(|service| (service.name.clone(), described(plan, service, tag)));
    json!({ "services": Value::Object(services.collect()) })
}

fn described(plan: &DeploymentPlan, service: &ServiceStart, tag: &str) -> Value {
    let volumes: Vec<Value> = mounts(plan, service)
        .iter()
        .map(|mount| json!({"type": "bind", "source": mount.from, "target": mount.to}))
        .collect();
    let variables = environment(&service.program)
        .into_iter()
        .map(|(name, value)| (name, Value::String(value)));
    json!({
        "image": tag,
        "container_name": of_service(&plan.run, &service.name),
        "command": arguments(plan, service),
        "environment": Value::Object(variables.collect()),
        "labels": labels(&plan.run, Some(&service.name)),
        "network_mode": "host",
        "volumes": volumes,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stowplan_wire::deployment::IsolationPlan;

    use super::super::services::deployment;
    use super::*;

    #[test]
    fn a_service_is_as_the_engine_makes_it() {
        let image = Path::new("/nowhere");
        let plan = deployment("/nowhere", image, 2, None, IsolationPlan::default());
        let file = document(&plan, "i:1");
        let service = &file["services"]["s1"];
        let name = format!("stowplan-{}-peers-s1", std::process::id());
        assert_eq!(service["container_name"], name);
        assert_eq!(service["command"][2], "/nowhere/s1/plan.json");
        assert_eq!(service["labels"]["stowplan.service"], "s1");
        assert_eq!(service["network_mode"], "host");
        assert_eq!(service["image"], "i:1");
    }
}
