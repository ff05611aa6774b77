//! The work of callbacks by runs of a stack, and what of it is sending.

use std::collections::{BTreeMap, BTreeSet};

use super::{Counted, Fit, Fitted, Round};
use crate::draft::{Draft, DraftCallback, DraftNode, Figure, LogNormal};
use crate::facts::Facts;
use crate::reproduction::{ReproducedCallback, Reproduction, hold};

/// CPU time of a call after which the scheduler may let others go first: how long a longer one waits is another in each
/// run. About the base slice of EEVDF, 0.7 ms times one and the binary logarithm of the CPUs (kernel/sched/fair.c).
const SLICE_NS: f64 = 1e6;

/// Sending that is less than this share of a call is too little to tell that it took longer.
const SENDS: f64 = 0.1;

/// Works that differ by less than this share of what a call should take tell nothing of how its time grows with them.
const APART: f64 = 0.1;

/// What a fit asks of a callback, in nanoseconds at the factor on work of the last round.
struct Asked {
    /// What its call should count, own work and serialising together.
    counted_ns: f64,
    /// What the trace has besides sending, which is all that the factor scales.
    work_ns: f64,
    /// What sending took in the trace.
    sent_ns: f64,
    /// Nanoseconds of an iteration of its own work.
    to_ns: f64,
}

/// By node and callback of the draft, in its order; `None` of a callback that stays as it is.
type AllAsked = Vec<Vec<Option<Asked>>>;

impl Fit {
    /// Corrects the work of each callback that was called often enough in trace and last round, by the medians of the
    /// rounds; of longer calls by those of their CPU time, where the runs have it.
    ///
    /// A call that is short of time although it does all the work that the trace has besides sending is short of
    /// sending. That is not scaled with the work, and so becomes a cost of serialising the call's messages.
    pub(crate) fn work(&self, draft: &mut Draft, trace: &Facts, ns_per_iteration: f64) -> Fitted {
        let asked = self.asked(draft, trace, ns_per_iteration);
        let costs = serialising(draft, &asked);
        let mut fitted = Fitted {
            callbacks: 0,
            topics: 0,
            stretch: None,
        };
        let nodes = draft.modules.iter_mut().flat_map(|m| &mut m.nodes);
        for (node, asked) in nodes.zip(&asked) {
            for (callback, asked) in node.callbacks.iter_mut().zip(asked) {
                let (Some(asked), Some(figure)) = (asked, &mut callback.work) else {
                    continue;
                };
                let messages = callback
                    .publishes
                    .iter()
                    .filter_map(|topic| costs.get(topic));
                let serialising: f64 = messages.map(|cost| cost.ns).sum();
                let work = (asked.counted_ns - serialising) / asked.to_ns;
                shift(figure, work - figure.median() as f64);
                fitted.callbacks += 1;
            }
        }
        for topic in &mut draft.topics {
            topic.serialisation = costs
                .get(&topic.name)
                .and_then(|cost| cost.figure(ns_per_iteration));
            fitted.topics += u64::from(topic.serialisation.is_some());
        }
        fitted
    }

    fn asked(&self, draft: &Draft, trace: &Facts, ns_per_iteration: f64) -> AllAsked {
        let held: Vec<(&Round, Reproduction)> = self
            .rounds
            .iter()
            .map(|round| {
                let run = round.at_speed(Some(ns_per_iteration));
                (round, hold(trace, &run, round.work_scale))
            })
            .collect();
        let of = |node: &DraftNode, callback: &DraftCallback| {
            let figure = callback.work.as_ref()?;
            let name = (node.name.clone(), callback.name.clone());
            let unfitted = Counted {
                work: figure.median() as f64,
                serialising: 0.0,
            };
            let mut points = Vec::new();
            let mut last = None;
            for (round, held) in &held {
                let same = |h: &&ReproducedCallback| {
                    (&h.trace.node, &h.trace.callback) == (&name.0, &name.1)
                };
                last = held
                    .callbacks
                    .iter()
                    .find(same)
                    .and_then(|h| Some((round, h, known(h)?)));
                let Some((_, _, (took_ns, _))) = last else {
                    continue;
                };
                let counted = round.counted.get(&name).unwrap_or(&unfitted);
                let iterations = counted.work * round.work_scale + counted.serialising;
                points.push(CallbackTimes {
                    work_ns: iterations * ns_per_iteration,
                    took_ns,
                });
            }
            let (round, held, (_, wanted_ns)) = last?;
            let sent_ns = held.trace.sent_ns.unwrap_or(0.0);
            let besides_ns = held
                .trace
                .median_ns
                .map_or(0.0, |median| (median - sent_ns).max(0.0));
            Some(Asked {
                counted_ns: work_that_takes(wanted_ns, &points),
                work_ns: besides_ns * round.work_scale,
                sent_ns,
                to_ns: round.work_scale * ns_per_iteration,
            })
        };
        let nodes = draft.nodes();
        nodes
            .map(|node| {
                node.callbacks
                    .iter()
                    .map(|callback| of(node, callback))
                    .collect()
            })
            .collect()
    }
}

