//! A span of time.

/// From one instant to another, both included, in nanoseconds of the trace's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First instant.
    pub from_ns: i64,
    /// Last instant.
    pub to_ns: i64,
}

impl Window {
    /// All of time.
    pub const ALWAYS: Self = Self {
        from_ns: i64::MIN,
        to_ns: i64::MAX,
    };

    /// Whether an instant lies in the window.
    #[must_use]
    pub fn contains(&self, time_ns: i64) -> bool {
        self.from_ns <= time_ns && time_ns <= self.to_ns
    }
}
