//! When data arrives at the timer that it waits for, and phases with which it never arrives near a release.

use stowplan_measure::lower::callback_number;
use stowplan_measure::phases::{phase_share, timer_phase_ns};
use stowplan_model::{PhaseSpan, Stack};
use stowplan_results::InjectedDifference;

use crate::target::Target;

/// What part of the timer's period is kept free on either side of the arrival of data: one in so many. Within it jitter
/// and drawn work can move the arrival without another release taking the data.
const FREE: u64 = 10;

/// Spans of the phases of source and timer. A timer that is released later by what is injected takes the same data as
/// before, so that every instance waits exactly so much longer: drawn from the whole period, some instances would be
/// taken by the release before, and the mean would not change at all.
pub(crate) fn spans(target: &Target, injected: &InjectedDifference) -> Vec<PhaseSpan> {
    let period_ns = target.timer_period_ns;
    let free_ns = period_ns / FREE;
    // Only the difference of the two matters. Half a period away from arming nothing of the first release is cut off.
    let source_ns = target.source_period_ns / 2;
    vec![
        PhaseSpan {
            callback: target.source.clone(),
            from_ns: source_ns,
            length_ns: 0,
        },
        PhaseSpan {
            callback: target.timer.clone(),
            from_ns: (source_ns + injected.arrival_ns + free_ns) % period_ns,
            length_ns: period_ns.saturating_sub(injected.ns + 2 * free_ns),
        },
    ]
}

/// A block of an experiment whose phases are drawn from whole periods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Seed of the experiment.
    pub seed: u64,
    /// Number of the block, from 0.
    pub block: u32,
    /// Blocks of the experiment.
    pub blocks: u32,
}

impl Block {
    /// When data arrived at the timer's node after its release, modulo the timer's period, in ns: known from the phases
    /// and from how long it then waited (`idle_ns`). `None` where the stack has no such callbacks.
    pub(crate) fn arrival_ns(self, stack: &Stack, target: &Target, idle_ns: f64) -> Option<f64> {
        let phase = |callback, period_ns| {
            let number = callback_number(stack, callback)?;
            let share = phase_share(self.seed, number, self.block, self.blocks);
            Some(timer_phase_ns(share, period_ns, None, 0) as f64)
        };
        let timer = phase(&target.timer, target.timer_period_ns)?;
        let source = phase(&target.source, target.source_period_ns)?;
        Some((timer - source - idle_ns).rem_euclid(target.timer_period_ns as f64))
    }
}

/// The instant that all others of a period are nearest to. Unlike a mean it is not moved by blocks in which data arrived
/// so near a release that some instances waited for the next one.
pub(crate) fn central(instants: &[f64], period: f64) -> Option<f64> {
    let apart = |a: f64, b: f64| {
        let ahead = (a - b).rem_euclid(period);
        ahead.min(period - ahead)
    };
    let all = |from: f64| instants.iter().map(|to| apart(from, *to)).sum::<f64>();
    let candidates = instants.iter().copied();
    candidates.min_by(|a, b| all(*a).total_cmp(&all(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::tests::{design, difference};

    #[test]
    fn the_central_instant_is_found_across_the_end_of_the_period() {
        assert_eq!(central(&[1.0, 49.0, 0.0, 48.0, 2.0], 50.0), Some(0.0));
        assert_eq!(central(&[30.0, 12.0, 11.0, 13.0], 50.0), Some(12.0));
        assert_eq!(central(&[], 50.0), None);
    }

    #[test]
    fn data_never_arrives_near_a_release_with_or_without_the_injection() {
        let mut design = design(1);
        let stack = design.stack().unwrap();
        let target = Target::find(&stack).unwrap();
        let period_ns = target.timer_period_ns;
        for (arrival_ns, ns) in [(12_000_000, 4_000_000), (49_000_000, 25_000_000), (0, 1)] {
            let injected = InjectedDifference {
                arrival_ns,
                ns,
                ..difference()
            };
            design.injected = Some(injected.clone());
            let spans = spans(&target, &injected);
            assert_eq!((spans[0].from_ns, spans[0].length_ns), (50_000_000, 0));
            for block in 0..10 {
                let share = phase_share(3, 10, block, 10);
                let timer = timer_phase_ns(share, period_ns, Some(&spans[1]), 0);
                let arrival = (50_000_000 + arrival_ns) % period_ns;
                let wait = (timer + period_ns - arrival) % period_ns;
                let free = period_ns / 10;
                assert!(
                    wait >= free && wait + ns <= period_ns - free,
                    "{wait} ns, and {ns} ns more"
                );
            }
        }
    }

    #[test]
    fn the_arrival_is_what_phases_and_wait_leave() {
        let design = design(1);
        let stack = design.stack().unwrap();
        let target = Target::find(&stack).unwrap();
        let block = Block {
            seed: 7,
            block: 3,
            blocks: 10,
        };
        // The driver is callback 0 of 'hello', and the planner's timer comes after its two subscriptions.
        let timer = callback_number(&stack, &target.timer).unwrap();
        assert_eq!(callback_number(&stack, &target.source), Some(0));
        let source = (phase_share(7, 0, 3, 10) * 100e6).floor();
        let timer = (phase_share(7, timer, 3, 10) * 50e6).floor();
        // Data that arrives 12 ms after its release waits for the first release of the timer after that.
        let wait = (timer - source - 12e6).rem_euclid(50e6);
        assert_eq!(block.arrival_ns(&stack, &target, wait), Some(12e6));
    }
}
