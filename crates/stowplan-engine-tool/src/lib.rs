//! What engines that are command lines have in common: a program in the foreground holds the container of a service,
//! and ends with it (`systemd-nspawn`, `lxc-start -F`).
//!
//! The program is started in the control groups of the service, so that its limits hold from the first instruction on.
//! When it tells the container's first process, it is moved into a group of the run that is the engine's own: from then
//! on the service's groups hold the service alone. Runs inside the agent: its caller must have one thread, because
//! services die with the thread that made them.

mod ask;
mod attempt;
mod deployment;
mod groups;
mod label;
pub mod lxc;
mod notice;
mod service;
mod spawn;
mod tool;

pub use ask::ask;
pub use attempt::probe_tool;
pub use deployment::ToolDeployment;
pub use groups::ENGINE_GROUP;
pub use tool::{InnerGroup, Invocation, Tool, command_in_root, environment};
