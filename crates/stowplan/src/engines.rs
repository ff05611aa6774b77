//! The only file of the command line that names engines.
//!
//! Engines that are system calls run inside the agent and register there. Those with a socket are made here.

use std::path::Path;
use std::rc::Rc;

use stowplan_engine::{Engine, EngineError, ServiceKind, SharedNetwork};
use stowplan_engine_cri::{CriEngine, ENGINE as CRI};
use stowplan_engine_docker::swarm::{self, SwarmEngine};
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_engine_kube::{ENGINE as KUBE, KubeEngine};
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_host::chain;
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_plan::KnownEngines;
use stowplan_remote::{AgentHost, Network};
use stowplan_run::CallerEngines;

use crate::failure::{CommandError, ExitCode, OrExit};
use crate::programs;

/// An engine with a socket.
struct Row {
    name: &'static str,
    /// Makes it, for services in the network of a process, with the program of the agent.
    make: fn(&Path, SharedNetwork) -> Rc<dyn Engine>,
    /// Removes what a dead run left in it, where that run found it. Whether there was anything.
    remove: fn(&Object, &DaemonVariables) -> Result<bool, EngineError>,
}

const ROWS: [Row; 7] = [
    Row {
        name: Daemon::Docker.name(),
        make: |agent, network_of| docker(Daemon::Docker, agent, network_of),
        remove: |object, at| stowplan_engine_docker::remove(Daemon::Docker, object, at),
    },
    Row {
        name: Daemon::Podman.name(),
        make: |agent, network_of| docker(Daemon::Podman, agent, network_of),
        remove: |object, at| stowplan_engine_docker::remove(Daemon::Podman, object, at),
    },
    Row {
        name: swarm::ENGINE,
        make: |agent, network_of| Rc::new(SwarmEngine::new(agent, network_of)),
        remove: swarm::remove,
    },
    Row {
        name: CRI,
        make: |agent, network_of| Rc::new(CriEngine::new(None, agent, network_of)),
        remove: stowplan_engine_cri::remove,
    },
    Row {
        name: Server::Lxd.name(),
        make: |agent, network_of| Rc::new(LxdEngine::new(Server::Lxd, agent, network_of)),
        remove: |object, at| stowplan_engine_lxd::remove(Server::Lxd, object, at),
    },
    Row {
        name: Server::Incus.name(),
        make: |agent, network_of| Rc::new(LxdEngine::new(Server::Incus, agent, network_of)),
        remove: |object, at| stowplan_engine_lxd::remove(Server::Incus, object, at),
    },
    Row {
        name: KUBE,
        make: |agent, network_of| Rc::new(KubeEngine::new(agent, network_of)),
        remove: stowplan_engine_kube::remove,
    },
];

fn docker(daemon: Daemon, agent: &Path, network_of: SharedNetwork) -> Rc<dyn Engine> {
    Rc::new(DockerEngine::new(daemon, agent, network_of))
}

/// Names of the engines with a socket.
pub const OUTSIDE: [&str; ROWS.len()] = {
    let mut names = [""; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        names[index] = ROWS[index].name;
        index += 1;
    }
    names
};

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Engines of the design that this version does not have; `doctor` says so.
pub const PLANNED: [(&str, ServiceKind); 1] = [("qemu", ServiceKind::Guest)];

/// Places that commands measure where none is named: plain processes in one group, those in a group for each service, and
/// containers.
pub const FLAT: &str = "bare:flat";
/// Plain processes with a group for each service.
pub const GROUPED: &str = "bare:grouped";
/// Containers that the agent starts by itself.
pub const CONTAINERS: &str = "oci";
/// Containers with both controls, after which a difference is told as isolation or as group scheduling.
pub const CONTROLLED: [&str; 3] = [FLAT, GROUPED, CONTAINERS];

/// Places that the help of commands lists.
pub const PLACES: [&str; 17] = [
    FLAT,
    "bare:session",
    GROUPED,
    "bare:grouped-lxc",
    "bare:grouped-lxd",
    CONTAINERS,
    "docker",
    "podman",
    "swarm",
    "cri",
    "cri:runc",
    "cri:crun",
    "nspawn",
    "lxc",
    "lxd",
    "incus",
    "kube",
];

/// Engines with a socket, and those to come, as experiments are given them.
pub const TO_EXPERIMENTS: CallerEngines<'static> = CallerEngines {
    names: &OUTSIDE,
    planned: &PLANNED,
    make: &make,
};

/// Every engine that a place may name.
pub fn known() -> Result<KnownEngines, CommandError> {
    let agent = programs::agent()?;
    let host = AgentHost::spawn(&agent, Network::Machine).or_exit(ExitCode::RunFailed)?;
    stowplan_run::known_engines(&host, TO_EXPERIMENTS).or_exit(ExitCode::RunFailed)
}

/// The engine of this name, whose services are to be in the network `network_of`; `None` where no engine
/// with a socket has this name.
pub fn make(name: &str, network_of: SharedNetwork) -> Option<Rc<dyn Engine>> {
    // Whoever starts services has found the agent before.
    let agent = programs::agent().ok()?;
    row(name).map(|row| (row.make)(&agent, network_of))
}

/// Removes what a dead run left in an engine with a socket, where that run found it. Whether there was anything.
pub fn remove(object: &Object, at: &DaemonVariables) -> Result<bool, String> {
    let engine = object.engine().unwrap_or_default();
    let Some(row) = row(engine) else {
        return Err(format!("{object:?}: no engine '{engine}' to remove it"));
    };
    (row.remove)(object, at).map_err(|error| {
        let hint = error.hint.as_ref().map(|hint| format!(" (hint: {hint})"));
        format!("{}{}", chain(&error), hint.unwrap_or_default())
    })
}
