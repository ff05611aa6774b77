//! The chains that a callback is on: which of them data comes along, and when those that end with it have had their first
//! output, of which the agent is told once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stowplan_wire::announce::Announcement;
use stowplan_wire::service::{CallbackPlan, ChainPlacePlan};

use super::callback::is_armed;
use crate::announce::Agent;

/// Chains of one callback, by their number in the stack a bit each.
#[derive(Debug)]
pub struct Chains {
    callback: u32,
    begins: u64,
    on: u64,
    /// Those that end with it and have had no output yet.
    missing: AtomicU64,
    agent: Arc<Agent>,
}

impl Chains {
    /// Those of a callback.
    #[must_use]
    pub fn of(callback: &CallbackPlan, agent: &Arc<Agent>) -> Self {
        let bits = |which: fn(&ChainPlacePlan) -> bool| {
            let places = callback.chains.iter().filter(|place| which(place));
            places.fold(0, |bits, place| bits | bit(place.chain))
        };
        Self {
            callback: callback.id,
            begins: bits(|place| place.begins),
            on: bits(|_| true),
            missing: AtomicU64::new(bits(|place| place.ends)),
            agent: Arc::clone(agent),
        }
    }

    /// The chains along which data leaves the callback that came along these.
    #[must_use]
    pub fn along(&self, came: u64) -> u64 {
        self.begins | (came & self.on)
    }

    /// The callback has ended on data that left it along these, and what it published is out.
    pub fn output(&self, along: u64) {
        let missing = self.missing.load(Ordering::Acquire);
        if missing & along == 0 {
            return;
        }
        let before = self.missing.fetch_and(!along, Ordering::AcqRel);
        // With more threads than one another call may have been the last.
        if before != 0 && before & !along == 0 && !is_armed() {
            // An agent that is gone is found by the thread that listens to it.
            let _gone = self.agent.say(&Announcement::ChainsOutput {
                callback: self.callback,
            });
        }
    }
}

/// No bit beyond the 64th chain: of the output of such a one nobody is told, and whoever waits for it waits in vain.
fn bit(chain: u32) -> u64 {
    1_u64.checked_shl(chain).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_beyond_the_last_bit_have_none() {
        assert_eq!((bit(0), bit(63), bit(64)), (1, 1 << 63, 0));
    }
}
