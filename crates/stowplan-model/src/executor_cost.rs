//! What waiting costs an executor beside what that of the node program costs by itself.

/// Counted work of a thread before each wait for work (docs/measuring.md §1), as rclcpp collects then what is to be waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecutorCost {
    /// Kernel iterations for each wait.
    pub wait_iterations: u64,
    /// Kernel iterations for each entity (timer, subscription, service, client) that is waited for.
    pub entity_iterations: u64,
}
