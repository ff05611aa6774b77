//! Corrects a stack by a run of it: what machine and programs add to the work and to the launch is taken off again.

mod work;

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::launch::LaunchTimes;

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
    /// What their stack counts for a call of each callback, by the names of node and callback. What is not in it worked
    /// as in the stack that is learnt without a fit.
    pub counted: BTreeMap<(String, String), Counted>,
}

/// Iterations of the work kernel that a stack has for a call of a callback, in the median.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counted {
    /// Its work, not scaled by the factor of a run.
    pub work: f64,
    /// Serialising its messages, which no factor scales.
    pub serialising: f64,
}

/// What a fit changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// Callbacks whose work was corrected.
    pub callbacks: u64,
    /// Topics whose messages got a cost of serialising.
    pub topics: u64,
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
    /// Times that the stack has to model so that its launch has the trace's shares where an iteration takes
    /// `ns_per_iteration`, and how many times as long it takes.
    pub(crate) fn launch(
        &self,
        trace: &LaunchTimes,
        ns_per_iteration: f64,
    ) -> Option<(LaunchTimes, f64)> {
        // The stack of each round was fitted by the rounds before, at the speed that it was counted with.
        let next = self.rounds.iter().skip(1).map(|round| round.counted_ns);
        let speeds = next.chain([Some(ns_per_iteration)]);
        let mut rounds = self.rounds.iter().zip(speeds);
        rounds.try_fold((*trace, 1.0), |(modelled, _), (round, speed)| {
            let run = round.at_speed(speed).launch?;
            let slower = speed.zip(round.counted_ns).map_or(1.0, |(to, of)| to / of);
            Some(corrected(trace, &modelled.slower(slower), &run))
        })
    }
}

/// What a launch has to model to have the trace's shares, where what was `modelled` came as `run`; and how many times as
/// long as the trace's it takes.
fn corrected(trace: &LaunchTimes, modelled: &LaunchTimes, run: &LaunchTimes) -> (LaunchTimes, f64) {
    let parts = |times: &LaunchTimes| times.parts_ns().map(|ns| ns as f64);
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
    (trace.with_parts_ns([0, 1, 2].map(model)), stretch)
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

    fn round(parts: [i64; 3]) -> Round {
        Round {
            run: Facts {
                launch: Some(times(parts)),
                ..Facts::default()
            },
            work_scale: 1.0,
            ns_per_iteration: None,
            counted_ns: None,
            counted: BTreeMap::new(),
        }
    }

    fn fitted(runs: &[[i64; 3]]) -> (LaunchTimes, f64) {
        let fit = Fit {
            rounds: runs.iter().copied().map(round).collect(),
        };
        fit.launch(&times([100, 40, 60]), 1.0).unwrap()
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
            counted: BTreeMap::new(),
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
        assert_eq!(model.parts_ns(), [90, 30, 40]);
    }

    #[test]
    fn a_slow_machine_stretches_the_launch() {
        // Loading took three times its time on top: so may everything.
        let (model, stretch) = fitted(&[[100, 60, 240]]);
        assert!((stretch - 3.0).abs() < 1e-9);
        assert_eq!(model.parts_ns(), [300, 100, 0]);
    }

    #[test]
    fn a_launch_on_a_machine_that_is_slow_is_told_at_the_speed_of_its_stack() {
        // As in `what_the_machine_adds_is_not_modelled`, on a machine that was half as fast.
        let slow = |counted_ns, parts| Round {
            ns_per_iteration: Some(4.0),
            counted_ns: Some(counted_ns),
            ..round(parts)
        };
        let fit = Fit {
            rounds: vec![slow(2.0, [220, 100, 160])],
        };
        let (model, stretch) = fit.launch(&times([100, 40, 60]), 2.0).unwrap();
        assert!((stretch - 1.0).abs() < 1e-9);
        assert_eq!(model.parts_ns(), [90, 30, 40]);
    }

    #[test]
    fn rounds_whose_stacks_were_counted_at_other_speeds_agree() {
        // At 2 ns an iteration what is modelled takes [100, 40, 60], and the machine adds [10, 10, 20]; where an iteration
        // takes 1 ns, all of that is half of it.
        let at = |counted_ns, ns_per_iteration, parts| Round {
            ns_per_iteration: Some(ns_per_iteration),
            counted_ns: Some(counted_ns),
            ..round(parts)
        };
        let first = at(2.0, 2.0, [110, 50, 80]);
        // Fitted by that at 1 ns an iteration: [95, 35, 50], which gives the trace's times there.
        let second = at(1.0, 1.0, [100, 40, 60]);
        let fit = Fit {
            rounds: vec![first, second],
        };
        let (model, _) = fit.launch(&times([100, 40, 60]), 1.0).unwrap();
        assert_eq!(model.parts_ns(), [95, 35, 50]);
    }

    #[test]
    fn a_second_round_corrects_the_fitted_launch() {
        // The first asks for [300, 100, 0]. Of that came 20 more, 10 more and 120: loading adds twice its time.
        let (model, stretch) = fitted(&[[100, 60, 240], [320, 110, 120]]);
        assert!((stretch - 2.0).abs() < 1e-9);
        assert_eq!(model.parts_ns(), [180, 70, 0]);
    }
}
