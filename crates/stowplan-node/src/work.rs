//! Counted work: so many steps of a walk over a working set. No clock is read inside.

use std::hint::black_box;

use stowplan_wire::service::{ExecutorCostPlan, SerialisationPlan};

const LINE_BYTES: usize = 64;
const SLOTS: usize = LINE_BYTES / 4;

/// The private memory of a callback's work.
///
/// One closed walk through all of it: along a cache line slot by slot, then to another line in an order
/// that the hardware cannot guess. Each step needs the result of the step before, so it takes one load
/// latency of the cache level that holds the working set, about a nanosecond in the first.
#[derive(Debug)]
pub struct WorkingSet {
    next: Box<[u32]>,
}

impl WorkingSet {
    /// At least `bytes`, at least one cache line; resident from now on. Equal sizes give equal walks.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let lines = usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .div_ceil(LINE_BYTES)
            .max(1);
        // A walk numbers its slots with 32 bits.
        let lines = lines.min(u32::MAX as usize / SLOTS);
        // Sattolo's shuffle makes one cycle of all lines.
        let mut order: Vec<u32> = (0..lines).map(|line| line as u32).collect();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for last in (1..lines).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(last, (state % last as u64) as usize);
        }
        let mut next = vec![0; lines * SLOTS].into_boxed_slice();
        for (line, following) in order.iter().enumerate() {
            let first = line * SLOTS;
            for slot in 0..SLOTS - 1 {
                next[first + slot] = (first + slot + 1) as u32;
            }
            next[first + SLOTS - 1] = following * SLOTS as u32;
        }
        Self { next }
    }

    /// Takes `iterations` steps.
    #[inline(never)]
    pub fn run(&self, iterations: u64) {
        let mut at = 0;
        for _ in 0..iterations {
            at = self.next[at as usize];
        }
        black_box(at);
    }
}

/// Working set of serialising, what a serialiser keeps at hand beside the message itself, and of waiting.
const SMALL_BYTES: u64 = 4096;

/// The counted work of turning messages of a topic into bytes.
#[derive(Debug)]
pub struct Serialiser {
    plan: SerialisationPlan,
    work: WorkingSet,
}

impl Serialiser {
    /// For messages of a topic with this cost.
    #[must_use]
    pub fn new(plan: SerialisationPlan) -> Self {
        Self {
            plan,
            work: WorkingSet::new(SMALL_BYTES),
        }
    }

    /// Does the work for a message with `bytes` of filler.
    pub fn run(&self, bytes: usize) {
        self.work.run(self.plan.iterations(bytes as u64));
    }
}

/// The counted work of waiting for entities.
#[derive(Debug)]
pub struct Waiting {
    plan: ExecutorCostPlan,
    work: WorkingSet,
}

impl Waiting {
    /// For an executor whose waits cost this; `None` where they cost nothing.
    #[must_use]
    pub fn of(plan: ExecutorCostPlan) -> Option<Self> {
        (plan != ExecutorCostPlan::default()).then(|| Self {
            plan,
            work: WorkingSet::new(SMALL_BYTES),
        })
    }

    /// Does the work of one wait for so many entities.
    pub fn run(&self, entities: usize) {
        self.work.run(self.plan.iterations(entities));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_visits_every_slot_once() {
        for bytes in [0, 64, 65, 4096, 100_000] {
            let work = WorkingSet::new(bytes);
            let mut seen = vec![false; work.next.len()];
            let mut at = 0_usize;
            for _ in 0..work.next.len() {
                assert!(!std::mem::replace(&mut seen[at], true));
                at = work.next[at] as usize;
            }
            assert_eq!(at, 0);
            assert!(work.next.len() * 4 >= bytes as usize);
        }
    }
}
