//! Services in containers of LXD and of Incus, driven through the REST API that both have on a unix socket.
//!
//! Images are made here and imported: nothing is pulled. The root file systems are in the storage pool that the user's
//! default profile names, else in one of ours. Every instance carries keys of ours, and nothing without them is ever
//! touched; what differs from the defaults stands in the deviations of each deployment.

mod api;
mod backend;
mod client;
mod command;
mod config;
mod engine;
mod events;
mod fleet;
mod images;
mod label;
mod names;
mod pool;
mod probe;
mod remove;
mod server;

pub use engine::LxdEngine;
pub use remove::remove;
pub use server::Server;
