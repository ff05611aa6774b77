//! The only file of the command line that names engines.
//!
//! Engines that are system calls run inside the agent and register there. Those with a socket are made here.

use std::rc::Rc;

use stowplan_engine::Engine;
use stowplan_engine_cri::{CriEngine, ENGINE as CRI};
use stowplan_engine_docker::{Daemon, DockerEngine};
use stowplan_engine_lxd::{LxdEngine, Server};
use stowplan_host::chain;
use stowplan_host::ledger::{DaemonVariables, Object};
use stowplan_plan::KnownEngines;
use stowplan_remote::{AgentHost, Network};
use stowplan_run::CallerEngines;

use crate::failure::{CommandError, ExitCode, OrExit};
use crate::programs;

/// Engines with a socket.
pub const OUTSIDE: [&str; 5] = [
    Daemon::Docker.name(),
    Daemon::Podman.name(),
    CRI,
    Server::Lxd.name(),
    Server::Incus.name(),
];

/// Engines of the design that this version does not have; `doctor` says so.
pub const PLANNED: [&str; 3] = ["qemu", "swarm", "kube"];

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

/// The engine of this name, whose services are to be in the network of the process `network_of`; `None` where no engine
/// with a socket has this name.
pub fn make(name: &str, network_of: u32) -> Option<Rc<dyn Engine>> {
    // Whoever starts services has found the agent before.
    let agent = programs::agent().ok()?;
    if name == CRI {
        return Some(Rc::new(CriEngine::new(None, &agent, network_of)));
    }
    if let Some(server) = Server::of_name(name) {
        return Some(Rc::new(LxdEngine::new(server, &agent, network_of)));
    }
    let daemon = Daemon::of_name(name)?;
    Some(Rc::new(DockerEngine::new(daemon, &agent, network_of)))
}

/// Removes what a dead run left in an engine with a socket, where that run found it. Whether there was anything.
pub fn remove(object: &Object, at: &DaemonVariables) -> Result<bool, String> {
    let engine = object.engine().unwrap_or_default();
    let removed = if let Some(server) = Server::of_name(engine) {
        stowplan_engine_lxd::remove(server, object, at)
    } else if let Some(daemon) = Daemon::of_name(engine) {
        stowplan_engine_docker::remove(daemon, object, at)
    } else if engine == CRI {
        stowplan_engine_cri::remove(object, at)
    } else {
        return Err(format!("{object:?}: no engine '{engine}' to remove it"));
    };
    removed.map_err(|error| {
        let hint = error.hint.as_ref().map(|hint| format!(" (hint: {hint})"));
        format!("{}{}", chain(&error), hint.unwrap_or_default())
    })
}
