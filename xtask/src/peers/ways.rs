//! The ways to start services that are measured beside one another.

use std::path::PathBuf;
use std::rc::Rc;

use stowplan_engine::{Deployment, Engine, Probe, SharedNetwork};
use stowplan_engine_cri::CriEngine;
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_remote::{AgentHost, RemoteEngine};
use stowplan_wire::deployment::{DeploymentPlan, EngineRequest, IsolationPlan, Select};

use super::build::installed;
use super::compose::Compose;
use super::error::PeersError;
use super::runc::Runc;

/// A way to start services.
#[derive(Debug, Clone, Copy)]
pub struct StartMethod {
    /// As in the table.
    pub name: &'static str,
    /// What its span has.
    pub span: &'static str,
    /// Variant of its engine.
    pub variant: Option<&'static str>,
    /// Isolation, for who can switch it.
    pub isolation: IsolationPlan,
    by: By,
}

#[derive(Debug, Clone, Copy)]
enum By {
    /// The engine of this name in the agent.
    Agent(&'static str),
    Docker(Daemon),
    Cri,
    Lxd,
    Compose,
    Runc,
}

/// The one that all others are compared with.
pub const REFERENCE: &str = "oci";

/// Two with one configuration.
pub const SAME: [&str; 2] = ["oci-no-overlay", "runc-run"];

/// With a folder as root in place of an overlay, as `runc` has it.
const IN_FOLDER: IsolationPlan = IsolationPlan {
    overlay: false,
    ..IsolationPlan::CONTAINER
};

/// An engine in the agent, with the isolation of a container where it can be switched.
const fn in_agent(
    name: &'static str,
    engine: &'static str,
    variant: Option<&'static str>,
    span: &'static str,
) -> StartMethod {
    StartMethod {
        name,
        span,
        variant,
        isolation: IsolationPlan::CONTAINER,
        by: By::Agent(engine),
    }
}

/// What has an isolation of its own, and can switch some of it.
const fn outside(name: &'static str, by: By, span: &'static str) -> StartMethod {
    StartMethod {
        name,
        span,
        variant: None,
        isolation: IsolationPlan::CONTAINER,
        by,
    }
}

const OCI_SPAN: &str = "create and start by helper processes that are there";
const API_SPAN: &str = "container and start, one request each";

/// All of them. `oci` has twice the isolation that Docker has by default: with its overlay, and as `runc` can have it.
pub const WAYS: [StartMethod; 12] = [
    in_agent(REFERENCE, "oci", None, OCI_SPAN),
    StartMethod {
        isolation: IN_FOLDER,
        ..in_agent(SAME[0], "oci", None, OCI_SPAN)
    },
    StartMethod {
        isolation: IN_FOLDER,
        ..outside(
            SAME[1],
            By::Runc,
            "one process of runc each, which does both; the same configuration as oci without an overlay",
        )
    },
    outside("docker", By::Docker(Daemon::Docker), API_SPAN),
    outside(
        "docker-compose",
        By::Compose,
        "one docker-compose up -d, which does both",
    ),
    outside("podman", By::Docker(Daemon::Podman), API_SPAN),
    outside("cri", By::Cri, "pod, container and start, one request each"),
    in_agent(
        "nspawn",
        "nspawn",
        None,
        "one process of the tool each, which does both",
    ),
    in_agent(
        "lxc",
        "lxc",
        None,
        "one process of the tool each, which does both",
    ),
    outside("lxd", By::Lxd, "instance and start, one request each"),
    in_agent("bare:flat", "bare", Some("flat"), "fork and exec"),
    in_agent(
        "bare:grouped",
        "bare",
        Some("grouped"),
        "control groups, fork and exec",
    ),
];

/// What all of them start from.
pub struct Ground {
    /// The static agent.
    pub agent: PathBuf,
    /// Folder of the services' image.
    pub image: PathBuf,
    /// Folder for files of peers.
    pub folder: PathBuf,
}

/// What starts services in every block. Dropping it removes the images that it has put into the stores of daemons.
pub enum Starter {
    Agent(&'static str),
    Daemon(Box<dyn Engine>),
    Compose(Compose),
    Runc(Runc, PathBuf),
}

/// Services with all done that is not to be in their span. Dropping it removes what is left of them.
pub trait Prepared {
    /// Creates and starts all of them, as many at once as it can.
    fn start(&mut self) -> Result<(), PeersError>;

