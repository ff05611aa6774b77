//! Corrects a stack by a run of it: what machine and programs add to the work and to the launch is taken off again.

use crate::draft::{Draft, Figure, LogNormal};
use crate::facts::Facts;
use crate::held::{Came, HeldCallback, hold};
use crate::launch::LaunchTimes;

/// CPU time of a call after which the scheduler may let others go first: how long a longer one waits is another in each
/// run. About the base slice of EEVDF, 0.7 ms times one and the binary logarithm of the CPUs (kernel/sched/fair.c).
const SLICE_NS: f64 = 1e6;

/// A run of the stack that was learnt from the same trace without a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What the run's trace says.
    pub run: Facts,
    /// Factor on callback work in that run.
    pub work_scale: f64,
}

/// What a fit changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// Callbacks whose work was corrected.
    pub callbacks: u64,
    /// How many times as long as in the trace the launch has to take for its shares to be the trace's: this machine
    /// needs as much for what the stack does not model. `None` where one of both has no launch.
    pub stretch: Option<f64>,
}

impl Fit {
    /// Corrects the work of each callback whose median is known well enough in both, by the difference of the medians;
    /// of longer calls by that of their CPU time, where the run has it.
    pub(crate) fn work(&self, draft: &mut Draft, trace: &Facts, ns_per_iteration: f64) -> u64 {
        let held = hold(trace, &self.run, self.work_scale);
        let mut corrected = 0;
        for node in draft.modules.iter_mut().flat_map(|m| &mut m.nodes) {
            for callback in &mut node.callbacks {
                let same = |h: &&HeldCallback| {
                    h.trace.node == node.name && h.trace.callback == callback.name
                };
                let known = held.callbacks.iter().find(same);
                let Some((figure, add_ns)) = callback.work.as_mut().zip(known.and_then(missing_ns))
                else {
                    continue;
                };
                shift(figure, add_ns / self.work_scale / ns_per_iteration);
                corrected += 1;
            }
        }
        corrected
    }

    /// Times that the stack has to model so that its launch has the trace's shares, and how many times as long it takes.
    pub(crate) fn launch(&self, trace: &LaunchTimes) -> Option<(LaunchTimes, f64)> {
        let run = self.run.launch?;
        let parts = |t: &LaunchTimes| [t.evaluate_ns(), t.spawn_ns(), t.load_ns()];
        let wanted = parts(trace).map(|ns| ns as f64);
        // What came on top of what was modelled, which was the trace's time.
        let mut beyond = parts(&run).map(|ns| ns as f64);
        for (beyond, wanted) in beyond.iter_mut().zip(wanted) {
            *beyond = (*beyond - wanted).max(0.0);
        }
        let stretch = beyond
            .iter()
            .zip(wanted)
            .filter(|(_, wanted)| *wanted > 0.0)
            .map(|(beyond, wanted)| beyond / wanted)
            .fold(1.0, f64::max);
        let model = |part: usize| (wanted[part] * stretch - beyond[part]).max(0.0) as i64;
        let begin_ns = trace.begin_ns;
        let first_node_ns = begin_ns + model(0);
        let last_process_ns = first_node_ns + model(1);
        let times = LaunchTimes {
            begin_ns,
            first_node_ns,
            last_process_ns,
            last_node_ns: last_process_ns + model(2),
            ..*trace
        };
        Some((times, stretch))
    }
}

/// What the run's median lacks, in nanoseconds; `None` where one of the medians is not known well enough.
fn missing_ns(held: &HeldCallback) -> Option<f64> {
    let run = held.run.as_ref()?;
    let (came, median_ns) = match &held.cpu {
        Some(cpu) if run.cpu_median_ns? > SLICE_NS => (cpu, run.cpu_median_ns),
        _ => (&held.median, run.median_ns),
    };
    if matches!(came, Came::Unsaid(_)) {
        return None;
    }
    Some(held.expected_ns? - median_ns?)
}

/// Adds iterations to a figure, which stays above zero, and so does its range.
fn shift(figure: &mut Figure, by: f64) {
    let moved = |value: u64| (value as f64 + by).max(0.0).round() as u64;
    let Some((low, high, because)) = figure.assumed.take() else {
        figure.value = moved(figure.value);
        return;
    };
    let because = format!("{because}; fitted to a run");
    let shifted = figure.spread.map(|spread| LogNormal {
        median: moved(spread.median).max(1),
        max: moved(spread.max).max(2),
        ..spread
    });
    *figure = match shifted {
        Some(spread) => Figure::spread(spread, moved(low), moved(high), because),
        None => Figure::assumed(moved(figure.value), moved(low), moved(high), because),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::CallbackFacts;

    fn times(parts: [i64; 3]) -> LaunchTimes {
        LaunchTimes {
            begin_ns: 0,
            first_node_ns: parts[0],
            last_process_ns: parts[0] + parts[1],
            last_node_ns: parts.iter().sum(),
            processes: 3,
            components: 4,
        }
    }

    fn fitted(run: [i64; 3]) -> (LaunchTimes, f64) {
        let fit = Fit {
            run: Facts {
                launch: Some(times(run)),
                ..Facts::default()
            },
            work_scale: 1.0,
        };
        fit.launch(&times([100, 40, 60])).unwrap()
    }

    #[test]
    fn what_the_machine_adds_is_not_modelled() {
        let (model, stretch) = fitted([110, 50, 80]);
        assert!((stretch - 1.0).abs() < 1e-9);
        assert_eq!(
            [model.evaluate_ns(), model.spawn_ns(), model.load_ns()],
            [90, 30, 40]
        );
    }

    #[test]
    fn a_slow_machine_stretches_the_launch() {
        // Loading took three times its time on top: so may everything.
        let (model, stretch) = fitted([100, 60, 240]);
        assert!((stretch - 3.0).abs() < 1e-9);
        assert_eq!(
            [model.evaluate_ns(), model.spawn_ns(), model.load_ns()],
            [300, 100, 0]
        );
    }

    #[test]
    fn long_calls_are_corrected_by_their_cpu_time() {
        let of = |cpu_ns: f64, wall_ns: f64| {
            let side = |median: f64| CallbackFacts {
                node: "n".into(),
                callback: "c".into(),
                calls: 100,
                per_s: Some(10.0),
                interval_ns: None,
                per_s_error: Some(0.001),
                median_ns: Some(median),
                median_range_ns: Some((median, median)),
                cpu_median_ns: Some(cpu_ns),
                cpu_median_range_ns: Some((cpu_ns, cpu_ns)),
                sent_ns: Some(0.0),
                work_ns: None,
            };
            let facts = |median| Facts {
                callbacks: vec![side(median)],
                ..Facts::default()
            };
            let held = hold(&facts(cpu_ns - 10.0), &facts(wall_ns), 1.0);
            missing_ns(&held.callbacks[0])
        };
        assert_eq!(of(100_000.0, 100_500.0), Some(-510.0));
        assert_eq!(of(9_000_000.0, 9_500_000.0), Some(-10.0));
    }

    #[test]
    fn work_is_moved_with_its_range() {
        let mut figure = Figure::assumed(100, 90, 150, "x");
        shift(&mut figure, -20.0);
        assert_eq!(figure, Figure::assumed(80, 70, 130, "x; fitted to a run"));
        shift(&mut figure, -100.0);
        assert_eq!(figure.value, 0);
    }
}
