//! The measured window.

/// The window that node programs are armed for, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) t_arm_ns: u64,
    pub(crate) t_disarm_ns: u64,
}
