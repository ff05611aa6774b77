//! The caller's side of stowplan-agent: its host and its engines.

mod engine;
mod host;
mod pipe;
mod timeouts;

pub use engine::RemoteEngine;
pub use host::{AgentHost, Network};
