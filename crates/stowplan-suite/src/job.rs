//! One run of the schedule.

/// One run that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Job {
    /// Block, from 0.
    pub block: u32,
    /// Place in the block's order, from 0.
    pub order: u32,
    /// Index of the deployment.
    pub deployment: usize,
}
