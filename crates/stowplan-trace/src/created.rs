//! Events that tell of something made earlier, in the order in which it was made.
//!
//! CARET keeps what entities are made and emits it when recording begins: all events of one
//! kind, then all of the next. Addresses are used again after an entity is gone, so that what an
//! address means goes by the time of creation.

use rustc_hash::FxHashMap;

use crate::ctf_classes::Said;
use crate::ids::{ProcessId, ThreadId};

/// Such an event, which says `S`.
#[derive(Debug)]
pub(crate) struct Created<S = Said> {
    /// When what it tells of was made, nanoseconds.
    pub created_ns: i64,
    /// Its own time, nanoseconds.
    pub time_ns: i64,
    pub thread: ThreadId,
    pub said: S,
}

/// Those that wait for the next event of their process that uses entities.
#[derive(Debug)]
pub(crate) struct Waiting<S = Said> {
    of: FxHashMap<ProcessId, Vec<Created<S>>>,
}

impl<S> Default for Waiting<S> {
    fn default() -> Self {
        Self {
            of: FxHashMap::default(),
        }
    }
}

impl<S> Waiting<S> {
    pub fn add(&mut self, process: ProcessId, created: Created<S>) {
        self.of.entry(process).or_default().push(created);
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Those of a process, by the time of creation.
    pub fn take(&mut self, process: ProcessId) -> Vec<Created<S>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn what_waits_is_given_in_the_order_of_creation_and_equal_times_in_that_of_the_trace() {
        let (process, other, thread) = (ProcessId::new(0), ProcessId::new(1), ThreadId::new(0));
        let mut waiting = Waiting::default();
        let all = [(3, "d"), (1, "a"), (2, "b"), (2, "c")];
        for (time_ns, (created_ns, said)) in (100..).zip(all) {
            let created = Created {
                created_ns,
                time_ns,
                thread,
                said,
            };
            waiting.add(process, created);
        }
        assert!(waiting.take(other).is_empty());
        assert_eq!(waiting.processes(), [process]);
        let said: Vec<&str> = waiting.take(process).iter().map(|of| of.said).collect();
        assert_eq!(said, ["a", "b", "c", "d"]);
        assert!(waiting.is_empty());
    }
}
