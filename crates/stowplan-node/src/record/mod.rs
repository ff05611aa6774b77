//! The recorder: CTF events into the process's trace buffer.
//!
//! An event costs its encoding and a few stores of the thread's own: no system call, no allocation, no
//! lock. A thread takes its slot with its first event and a packet whenever its last one is full, each
//! by one atomic addition. Events that find no room are counted by class and thread.

mod buffer;
#[cfg(test)]
mod tests;
mod thread;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use rustix::time::{ClockId, clock_gettime};
use stowplan_ctf::events;
use stowplan_ctf::schema::Record;
use stowplan_wire::ring::{CLASSES, Live};

pub use buffer::{Buffer, BufferError};

const _: () = assert!(events::CLASS_COUNT <= CLASSES, "every class has a counter");

static BUFFER: OnceLock<Buffer> = OnceLock::new();

/// Events by name.
pub type Counts = BTreeMap<String, u64>;

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
#[inline]
pub fn now() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread in nanoseconds.
#[must_use]
pub fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    // The clocks read here begin at boot or at the thread's start: never negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Records into `buffer` from now on; without this call nothing is recorded or counted.
///
/// # Panics
/// When called twice.
pub fn install(buffer: Buffer) {
    assert!(BUFFER.set(buffer).is_ok(), "one recorder per process");
}

/// Records an event that happens now.
#[inline]
pub fn event<R: Record>(record: &R) {
    if let Some(buffer) = BUFFER.get() {
        thread::event(buffer, now(), record);
    }
}

/// Records an event with a time that was read just now. Within a thread, times do not go back.
#[inline]
pub fn event_at<R: Record>(time_ns: u64, record: &R) {
    if let Some(buffer) = BUFFER.get() {
        thread::event(buffer, time_ns, record);
    }
}

/// Ends recording: to be called when no thread records any more. Returns what was recorded and what was
/// discarded, by event name.
#[must_use]
pub fn close() -> (Counts, Counts) {
    let Some(buffer) = BUFFER.get() else {
        return Default::default();
    };
    buffer.live().closed.store(1, Ordering::Release);
    totals(buffer.live())
}

fn totals(live: &Live) -> (Counts, Counts) {
    let threads = &live.threads[..];
    let sum = |of: &dyn Fn(usize) -> u64| {
        events::classes()
            .map(|class| (class.name.to_owned(), of(usize::from(class.id))))
            .filter(|(_, count)| *count > 0)
            .collect()
    };
    let recorded = sum(&|class| {
        threads
            .iter()
            .map(|t| t.recorded[class].load(Ordering::Acquire))
            .sum()
    });
    let discarded = sum(&|class| {
        let own: u64 = threads
            .iter()
            .map(|t| t.discarded[class].load(Ordering::Acquire))
            .sum();
        own + live.orphans[class].load(Ordering::Acquire)
    });
    (recorded, discarded)
}
