//! Threads that count and then take one of many locks for a moment, as `sysbench mutex` does.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::measure::{LONG_PIECE, Timed, in_pieces};
use super::threads::count;
use super::{BenchArgs, Found};
use crate::error::NodeError;

/// `--mutex-num` and `--mutex-loops` of sysbench by default.
const LOCKS: usize = 4096;
const LOOPS: u32 = 10_000;

pub(super) fn run(args: &BenchArgs) -> Result<Found, NodeError> {
    let threads = count();
    let locks: Vec<Mutex<u64>> = (0..LOCKS).map(|_| Mutex::new(0)).collect();
    let timed = in_pieces(LONG_PIECE, args.time, |times| {
        all(&locks, threads, times, LOOPS);
    });
    let all = Timed {
        count: timed.count * threads as u64,
        ..timed
    };
    Ok(Found::of(vec![all.rate("mutex", "locks/s", 1.0)])
        .with("threads", threads)
        .with("locks", LOCKS)
        .with("loops", LOOPS))
}

/// Lets each thread take so many locks, and count to `loops` before each.
fn all(locks: &[Mutex<u64>], threads: usize, times: u64, loops: u32) {
    let loops = &AtomicU32::new(loops);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1);
                for _ in 0..times {
                    // The limit is read from memory each time, as in sysbench: that keeps the loop as well.
                    let mut counted = 0;
                    while counted < loops.load(Ordering::Relaxed) {
                        counted += 1;
                    }
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let lock = &locks[(state % locks.len() as u64) as usize];
                    *lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_that_is_taken_is_counted() {
        let locks: Vec<Mutex<u64>> = (0..16).map(|_| Mutex::new(0)).collect();
        all(&locks, 3, 50, 1);
        let taken: u64 = locks.iter().map(|lock| *lock.lock().unwrap()).sum();
        assert_eq!(taken, 150);
    }
}
