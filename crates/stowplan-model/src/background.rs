//! What keeps CPUs busy beside the work of callbacks.

/// Threads of a node that do counted work without a pause, from the start of their process to the end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// How many.
    pub threads: u32,
    /// Whether the node is a service of its own, whatever the partition.
    pub own_service: bool,
}
