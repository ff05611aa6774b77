//! Corrects a stack by a run of it: what machine and programs add to the work and to the launch is taken off again.

use std::collections::BTreeMap;

use crate::draft::{Draft, Figure, LogNormal};
use crate::facts::Facts;
use crate::held::{Held, HeldCallback, hold};
use crate::launch::LaunchTimes;

/// CPU time of a call after which the scheduler may let others go first: how long a longer one waits is another in each
/// run. About the base slice of EEVDF, 0.7 ms times one and the binary logarithm of the CPUs (kernel/sched/fair.c).
const SLICE_NS: f64 = 1e6;

/// Works that differ by less than this share of what a call should take tell nothing of how its time grows with them.
const APART: f64 = 0.1;

/// Runs of stacks that were learnt from the same trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// First of the stack that was learnt without a fit, then of those fitted by the rounds before.
    pub rounds: Vec<Round>,
}

/// Runs of one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// What their traces say together ([`Facts::over`]).
    pub run: Facts,
    /// Factor on callback work in those runs.
    pub work_scale: f64,
    /// Nanoseconds that an iteration took in those runs, by the calibrations of their blocks; `None` where not known.
    pub ns_per_iteration: Option<f64>,
    /// Nanoseconds of an iteration that the work of their stack was counted with; `None` where not known.
    pub counted_ns: Option<f64>,
    /// Iterations of the work kernel that their stack has for a call of each callback, not scaled, in the median: by the
    /// names of node and callback. What is not in it worked as in the stack that is learnt without a fit.
    pub iterations: BTreeMap<(String, String), f64>,
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

impl Round {
    /// The runs with the times that they would have where an iteration takes `ns_per_iteration`: how fast a virtual machine
    /// works differs by some 10 % from one hour to the next. As they are where one of both speeds is not known.
    #[must_use]
    pub fn at_speed(&self, ns_per_iteration: Option<f64>) -> Facts {
        let factor = ns_per_iteration.zip(self.ns_per_iteration);
        self.run
            .slower(factor.map_or(1.0, |(wanted, had)| wanted / had))
    }
}

impl Fit {
    /// Corrects the work of each callback that was called often enough in trace and last round, by the medians of the
    /// rounds; of longer calls by those of their CPU time, where the runs have it.
    pub(crate) fn work(&self, draft: &mut Draft, trace: &Facts, ns_per_iteration: f64) -> u64 {
        let held: Vec<(&Round, Held)> = self
            .rounds
            .iter()
            .map(|round| {
                let run = round.at_speed(Some(ns_per_iteration));
                (round, hold(trace, &run, round.work_scale))
            })
            .collect();
        let mut corrected = 0;
        for node in draft.modules.iter_mut().flat_map(|m| &mut m.nodes) {
            for callback in &mut node.callbacks {
                let Some(figure) = &mut callback.work else {
                    continue;
                };
                let name = (node.name.clone(), callback.name.clone());
                let seen = |(round, held): &(&Round, Held)| {
                    let same = |h: &&HeldCallback| {
                        (&h.trace.node, &h.trace.callback) == (&name.0, &name.1)
                    };
                    let (took_ns, wanted_ns) = held.callbacks.iter().find(same).and_then(known)?;
                    let iterations = round.iterations.get(&name).copied();
                    let to_ns = round.work_scale * ns_per_iteration;
                    let work_ns = iterations.unwrap_or(figure.median() as f64) * to_ns;
                    Some((Seen { work_ns, took_ns }, wanted_ns, to_ns))
                };
                let rounds: Vec<_> = held.iter().map(seen).collect();
                let Some(Some((_, wanted_ns, to_ns))) = rounds.last() else {
                    continue;
                };
                let points: Vec<Seen> = rounds.iter().flatten().map(|(seen, ..)| *seen).collect();
                let work = work_that_takes(*wanted_ns, &points) / to_ns;
                shift(figure, work - figure.median() as f64);
                corrected += 1;
            }
        }
        corrected
    }