/// Cost of serialising a message of a topic.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// The mean of what its callbacks ask.
    ns: f64,
    /// The most that one of them took in the trace for sending a message.
    most_ns: f64,
    callbacks: f64,
}

impl Cost {
    fn add(&mut self, ns: f64, sent_ns: f64) {
        self.callbacks += 1.0;
        self.ns += (ns - self.ns) / self.callbacks;
        self.most_ns = self.most_ns.max(sent_ns);
    }

    fn figure(&self, ns_per_iteration: f64) -> Option<Figure> {
        let iterations = (self.ns / ns_per_iteration).round() as u64;
        let most = (self.most_ns / ns_per_iteration) as u64;
        let because =
            "sending took so much longer in the trace than in the runs that it was fitted to";
        (iterations > 0).then(|| Figure::assumed(iterations, 0, most, because))
    }
}

/// What a message of each topic should cost that corrected callbacks send by DDS: each callback's part in equal shares. A
/// topic has none where a callback that stays as it is would pay for it, too.
fn serialising(draft: &Draft, asked: &AllAsked) -> BTreeMap<String, Cost> {
    let topics = draft.topics.iter().filter(|topic| !topic.intra_process);
    let mut sent: BTreeSet<&String> = topics.map(|topic| &topic.name).collect();
    let callbacks = || {
        let nodes = draft.nodes().zip(asked);
        nodes.flat_map(|(node, asked)| node.callbacks.iter().zip(asked))
    };
    for (callback, _) in callbacks().filter(|(_, asked)| asked.is_none()) {
        sent.retain(|topic| !callback.publishes.contains(topic));
    }
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    for (callback, asked) in callbacks() {
        let Some(asked) = asked
            .as_ref()
            .filter(|asked| asked.sent_ns > SENDS * asked.counted_ns)
        else {
            continue;
        };
        let publishes = callback
            .publishes
            .iter()
            .filter(|topic| sent.contains(topic));
        let messages = publishes.clone().count() as f64;
        let short_ns = (asked.counted_ns - asked.work_ns).clamp(0.0, asked.sent_ns);
        for topic in publishes {
            let cost = costs.entry(topic.clone()).or_default();
            cost.add(short_ns / messages, asked.sent_ns / messages);
        }
    }
    costs
}

/// A callback in a round.
#[derive(Debug, Clone, Copy)]
struct CallbackTimes {
    /// Work of a call in the median.
    work_ns: f64,
    /// What a call took in the median.
    took_ns: f64,
}

