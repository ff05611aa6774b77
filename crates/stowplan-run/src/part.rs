//! The place of an experiment in a schedule.

/// The deployments of one experiment among those of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Index of its first.
    pub(crate) first: usize,
    /// How many the schedule has.
    pub(crate) of: usize,
}
