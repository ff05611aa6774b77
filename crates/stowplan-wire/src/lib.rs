//! What the three programs say to each other, versioned.
//!
//! - [`service`]: what one service's node programs do (`plan.json`), written by the host side.
//! - [`bench`]: what a benchmark of the node program prints.
//! - [`announce`]: what node programs tell the agent, and the agent tells them.
//! - [`deployment`]: what an engine gets to start.
//! - [`ring`]: the trace buffer of a process.
//! - [`words`]: a command line for an engine that ends words at blanks.
//! - [`causes`]: an error and its causes as one line.
//! - [`agent`]: requests and answers between the command line and an agent, one JSON document a line.

pub mod agent;
pub mod announce;
pub mod bench;
pub mod causes;
pub mod deployment;
mod failure;
pub mod host;
pub mod ring;
pub mod service;
pub mod words;

/// Version of everything in this crate. Programs of another version are refused.
pub const PROTOCOL: u32 = 7;

/// Identity of a build: the crate version and the protocol. All three programs must carry the same.
#[must_use]
pub fn build_id() -> String {
    format!("{}-{PROTOCOL}", env!("CARGO_PKG_VERSION"))
}
