//! Threads that count and then take one of many locks for a moment, as `sysbench mutex` does.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::measure::{by_threads, until_the_last};
use super::threads::count;
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--mutex-num` and `--mutex-loops` of sysbench by default.
const LOCKS: usize = 4096;
const LOOPS: u32 = 10_000;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let threads = count();
    let locks: Vec<Mutex<u64>> = (0..LOCKS).map(|_| Mutex::new(0)).collect();
    let limit = AtomicU32::new(LOOPS);
    let each = by_threads(threads, args.time, |thread, times| {
        take(&locks, thread, times, &limit);
    });
    // As with sysbench, where each thread has so many locks and the slowest decides.
    let all = until_the_last(&each);
    Ok(Found::of(vec![all.rate("mutex", "locks/s", 1.0)])
        .with("threads", threads)
        .with("locks", LOCKS)
        .with("loops", LOOPS))
}

/// Takes so many locks, as this thread, and counts to the limit before each.
fn take(locks: &[Mutex<u64>], thread: usize, times: u64, limit: &AtomicU32) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1);
    for _ in 0..times {
        // The limit is read from memory each time, as in sysbench: that keeps the loop as well.
        let mut counted = 0;
        while counted < limit.load(Ordering::Relaxed) {
            counted += 1;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let lock = &locks[(state % locks.len() as u64) as usize];
        *lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_that_is_taken_is_counted() {
        let locks: Vec<Mutex<u64>> = (0..16).map(|_| Mutex::new(0)).collect();
        let limit = AtomicU32::new(1);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (locks, limit) = (&locks, &limit);
                scope.spawn(move || take(locks, thread, 50, limit));
            }
        });
        let taken: u64 = locks.iter().map(|lock| *lock.lock().unwrap()).sum();
        assert_eq!(taken, 150);
    }
}
