//! Threads that take one of eight locks, give their CPU away and give the lock back, as `sysbench threads` does: an event is a
//! thousand times that with one lock, and the next event has the next lock, whichever thread has it (`sb_threads.c`).

use std::sync::atomic::{AtomicU64, Ordering};

use super::locks::Lock;
use super::measure::{by_threads, each_for_itself};
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--thread-yields` and `--thread-locks` of sysbench by default.
const YIELDS: u64 = 1000;
const LOCKS: usize = 8;

/// What all threads have.
struct All {
    locks: Locks,
    events: AtomicU64,
}

/// Two threads that hold different locks of one cache line wait for each other. Where the first begins in its line decides which locks
/// share one: it begins where it does in sysbench.
#[repr(C, align(64))]
struct Locks {
    _before: [u8; 32],
    all: [Lock<0>; LOCKS],
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let threads = count();
    let all = All::new();
    // A function of the C library as in sysbench: to return from one after a system call takes its time.
    let each = by_threads(threads, args.time, |_, events| {
        all.work(events, std::thread::yield_now);
    });
    // sysbench counts the events of a time, so no thread waits for another.
    let events = each_for_itself(&each).rate("threads", "events/s", 1.0);
    Ok(Found::of(vec![events])
        .with("threads", threads)
        .with("locks", LOCKS)
        .with("yields", YIELDS))
}

/// As many threads as the program may use CPUs, at least two: one alone waits for nobody.
pub(super) fn count() -> usize {
    let cpus = std::thread::available_parallelism();
    cpus.map_or(2, usize::from).max(2)
}

impl All {
    fn new() -> Self {
        Self {
            locks: Locks {
                _before: [0; 32],
                all: std::array::from_fn(|_| Lock::new()),
            },
            events: AtomicU64::new(0),
        }
    }

    /// Does so many of the events that all threads count together, of which each is a thousand times this under a lock.
    fn work(&self, events: u64, under_lock: impl Fn()) {
        for _ in 0..events {
            let event = self.events.fetch_add(1, Ordering::Relaxed);
            let lock = &self.locks.all[(event % LOCKS as u64) as usize];
            for _ in 0..YIELDS {
                lock.hold(&under_lock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_does_all_of_its_yields_under_a_lock() {
        let all = All::new();
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    all.work(2, || {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(
            (done.load(Ordering::Relaxed), all.events.into_inner()),
            (6000, 6)
        );
    }

    #[test]
    fn the_first_lock_begins_in_the_middle_of_a_cache_line() {
        let all = All::new();
        assert_eq!((&raw const all.locks.all).addr() % 64, 32);
    }
}
