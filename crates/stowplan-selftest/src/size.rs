//! How large the known difference is: fixed from the comparisons of equal deployments, before any that has it.

use std::path::Path;

use stowplan_judge::{Figures, Part as Figure};
use stowplan_model::Stack;
use stowplan_results::InjectedDifference;

use crate::design::{Design, Part};
use crate::error::SelftestError;
use crate::phases::{Block, central};
use crate::read::{Read, in_chain, median};
use crate::target::Target;

/// Least size as a share of the metric (docs/measuring.md §5).
const LEAST_SHARE: f64 = 0.1;

/// Size in half-widths of the comparisons of equal deployments.
const HALF_WIDTHS: f64 = 3.0;

/// Largest size as a share of the timer's period.
const MOST_OF_PERIOD: f64 = 0.25;

/// What the comparisons of equal deployments say.
#[derive(Debug, Default)]
struct Equal {
    half_widths: Vec<f64>,
    latencies_ns: Vec<f64>,
    ns_per_iteration: Vec<f64>,
    arrivals_ns: Vec<f64>,
}

/// The difference to inject, from the equal pairs in the folder of a selftest.
///
/// # Errors
/// When one of them gives no comparison or cannot be read.
pub fn injected(folder: &Path, design: &Design) -> Result<InjectedDifference, SelftestError> {
    let stack = design.stack()?;
    let target = Target::find(&stack)?;
    let mut equal = Equal::default();
    for part in design.parts().filter(|p| matches!(p, Part::Equal(_))) {
        let read = Read::open(folder, part)?;
        for comparison in read.comparisons(design, &target)? {
            equal.half_widths.push(comparison.half_width());
        }
        let calibrations = read.judgement.figures.experiment.calibration.iter();
        equal
            .ns_per_iteration
            .extend(calibrations.map(|c| c.speed().ns_of(target.worker_working_set_bytes)));
        equal.add(&read.judgement.figures, &stack, &target);
    }
    sized(equal, &target)
}

impl Equal {
    fn add(&mut self, figures: &Figures, stack: &Stack, target: &Target) {
        let experiment = &figures.experiment;
        for run in in_chain(figures, &target.chain) {
            let mean = |figure| run.parts.get(&figure)?.mean;
            self.latencies_ns.extend(mean(Figure::E2ePaper));
            let block = Block {
                seed: experiment.seed,
                block: run.block - 1,
                blocks: experiment.blocks_planned,
            };
            let idle_ns = mean(Figure::Idle);
            let arrival = idle_ns.and_then(|idle| block.arrival_ns(stack, target, idle));
            self.arrivals_ns.extend(arrival);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times within a period in ns fit u64"
)]
fn sized(equal: Equal, target: &Target) -> Result<InjectedDifference, SelftestError> {
    let period = target.timer_period_ns as f64;
    let arrival_ns = central(&equal.arrivals_ns, period).unwrap_or(0.0);
    let latency_ns = equal.latencies_ns.iter().sum::<f64>() / equal.latencies_ns.len() as f64;
    let share = (HALF_WIDTHS * median(equal.half_widths)?).max(LEAST_SHARE);
    // An instrument that misses its half-width by far would else ask for more than the period holds: work that lasts
    // until the timer's next release moves that, too.
    let ns = (share * latency_ns).min(period * MOST_OF_PERIOD).round();
    let ns_per_iteration = median(equal.ns_per_iteration)?;
    let work_iterations = ns / ns_per_iteration;
    Ok(InjectedDifference {
        share,
        ns: ns as u64,
        work_callback: target.worker.to_string(),
        work_factor: 1.0 + work_iterations / target.worker_iterations,
        work_iterations,
        ns_per_iteration,
        timer: target.timer.to_string(),
        arrival_ns: arrival_ns.round() as u64 % target.timer_period_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::tests::design;

    fn of(half_width: f64, latency_ns: f64) -> InjectedDifference {
        let target = Target::find(&design(1).stack().unwrap()).unwrap();
        let equal = Equal {
            half_widths: vec![half_width, 9.0, 0.0],
            latencies_ns: vec![latency_ns - 1e6, latency_ns + 1e6],
            ns_per_iteration: vec![1.25, 1.25, 2.0],
            arrivals_ns: vec![12e6, 13e6, 40e6],
        };
        sized(equal, &target).unwrap()
    }

    /// By hand: a tenth of 40 ms is 4 ms, at 1.25 ns 3.2 million iterations beside the planner's 3 million.
    #[test]
    fn a_tenth_is_injected_where_intervals_are_narrow() {
        let injected = of(0.01, 40e6);
        assert_eq!((injected.share, injected.ns), (0.1, 4_000_000));
        assert_eq!(injected.work_iterations, 3.2e6);
        assert_eq!(injected.work_factor, 1.0 + 3.2 / 3.0);
        assert_eq!(injected.arrival_ns, 12_000_000);
    }

    #[test]
    fn it_is_three_half_widths_and_at_most_a_quarter_of_the_period() {
        let injected = of(0.05, 40e6);
        assert!((injected.share - 0.15).abs() < 1e-12);
        assert_eq!(injected.ns, 6_000_000);
        let wide = of(0.5, 40e6);
        assert_eq!((wide.share, wide.ns), (1.5, 12_500_000));
    }
}
