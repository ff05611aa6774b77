//! Services in containers of Docker and of Podman, driven through the API that both speak on a unix socket, and as services of a
//! swarm of Docker's.
//!
//! Everything is as the daemon has it by default, with the network of the run; what had to be another way is told as a
//! deviation. Images are made here and loaded into the daemon's store: nothing is pulled. Every container carries
//! labels of ours, and nothing without them is ever touched.

mod backend;
mod client;
mod config;
mod container;
mod daemon;
mod engine;
mod events;
mod fleet;
mod ground;
mod group;
mod images;
mod label;
mod logs;
mod own;
mod probe;
mod remove;
mod runtime;
pub mod swarm;

pub use daemon::Daemon;
pub use engine::DockerEngine;
pub use remove::remove;
