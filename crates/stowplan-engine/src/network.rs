//! The network of a run.

/// The network that those services share which have none of their own: that of a process on the engine's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedNetwork {
    /// Pid of the process, as the engine's host numbers processes.
    pub of_process: u32,
}

impl SharedNetwork {
    /// The network that this process is in, for an engine on this machine.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self {
            of_process: std::process::id(),
        }
    }
}