/// What a call took and should have taken, in nanoseconds; `None` where one of both is of too few calls for an interval.
/// Wide intervals are no reason to leave a call that takes twice its time as it is.
fn known(held: &ReproducedCallback) -> Option<(f64, f64)> {
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
/// fetching its working set, which goes with it. Several rounds tell by how much more work took longer: the line of least
/// squares, so that what a short call differs by from round to round is averaged. One round does not, nor do rounds with about
/// the same work, and the middle is taken, of all of them.
fn work_that_takes(wanted_ns: f64, seen: &[CallbackTimes]) -> f64 {
    let Some(last) = seen.last() else {
        return wanted_ns;
    };
    let mean = mean(seen);
    let Some(slope) = slope(wanted_ns, seen, mean) else {
        let middles = seen.iter().map(|seen| seen.middle(wanted_ns));
        return middles.sum::<f64>() / seen.len() as f64;
    };
    // A slope that is not positive is noise.
    if slope <= 0.0 {
        return last.middle(wanted_ns);
    }
    let bounds = seen.iter().map(|seen| seen.bounds(wanted_ns));
    let (least, most) = bounds.fold((f64::INFINITY, 0.0_f64), |(least, most), (low, high)| {
        (least.min(low), most.max(high))
    });
    (mean.work_ns + (wanted_ns - mean.took_ns) / slope).clamp(least, most)
}

impl CallbackTimes {
    /// Least and most work with which the call can take `wanted_ns`.
    fn bounds(&self, wanted_ns: f64) -> (f64, f64) {
        let cost_of_calls = (self.work_ns + wanted_ns - self.took_ns).max(0.0);
        let cost_of_work = self.work_ns * wanted_ns / self.took_ns;
        (
            cost_of_calls.min(cost_of_work),
            cost_of_calls.max(cost_of_work),
        )
    }

    fn middle(&self, wanted_ns: f64) -> f64 {
        let (least, most) = self.bounds(wanted_ns);
        f64::midpoint(least, most)
    }
}

fn mean(seen: &[CallbackTimes]) -> CallbackTimes {
    let of = |of: fn(&CallbackTimes) -> f64| seen.iter().map(of).sum::<f64>() / seen.len() as f64;
    CallbackTimes {
        work_ns: of(|seen| seen.work_ns),
        took_ns: of(|seen| seen.took_ns),
    }
}

/// By how much longer a call takes with so much more work; `None` where all rounds had about the same.
fn slope(wanted_ns: f64, seen: &[CallbackTimes], mean: CallbackTimes) -> Option<f64> {
    let works = || seen.iter().map(|seen| seen.work_ns);
    let spread = works().fold(0.0, f64::max) - works().fold(f64::INFINITY, f64::min);
    let more = |seen: &CallbackTimes| seen.work_ns - mean.work_ns;
    let squares: f64 = seen.iter().map(|seen| more(seen).powi(2)).sum();
    let products: f64 = seen
        .iter()
        .map(|seen| more(seen) * (seen.took_ns - mean.took_ns))
        .sum();
    (spread > APART * wanted_ns).then(|| products / squares)
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
    use stowplan_model::Profile;

    use super::*;
    use crate::draft::{DraftModule, DraftQos, DraftTopic, DraftTrigger};
    use crate::facts::CallbackFacts;

    /// A stack of callbacks of the node `n` that publish on `/t`.
    fn draft(callbacks: &[&str]) -> Draft {
        let callback = |name: &&str| DraftCallback {
            name: (*name).into(),
            trigger: DraftTrigger::Timer(1),
            publishes: vec!["/t".into()],
            uses: Vec::new(),
            work: Some(Figure::known(10)),
            comment: String::new(),
        };
        let node = DraftNode {
            callbacks: callbacks.iter().map(callback).collect(),
            ..DraftNode::new("n")
        };
        Draft {
            topics: vec![DraftTopic::new("/t", "1kB")],
            modules: vec![DraftModule {
                name: "m".into(),
                nodes: vec![node],
            }],
            head: Vec::new(),
            name: "d".into(),
            description: String::new(),
            profile: Profile::Humble,
            ns_per_iteration: None,
            launch: None,
            sizes: Vec::new(),
            start_ups: Vec::new(),
            qos: DraftQos {
                reliable: true,
                depth: 1,
                transient_local: false,
            },
            processes: Vec::new(),
            chains: Vec::new(),
        }
    }

    /// What a trace or a run has of it.
    fn called(median: f64, sent: f64) -> Facts {
        let callback = CallbackFacts {
            node: "n".into(),
            callback: "c".into(),
            calls: 100,
            per_s: Some(10.0),
            median_ns: Some(median),
            median_range_ns: Some((median, median)),
            sent_ns: Some(sent),
            ..CallbackFacts::default()
        };
        Facts {
            callbacks: vec![callback],
            ..Facts::default()
        }
    }

    /// Fits the callback `c` that takes 100 ns in the trace, `sent` of them for sending, to three rounds of runs at half of
    /// the work that take `beyond` nanoseconds besides what is counted: work and serialising by each of them.
    fn counts(sent: f64, beyond: f64, stack: &Draft) -> Vec<(f64, f64)> {
        let (trace, name) = (called(100.0, sent), ("n".to_owned(), "c".to_owned()));
        let mut counted = Counted {
            work: 10.0,
            serialising: 0.0,
        };
        let mut fit = Fit { rounds: Vec::new() };
        let mut all = Vec::new();
        for _ in 0..3 {
            let took = 2.0 * (counted.work * 0.5 + counted.serialising) + beyond;
            fit.rounds.push(Round {
                run: called(took, 5.0),
                work_scale: 0.5,
                ns_per_iteration: None,
                counted_ns: None,
                counted: BTreeMap::from([(name.clone(), counted)]),
            });
            let mut draft = stack.clone();
            assert_eq!(fit.work(&mut draft, &trace, 2.0).callbacks, 1);
            let work = draft.nodes().next().unwrap().callbacks[0].work.clone();
            let cost = draft.topics[0].serialisation.as_ref();
            counted = Counted {
                work: work.unwrap().median() as f64,
                serialising: cost.map_or(0.0, |cost| cost.value as f64),
            };
            all.push((counted.work, counted.serialising));
        }
        all
    }

    #[test]
    fn what_is_short_of_the_sending_in_the_trace_is_a_cost_of_serialising() {
        // Of 90 ns, 10 are half of the work and 80 sending; 20 come by themselves, so 60 are missing: 30 iterations. One
        // round gives it half of what it could be.
        let counted = counts(80.0, 20.0, &draft(&["c"]));
        assert_eq!(counted, [(10.0, 20.0), (10.0, 30.0), (10.0, 30.0)]);
    }

    #[test]
    fn what_cannot_be_sending_is_work() {
        // Messages by pointer, a callback that nobody asks to pay, and a call that sends next to nothing.
        let mut by_pointer = draft(&["c"]);
        by_pointer.topics[0].intra_process = true;
        for stack in [by_pointer, draft(&["c", "never called"])] {
            assert_eq!(counts(80.0, 20.0, &stack)[2], (70.0, 0.0));
        }
        assert_eq!(counts(3.0, 1.2, &draft(&["c"]))[2], (50.0, 0.0));
    }

    #[test]
    fn what_comes_by_itself_beyond_sending_is_taken_off_the_work() {
        // 6 would be exact, of a call of 90 ns.
        let (work, serialising) = counts(80.0, 84.0, &draft(&["c"]))[2];
        assert!((6.0..=7.0).contains(&work), "{work}");
        assert_eq!(serialising, 0.0);
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
            seen.push(CallbackTimes { work_ns, took_ns });
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
    fn what_differs_from_round_to_round_is_averaged() {
        // 1 µs for every call, and 300 ns more or less.
        let at = |work_ns, more| CallbackTimes {
            work_ns,
            took_ns: work_ns + 1_000.0 + more,
        };
        let seen = [
            at(1_000.0, 300.0),
            at(1_000.0, -300.0),
            at(3_000.0, -300.0),
            at(3_000.0, 300.0),
        ];
        assert!((work_that_takes(4_000.0, &seen) - 3_000.0).abs() < 1e-6);
        // With about the same work each says another, between two; the middle of both is taken.
        let seen = [at(3_050.0, 50.0), at(2_950.0, -50.0)];
        let middle = (2_950.0 + 3_050.0 * 4_000.0 / 4_100.0) / 2.0;
        let other = (3_050.0 + 2_950.0 * 4_000.0 / 3_900.0) / 2.0;
        let work = work_that_takes(4_000.0, &seen);
        assert!((work - f64::midpoint(middle, other)).abs() < 1e-6, "{work}");
    }

    #[test]
    fn noise_cannot_turn_a_correction_round() {
        let at = |work_ns, took_ns| CallbackTimes { work_ns, took_ns };
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