    /// What was asked for that by an engine of Stowplan's.
    fn requests(&self) -> Result<Vec<EngineRequest>, PeersError>;

    /// Kills and removes all of them.
    fn remove(&mut self) -> Result<(), PeersError>;
}

impl Starter {
    /// Finds what `way` needs and tries it.
    pub fn open(
        way: &StartMethod,
        ground: &Ground,
        agent: &Rc<AgentHost>,
    ) -> Result<Self, PeersError> {
        let network_of = SharedNetwork::of_this_process();
        let engine: Box<dyn Engine> = match way.by {
            By::Agent(name) => {
                available(RemoteEngine::new(agent, name)?.probe(&**agent))?;
                return Ok(Self::Agent(name));
            }
            By::Compose => return Ok(Self::Compose(Compose::open(ground, &**agent)?)),
            By::Runc => {
                let runc = Runc::new(installed("runc", "runc")?, &ground.folder);
                return Ok(Self::Runc(runc, ground.image.clone()));
            }
            By::Docker(daemon) => Box::new(DockerEngine::new(daemon, &ground.agent, network_of)),
            By::Cri => Box::new(CriEngine::new(None, &ground.agent, network_of)),
            By::Lxd => Box::new(LxdEngine::new(Server::Lxd, &ground.agent, network_of)),
        };
        available(engine.probe(&**agent))?;
        Ok(Self::Daemon(engine))
    }

    /// What there is to know of it beside its span.
    pub fn describe(&self) -> Result<Option<String>, PeersError> {
        match self {
            Self::Compose(compose) => compose.describe().map(Some),
            _ => Ok(None),
        }
    }

    /// Does for these services what is not to be in their span.
    pub fn prepare(
        &self,
        agent: &Rc<AgentHost>,
        plan: &DeploymentPlan,
    ) -> Result<Box<dyn Prepared + '_>, PeersError> {
        let deployment = match self {
            Self::Agent(name) => RemoteEngine::new(agent, name)?.prepare(plan, agent.clone())?,
            Self::Daemon(engine) => engine.prepare(plan, agent.clone())?,
            Self::Compose(compose) => return Ok(Box::new(compose.prepare(plan, agent)?)),
            Self::Runc(runc, image) => return Ok(Box::new(runc.prepare(plan, image)?)),
        };
        Ok(Box::new(Deployed(deployment)))
    }
}

/// Whether an engine works here.
pub fn available(probe: Probe) -> Result<(), PeersError> {
    match probe {
        Probe::Absent { reason, hint } => Err(PeersError::Absent { reason, hint }),
        Probe::Available { .. } | Probe::Emulated { .. } => Ok(()),
    }
}

/// Services of an engine.
struct Deployed(Box<dyn Deployment>);

impl Prepared for Deployed {
    fn start(&mut self) -> Result<(), PeersError> {
        self.0.create(&Select::All)?;
        Ok(self.0.start(&Select::All)?)
    }

    fn requests(&self) -> Result<Vec<EngineRequest>, PeersError> {
        Ok(self.0.engine_requests()?)
    }

    fn remove(&mut self) -> Result<(), PeersError> {
        Ok(self.0.destroy()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ways_are_known_by_their_names() {
        let names: BTreeSet<&str> = WAYS.iter().map(|way| way.name).collect();
        assert_eq!(names.len(), WAYS.len());
        assert!(
            SAME.iter()
                .chain([&REFERENCE])
                .all(|name| names.contains(name))
        );
    }
}
