//! Services in containers of the embedded OCI runtime (libcontainer).
//!
//! Each service has a helper process (`stowplan-agent oci`, see [`helper_main`]): libcontainer may not be called
//! from a program that has threads or a life of its own. The agent starts the helpers in `prepare`, sends them
//! commands and collects their answers, all at once; a helper whose agent is gone removes its service and ends.
//!
//! Libcontainer makes namespaces and mounts and drops capabilities. Cgroups and limits are made by
//! `stowplan-host`, as for every engine, so that a difference between engines is not one of cgroup set-up.

mod capabilities;
mod deployment;
mod engine;
mod filter;
mod fleet;
mod helper;
mod helper_program;
mod link;
mod protocol;
mod seccomp;
mod spec;

pub use engine::{NAME, OciEngine};
pub use helper::{helper_main, runtime_config};
