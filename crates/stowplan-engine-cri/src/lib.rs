//! Services in pods of containerd or CRI-O, driven through the Kubernetes Container Runtime Interface (CRI v1) on its socket.
//!
//! Each service is a pod of its own with one container, as Kubernetes starts a Deployment, with what the runtime has by default and
//! the network of the run; what had to be another way is told as a deviation. Images are made here and written into the
//! runtime's store: nothing is pulled. Every pod carries labels of ours, and nothing without them is ever touched.

#[expect(
    clippy::allow_attributes_without_reason,
    clippy::enum_variant_names,
    unused_qualifications,
    reason = "written by `cargo proto` from the descriptions in `proto/`"
)]
mod api;
mod backend;
mod client;
mod config;
mod crio;
mod endpoint;
mod engine;
mod ground;
mod images;
mod label;
mod logs;
mod network;
mod pods;
mod probe;
mod remove;
mod runtime;
mod settings;
mod watch;

pub use endpoint::Endpoint;
pub use engine::CriEngine;
pub use remove::remove;

/// Name of the engine, as in a place.
pub const ENGINE: &str = "cri";

/// Handlers that are variants of the engine, beside the runtime's default one.
pub(crate) const HANDLERS: [&str; 2] = ["runc", "crun"];