    /// Times that the stack has to model so that its launch has the trace's shares, and how many times as long it takes.
    pub(crate) fn launch(&self, trace: &LaunchTimes) -> Option<(LaunchTimes, f64)> {
        let mut rounds = self.rounds.iter().map(|round| round.run.launch);
        // The stack of each round was fitted by the rounds before.
        rounds.try_fold((*trace, 1.0), |(modelled, _), run| {
            Some(corrected(trace, &modelled, &run?))
        })
    }
}

/// What a launch has to model to have the trace's shares, where what was `modelled` came as `run`; and how many times as
/// long as the trace's it takes.
fn corrected(trace: &LaunchTimes, modelled: &LaunchTimes, run: &LaunchTimes) -> (LaunchTimes, f64) {
    let parts = |t: &LaunchTimes| [t.evaluate_ns(), t.spawn_ns(), t.load_ns()].map(|ns| ns as f64);
    let wanted = parts(trace);
    let mut beyond = parts(run);
    for (beyond, modelled) in beyond.iter_mut().zip(parts(modelled)) {
        *beyond = (*beyond - modelled).max(0.0);
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
    (times, stretch)
}

/// A callback in a round.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Work of a call in the median.
    work_ns: f64,
    /// What a call took in the median.
    took_ns: f64,
}

/// What a call took and should have taken, in nanoseconds; `None` where one of both is of too few calls for an interval.
/// Wide intervals are no reason to leave a call that takes twice its time as it is.
fn known(held: &HeldCallback) -> Option<(f64, f64)> {
    let run = held.run.as_ref()?;
    let (median_ns, range_ns) = match run.cpu_median_ns {
        Some(cpu_ns) if cpu_ns > SLICE_NS => (run.cpu_median_ns, run.cpu_median_range_ns),
        _ => (run.median_ns, run.median_range_ns),
    };
    range_ns.and(held.trace.median_range_ns)?;
    Some((median_ns?, held.expected_ns?))
}

