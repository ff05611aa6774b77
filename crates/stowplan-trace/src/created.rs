//! Events that tell of something made earlier, in the order in which it was made.
//!
//! CARET keeps what entities are made and emits it when recording begins: all events of one
//! kind, then all of the next. Addresses are used again after an entity is gone, so that what an
//! address means goes by the time of creation.

use rustc_hash::FxHashMap;

use crate::ctf_classes::Said;
use crate::ids::{ProcessId, ThreadId};

/// Such an event.
#[derive(Debug)]
pub(crate) struct Created {
    /// When what it tells of was made, nanoseconds.
    pub created_ns: i64,
    /// Its own time, nanoseconds.
    pub time_ns: i64,
    pub thread: ThreadId,
    pub said: Said,
}

/// Those that wait for the next event of their process that uses entities.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    of: FxHashMap<ProcessId, Vec<Created>>,
}

impl Waiting {
    pub fn add(&mut self, process: ProcessId, created: Created) {
        self.of.entry(process).or_default().push(created);
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Those of a process, by the time of creation.
    pub fn take(&mut self, process: ProcessId) -> Vec<Created> {
        let mut all = self.of.remove(&process).unwrap_or_default();
        all.sort_by_key(|created| created.created_ns);
        all
    }

    /// The processes that have any.
    pub fn processes(&self) -> Vec<ProcessId> {
        let mut all: Vec<ProcessId> = self.of.keys().copied().collect();
        all.sort_unstable();
        all
    }
}
