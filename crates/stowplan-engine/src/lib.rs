//! What starts services: the traits of engines and deployments, what engines can do, and their error.
//!
//! Engines start, stop and tell where to look. They never measure, and no engine knows another.

mod capabilities;
mod engine;
mod error;
mod label;
mod log;
mod network;
mod parts;
mod tree;

pub use capabilities::{
    Capabilities, HealthSupport, IsolationFeature, LimitSupport, Refusal, Variant,
};
pub use engine::{Deployment, Engine, ImageFiles, Probe, selected};
pub use error::EngineError;
pub use label::{Facts, ObservedContainer, agreed, contradiction, group_of};
pub use log::open_log;
pub use network::SharedNetwork;
pub use parts::{CGROUPFS, parts};
pub use stowplan_model::{CpuGroups, ServiceKind};
pub use stowplan_wire::agent::FailureKind;
pub use tree::{quoted, shell_in};

/// The hint of an engine that works, but not for services in the network of the run.
pub const WITH_HOST_NETWORK: &str = "run the experiment with --host-network";

/// The environment of every node program, under every engine: the size of the environment moves a program's
/// stack, so it is equal everywhere. Real programs get theirs from the stack file.
pub const NODE_ENVIRONMENT: [(&str, &str); 1] = [(
    "PATH",
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
)];