/// Work with which a call takes `wanted_ns`, by what was seen, the latest last.
///
/// What a call takes beyond its work is between two things: a cost of every call, which stays, and one of the work, as
/// fetching its working set, which goes with it. Two rounds tell by how much more work took longer; one does not, and the
/// middle is taken.
fn work_that_takes(wanted_ns: f64, seen: &[Seen]) -> f64 {
    let Some((last, earlier)) = seen.split_last() else {
        return wanted_ns;
    };
    let cost_of_calls = (last.work_ns + wanted_ns - last.took_ns).max(0.0);
    let cost_of_work = last.work_ns * wanted_ns / last.took_ns;
    let (least, most) = (
        cost_of_calls.min(cost_of_work),
        cost_of_calls.max(cost_of_work),
    );
    let apart = |other: &&Seen| (other.work_ns - last.work_ns).abs() > APART * wanted_ns;
    let Some(other) = earlier.iter().rev().find(apart) else {
        return f64::midpoint(least, most);
    };
    let slope = (last.took_ns - other.took_ns) / (last.work_ns - other.work_ns);
    // A slope that is not positive is noise.
    let longer = (wanted_ns - last.took_ns) / slope.max(f64::MIN_POSITIVE);
    (last.work_ns + longer).clamp(least, most)
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

    fn fitted(runs: &[[i64; 3]]) -> (LaunchTimes, f64) {
        let round = |parts: &[i64; 3]| Round {
            run: Facts {
                launch: Some(times(*parts)),
                ..Facts::default()
            },
            work_scale: 1.0,
            ns_per_iteration: None,
            counted_ns: None,
            iterations: BTreeMap::new(),
        };
        let fit = Fit {
            rounds: runs.iter().map(round).collect(),
        };
        fit.launch(&times([100, 40, 60])).unwrap()
    }

    #[test]
    fn runs_are_told_at_another_speed() {
        let callback = CallbackFacts {
            per_s: Some(10.0),
            median_ns: Some(300.0),
            median_range_ns: Some((240.0, 360.0)),
            cpu_median_ns: Some(270.0),
            sent_ns: Some(30.0),
            ..CallbackFacts::default()
        };
        let round = |ns_per_iteration| Round {
            run: Facts {
                callbacks: vec![callback.clone()],
                ..Facts::default()
            },
            work_scale: 0.5,
            ns_per_iteration,
            counted_ns: Some(2.0),
            iterations: BTreeMap::new(),
        };
        let told = round(Some(3.0)).at_speed(Some(2.0));
        let expected = CallbackFacts {
            per_s: Some(10.0),
            median_ns: Some(200.0),
            median_range_ns: Some((160.0, 240.0)),
            cpu_median_ns: Some(180.0),
            sent_ns: Some(20.0),
            ..CallbackFacts::default()
        };
        assert_eq!(told.callbacks, [expected]);
        assert_eq!(
            round(None).at_speed(Some(2.0)).callbacks,
            std::slice::from_ref(&callback)
        );
        assert_eq!(
            round(Some(3.0)).at_speed(None).callbacks,
            std::slice::from_ref(&callback)
        );
    }

    #[test]
    fn what_the_machine_adds_is_not_modelled() {
        let (model, stretch) = fitted(&[[110, 50, 80]]);
        assert!((stretch - 1.0).abs() < 1e-9);
        assert_eq!(
            [model.evaluate_ns(), model.spawn_ns(), model.load_ns()],
            [90, 30, 40]
        );
    }

    #[test]
    fn a_slow_machine_stretches_the_launch() {
        // Loading took three times its time on top: so may everything.
        let (model, stretch) = fitted(&[[100, 60, 240]]);
        assert!((stretch - 3.0).abs() < 1e-9);
        assert_eq!(
            [model.evaluate_ns(), model.spawn_ns(), model.load_ns()],
            [300, 100, 0]
        );
    }

    #[test]
    fn a_second_round_corrects_the_fitted_launch() {
        // The first asks for [300, 100, 0]. Of that came 20 more, 10 more and 120: loading adds twice its time.
        let (model, stretch) = fitted(&[[100, 60, 240], [320, 110, 120]]);
        assert!((stretch - 2.0).abs() < 1e-9);
        assert_eq!(
            [model.evaluate_ns(), model.spawn_ns(), model.load_ns()],
            [180, 70, 0]
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
            known(&held.callbacks[0]).unwrap()
        };
        assert_eq!(of(100_000.0, 100_500.0), (100_500.0, 99_990.0));
        assert_eq!(of(9_000_000.0, 9_500_000.0), (9_000_000.0, 8_999_990.0));
    }

    /// Rounds of a callback that takes `takes(work)`, until it takes 4 µs: each work, and what came.
    fn rounds(takes: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut seen = Vec::new();
        let mut work_ns = 4_000.0;
        for _ in 0..4 {
            let took_ns = takes(work_ns);
            seen.push(Seen { work_ns, took_ns });
            work_ns = work_that_takes(4_000.0, &seen);
        }
        seen.iter().map(|s| (s.work_ns, s.took_ns)).collect()
    }

    #[test]
    fn two_rounds_tell_what_calls_cost_and_what_work_costs() {
        // 1 µs for every call: the middle of 3,000 and 3,200 of work, then exactly 3,000.
        let of_calls = rounds(|work| work + 1_000.0);
        assert_eq!(of_calls[1..3], [(3_100.0, 4_100.0), (3_000.0, 4_000.0)]);
        // Half as much again for all work: the middle of 2,000 and 2,667, then exactly 2,667.
        let of_work = rounds(|work| 1.5 * work);
        assert!((of_work[1].0 - 2_333.3).abs() < 0.1, "{of_work:?}");
        assert!((of_work[2].1 - 4_000.0).abs() < 1e-6, "{of_work:?}");
        // Both, and more than the call should take: 2 µs and twice the work.
        let of_both = rounds(|work| 2_000.0 + 2.0 * work);
        assert!((of_both[2].1 - 4_000.0).abs() < 1e-6, "{of_both:?}");
        // A call that always takes longer is left without work.
        assert!(rounds(|work| 5_000.0 + work)[3].0 < 1_000.0);
    }

    #[test]
    fn noise_cannot_turn_a_correction_round() {
        let at = |work_ns, took_ns| Seen { work_ns, took_ns };
        // It took longer with less work: between the two models all the same.
        let work = work_that_takes(4_000.0, &[at(4_000.0, 5_000.0), at(3_000.0, 5_100.0)]);
        assert!((1_900.0..=2_353.0).contains(&work), "{work}");
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
