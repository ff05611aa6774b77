//! The only file of the command line that names engines.
//!
//! Engines that are system calls run inside the agent and register there. Those with a socket will be
//! made here.

/// Engines of the design that this version does not have; `doctor` says so.
pub const PLANNED: [&str; 8] = [
    "docker", "podman", "cri", "lxd", "incus", "qemu", "swarm", "kube",
];
