//! Threads that only keep CPUs busy: counted work without a pause, from arming to the end of the window.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::record;
use crate::work::WorkingSet;

/// Working set: it fits every first-level cache, so that the threads take time of CPUs and no more.
const WORKING_SET_BYTES: u64 = 4096;

/// Iterations between two looks at the clock, about 0.1 ms.
const CHUNK: u64 = 100_000;

/// When to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Not yet.
    Wait,
    /// From one instant of CLOCK_MONOTONIC to another.
    Work { from_ns: u64, until_ns: u64 },
    /// Never again.
    End,
}

/// What the threads of a process are asked. They take its lock outside of the window only: nothing that is measured waits
/// for them but for a CPU.
#[derive(Debug)]
pub struct Background {
    asked: Mutex<Asked>,
    changed: Condvar,
    /// Looked at in the window too, which a process may have to end in.
    ending: AtomicBool,
}

impl Background {
    /// Nothing is asked of the threads yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            asked: Mutex::new(Asked::Wait),
            changed: Condvar::new(),
            ending: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, asked: Asked) {
        *self.lock() = asked;
        self.changed.notify_all();
    }

    /// Lets the threads work in this window.
    pub fn arm(&self, from_ns: u64, until_ns: u64) {
        self.ask(Asked::Work { from_ns, until_ns });
    }

    /// Ends the threads.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.ask(Asked::End);
    }

    /// What a thread does until it is to end.
    pub fn run(&self) {
        let work = WorkingSet::new(WORKING_SET_BYTES);
        let mut done = Asked::Wait;
        loop {
            let asked = self.changed.wait_while(self.lock(), |asked| *asked == done);
            let asked = *asked.unwrap_or_else(PoisonError::into_inner);
            match asked {
                Asked::Wait => {}
                Asked::Work { from_ns, until_ns } => self.window(&work, from_ns, until_ns),
                Asked::End => return,
            }
            done = asked;
        }
    }

    fn window(&self, work: &WorkingSet, from_ns: u64, until_ns: u64) {
        std::thread::sleep(Duration::from_nanos(from_ns.saturating_sub(record::now())));
        while record::now() < until_ns && !self.ending.load(Ordering::Relaxed) {
            work.run(CHUNK);
        }
    }
}
