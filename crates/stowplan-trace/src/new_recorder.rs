//! Who recorded an event.

/// Who recorded an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Who {
    /// Index of the trace.
    pub trace: u32,
    pub pid_namespace: Option<u64>,
    pub vpid: i64,
    pub vtid: i64,
}

/// Somebody of whom a stream has no earlier event.
#[derive(Debug, Clone)]
pub(crate) struct NewRecorder {
    pub who: Who,
    /// Name of the process or thread.
    pub procname: Option<String>,
}
