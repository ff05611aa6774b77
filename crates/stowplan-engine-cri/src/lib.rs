//! Services in pods of containerd or CRI-O, driven through the Kubernetes Container Runtime Interface (CRI v1) on its socket.
//!
//! Each service is a pod of its own with one container, as Kubernetes starts a Deployment, with what the runtime has by default and
//! the network of the run; what had to be another way is told as a deviation. Images are made here and written into the
//! runtime's store: nothing is pulled. Every pod carries labels of ours, and nothing without them is ever touched.

mod backend;
mod config;
mod engine;
mod ground;
mod label;
mod logs;
mod network;
mod pods;
mod probe;
mod remove;
mod watch;

pub use engine::CriEngine;
pub use remove::remove;
pub use stowplan_engine_daemon::cri::Endpoint;

use stowplan_engine_daemon::cri::Store;

/// Name of the engine, as in a place.
pub const ENGINE: &str = "cri";

/// Handlers that are variants of the engine, beside the runtime's default one.
pub(crate) const HANDLERS: [&str; 2] = ["runc", "crun"];

/// The store of the runtime on a socket; `None` is where `crictl` would look for one.
pub(crate) const fn store(endpoint: Option<Endpoint>) -> Store {
    Store {
        engine: ENGINE,
        endpoint,
    }
}
