//! Services in pods of a Kubernetes whose node is this machine, driven through its API.
//!
//! Each service is a pod of its own in the network of the node or of a plugin, in a namespace of the run, which goes with the run. Images are
//! made here and written into the store of the node's runtime, or pushed to a registry that the user names. What happens to pods is watched, never asked for
//! again and again. A cluster none of whose nodes is this machine is refused.

mod admission;
mod backend;
mod cluster;
mod config;
mod engine;
mod events;
mod gpus;
mod ground;
mod kubeconfig;
mod label;
mod names;
mod node;
mod parameters;
mod pods;
mod probe;
mod push;
mod registry;
mod remove;
mod resources;
mod state;
mod store;
mod watch;

pub use engine::KubeEngine;
pub use remove::remove;

/// Name of the engine, as in a place.
pub const ENGINE: &str = "kube";
