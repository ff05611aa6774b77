//! Threads that only keep CPUs busy: counted work without a pause, from the start of their process to the end of the window.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::record;
use crate::work::WorkingSet;

/// Working set: it fits every first-level cache, so that the threads take time of CPUs and no more.
const WORKING_SET_BYTES: u64 = 4096;

/// Iterations between two looks at the clock, about 0.1 ms.
const CHUNK: u64 = 100_000;

/// How long the threads of a process work. Nothing that is measured waits for them but for a CPU.
#[derive(Debug)]
pub struct Background {
    /// Instant of CLOCK_MONOTONIC, ns.
    until_ns: AtomicU64,
    ending: AtomicBool,
}

impl Background {
    /// Without an end so far.
    #[must_use]
    pub fn new() -> Self {
        Self {
            until_ns: AtomicU64::new(u64::MAX),
            ending: AtomicBool::new(false),
        }
    }

    /// Says when the window ends, and the work with it.
    pub fn arm(&self, until_ns: u64) {
        self.until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// Ends the threads.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// What a thread does.
    pub fn run(&self) {
        let work = WorkingSet::new(WORKING_SET_BYTES);
        while !self.ending.load(Ordering::Relaxed)
            && record::now() < self.until_ns.load(Ordering::Relaxed)
        {
            work.run(CHUNK);
        }
    }
}
