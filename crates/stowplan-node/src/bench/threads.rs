//! Threads that take one of eight locks, give their CPU away and give the lock back, as `sysbench threads` does: an event is a
//! thousand times that with one lock, and the next event has the next lock, whichever thread has it (`sb_threads.c`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::measure::{by_threads, each_for_itself};
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--thread-yields` and `--thread-locks` of sysbench by default.
const YIELDS: u64 = 1000;
const LOCKS: usize = 8;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let threads = count();
    let locks: [Mutex<u64>; LOCKS] = Default::default();
    let events = AtomicU64::new(0);
    // Measured by yields: an event is too long a step for a short measurement.
    let each = by_threads(threads, args.time, |_, yields| {
        do_yields(&locks, &events, yields);
    });
    // sysbench counts the events of a time, so no thread waits for another.
    let events = each_for_itself(&each).rate("threads", "events/s", 1.0 / YIELDS as f64);
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

/// Does so many, as one of the threads that have these locks and count events together.
fn do_yields(locks: &[Mutex<u64>; LOCKS], events: &AtomicU64, yields: u64) {
    let mut left = yields;
    while left > 0 {
        let event = events.fetch_add(1, Ordering::Relaxed);
        let lock = &locks[(event % LOCKS as u64) as usize];
        let now = left.min(YIELDS);
        for _ in 0..now {
            let mut done = lock.lock().unwrap_or_else(PoisonError::into_inner);
            // A function of the C library as in sysbench: to return from one after a system call takes its time.
            std::thread::yield_now();
            *done += 1;
        }
        left -= now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_does_all_of_its_yields_under_a_lock() {
        let locks: [Mutex<u64>; LOCKS] = Default::default();
        let events = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| do_yields(&locks, &events, 2 * YIELDS + 100));
            }
        });
        let done = locks.into_iter().map(|lock| lock.into_inner().unwrap());
        assert_eq!((done.sum::<u64>(), events.into_inner()), (6300, 9));
    }
}
