//! Threads that count and then take one of many locks for a moment, as `sysbench mutex` does (`sb_mutex.c`). Under its lock each adds
//! to one number that all have.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use super::locks::Lock;
use super::measure::{by_threads, until_the_last};
use super::threads::count;
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--mutex-num` and `--mutex-loops` of sysbench by default.
const LOCKS: usize = 4096;
const LOOPS: u32 = 10_000;

/// Bytes behind each lock of sysbench.
const APART: usize = 256;

/// What all threads have.
struct All {
    locks: Vec<Lock<APART>>,
    /// How far they count.
    loops: u32,
    /// What each adds to. One can miss what another adds, because they have different locks: that is so in sysbench as well.
    number: AtomicU32,
}

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let threads = count();
    let all = All::new(LOCKS, LOOPS);
    let each = by_threads(threads, args.time, |thread, times| {
        all.take(thread, times);
    });
    // As with sysbench, where each thread has so many locks and the slowest decides.
    let all = until_the_last(&each);
    Ok(Found::of(vec![all.rate("mutex", "locks/s", 1.0)])
        .with("threads", threads)
        .with("locks", LOCKS)
        .with("loops", LOOPS))
}

impl All {
    fn new(locks: usize, loops: u32) -> Self {
        Self {
            locks: std::iter::repeat_with(Lock::new).take(locks).collect(),
            loops,
            number: AtomicU32::new(0),
        }
    }

    /// Takes so many locks, as this thread, and counts to the limit before each.
    fn take(&self, thread: usize, times: u64) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1);
        // Read from the stack each time, as in sysbench: that keeps the loop as well.
        let limit = AtomicU32::new(self.loops);
        let limit = black_box(&limit);
        for _ in 0..times {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let which = state % self.locks.len() as u64;
            let mut counted = 0;
            while counted < limit.load(Ordering::Relaxed) {
                counted += 1;
            }
            self.locks[which as usize].hold(|| {
                let before = self.number.load(Ordering::Relaxed);
                self.number.store(before.wrapping_add(1), Ordering::Relaxed);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_that_is_taken_is_counted() {
        let all = All::new(1, 1);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let all = &all;
                scope.spawn(move || all.take(thread, 50));
            }
        });
        assert_eq!(all.number.into_inner(), 150);
    }
}
