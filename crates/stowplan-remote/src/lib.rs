//! The caller's side of stowplan-agent: its host and its engines.

mod child;
mod engine;
mod host;
mod pipe;
mod timeouts;
mod transport;

pub use engine::RemoteEngine;
pub use host::{AgentHost, Network};
