//! What several sessions or snapshots recorded of the same.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::event::Body;
use crate::ids::ThreadId;

/// What several traces below one folder say of the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Folders that hold packets of one trace.
    pub overlaps: Vec<FolderOverlap>,
    /// Events that a second session recorded, too: counted once.
    pub events: u64,
    /// Processes that are taken for one in several sessions that have no time in common.
    pub guessed: u64,
}

/// Two folders with packets of one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderOverlap {
    /// The folders below the one that was opened.
    pub folders: [String; 2],
    /// Packets that both hold, which were read once; `None` if they contradict each other
    /// and both were read.
    pub packets: Option<u64>,
}

/// So much later than the first session a second one may record what a thread does,
/// nanoseconds: both do so in one call, in which the thread may lose its CPU.
const LONGEST_CALL_NS: i64 = 100_000_000;

/// Finds events that a second session recorded: LTTng-UST calls the probes of all sessions
/// one after another, so that no other event of the thread lies between.
#[derive(Debug, Default)]
pub(crate) struct Twice {
    /// Of each thread the events that lie at its latest time.
    threads: FxHashMap<ThreadId, Vec<LatestEvent>>,
}

/// An event, and the sessions that recorded it.
#[derive(Debug)]
struct LatestEvent {
    time_ns: i64,
    what: u64,
    by: Vec<usize>,
}

impl Twice {
    /// Whether another session than `by` recorded the same event of the thread before.
    pub fn is_repeat(
        &mut self,
        (thread, time_ns): (ThreadId, i64),
        by: usize,
        name: &str,
        body: &Body<'_>,
    ) -> bool {
        let mut hasher = FxHasher::default();
        (name, body).hash(&mut hasher);
        let what = hasher.finish();
        let latest = self.threads.entry(thread).or_default();
        let repeated = latest.iter_mut().find(|seen| {
            let soon = time_ns.saturating_sub(seen.time_ns) <= LONGEST_CALL_NS;
            soon && seen.what == what && !seen.by.contains(&by)
        });
        if let Some(seen) = repeated {
            seen.by.push(by);
            return true;
        }
        latest.retain(|seen| seen.time_ns == time_ns);
        latest.push(LatestEvent {
            time_ns,
            what,
            by: vec![by],
        });
        false
    }
}
