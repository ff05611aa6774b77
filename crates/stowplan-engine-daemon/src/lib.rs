//! What engines with a daemon have in common: a container for each service, made through the daemon's API, of images
//! that the daemon keeps.
//!
//! An engine says how its daemon is asked ([`Daemon`], [`Backend`]). Names and labels, the order of verbs, the ledger, events, limits
//! read back and what all containers of a run have to agree on are here.

mod backend;
mod classes;
pub mod cri;
mod deployment;
mod group;
mod images;
mod log_tail;
mod names;
mod orchestrator;
mod pieces;
mod place;
mod probe;
mod program;
mod runtime;
mod service;
mod serving;
mod sockets;
mod weight;

pub use backend::{Backend, Happened, monotonic_ns};
pub use deployment::{ContainerDeployment, Prepared, container_entry};
pub use group::RunGroup;
pub use images::{Daemon, Images};
pub use log_tail::LogTail;
pub use names::{IMAGES, RUN, SERVICE, is_ours, labels, of_ground, of_service};
pub use orchestrator::{KnownBy, Part, parts_of};
pub use pieces::{Writer, pieces};
pub use place::{Place, is_elsewhere};
pub use probe::in_probe_run;
pub use program::{
    CpuTime, access, agent_mount, arguments, check, contents, cpus, environment, memory_bytes,
    mounts,
};
pub use runtime::{program_in_bundle, program_name, runtime_name, runtime_version};
pub use serving::Serving;
pub use sockets::{is_installed, peer, peer_user, watchers};
pub use weight::{Conversion, shares};
