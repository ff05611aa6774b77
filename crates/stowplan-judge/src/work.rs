//! Whether work takes the CPU time that the calibration of its block says.

use std::fmt;

use stowplan_results::{BlockCalibration, CallbackRow};
use stowplan_stats::Sorted;

/// Calibrated work of a call, ns, from which on its CPU time is held against it. Of less work, what a call needs beside
/// it to take and send messages would be told as a fault of the calibration.
const LEAST_WORK_NS: f64 = 1e6;

/// The slowest block may take so many times what the fastest takes for the same work.
const STEADY: f64 = 1.1;

/// Says so where the same work did not take the same time in all blocks: the machine has other speeds, or somebody outside
/// of it uses its cores, which steal does not show.
pub(crate) fn unsteady(calibration: &[BlockCalibration]) -> Option<String> {
    let took = calibration.iter().map(|block| block.ns_per_iteration);
    let (least, most) = took.fold((f64::INFINITY, 0.0_f64), |(least, most), ns| {
        (least.min(ns), most.max(ns))
    });
    (most > least * STEADY).then(|| {
        format!(
            "the speed of this machine changed: the same work took from {least:.2} to {most:.2} ns an iteration at the beginning \
             of the blocks, which makes every interval wider"
        )
    })
}

/// CPU time of callbacks as a ratio to that of their iterations by the calibration. The samples are the medians of the
/// calls of each callback in each run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkRatio {
    /// Callbacks of all runs.
    pub callbacks: usize,
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub q25: f64,
    /// Upper quartile.
    pub q75: f64,
}

impl WorkRatio {
    fn of(ratios: Vec<f64>) -> Option<Self> {
        let callbacks = ratios.len();
        let sorted = Sorted::new(ratios).ok()?;
        Some(Self {
            callbacks,
            median: sorted.quantile(0.5),
            q25: sorted.quantile(0.25),
            q75: sorted.quantile(0.75),
        })
    }
}

impl fmt::Display for WorkRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "work takes {:.3} times the CPU time that its block's calibration says (median of {}, quartiles {:.3} and {:.3})",
            self.median, self.callbacks, self.q25, self.q75
        )
    }
}

/// The ratio over all callbacks; `None` where CPU time was not recorded, or none has work enough.
pub(crate) fn of_all(rows: &[CallbackRow]) -> Option<WorkRatio> {
    WorkRatio::of(rows.iter().filter_map(ratio).collect())
}

fn ratio(row: &CallbackRow) -> Option<f64> {
    let calibrated = row.calibrated_iteration_ns?;
    let enough = row.iterations_mean? * calibrated >= LEAST_WORK_NS;
    enough.then_some(row.cpu_iteration_median_ns? / calibrated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(iterations: f64, cpu: Option<f64>, calibrated: Option<f64>) -> CallbackRow {
        CallbackRow {
            iterations_mean: Some(iterations),
            cpu_iteration_median_ns: cpu,
            calibrated_iteration_ns: calibrated,
            ..CallbackRow::new((1, 1, "d".into()), "c".into())
        }
    }

    #[test]
    fn a_callback_with_a_millisecond_of_work_is_held_against_the_calibration() {
        assert_eq!(ratio(&row(1e6, Some(1.5), Some(1.25))), Some(1.2));
        assert_eq!(ratio(&row(0.5e6, Some(1.5), Some(1.25))), None);
        assert_eq!(ratio(&row(1e6, None, Some(1.25))), None);
        assert_eq!(ratio(&row(1e6, Some(1.5), None)), None);
    }

    #[test]
    fn a_machine_that_changes_its_speed_is_told() {
        let blocks = |took: &[f64]| -> Vec<BlockCalibration> {
            let blocks = (1..).zip(took);
            blocks
                .map(|(block, ns)| BlockCalibration {
                    block,
                    ns_per_iteration: *ns,
                    larger: Vec::new(),
                })
                .collect()
        };
        assert_eq!(unsteady(&[]), None);
        assert_eq!(unsteady(&blocks(&[1.37, 1.45, 1.4])), None);
        let told = unsteady(&blocks(&[1.76, 3.28, 2.0])).unwrap();
        assert!(told.contains("from 1.76 to 3.28 ns"), "{told}");
    }

    #[test]
    fn the_ratio_is_told_with_its_quartiles() {
        let found = WorkRatio::of(vec![1.0, 1.5, 1.25]).unwrap();
        assert_eq!(
            found.to_string(),
            "work takes 1.250 times the CPU time that its block's calibration says (median of 3, quartiles 1.125 and \
             1.375)"
        );
        assert_eq!(WorkRatio::of(Vec::new()), None);
    }
}
