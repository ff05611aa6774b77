//! Random systems, simulated here with their own account of what rests on what,
//! against what the analysis finds in their traces.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::scripted::{At, NodeAt, Script, Sub};
use crate::{
    Address, Body, CallbackBy, CallbackSelector, ChainResult, ChainSpec, Confidence, Fate, Window,
};

/// One node: it takes messages and, if it has timers, publishes from the last of
/// them, each using the latest data of the callback before it.
#[derive(Debug, Clone)]
struct Stage {
    work: i64,
    delay: i64,
    /// Period and phase of each timer.
    timers: Vec<(i64, i64)>,
}

/// Names must live as long as the test: one per stage.
const NODES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
const TOPICS: [&str; 5] = ["/t0", "/t1", "/t2", "/t3", "/t4"];
const SYMBOLS: [&str; 3] = ["c0", "c1", "c2"];

fn stage() -> impl Strategy<Value = Stage> {
    let timer = (2_000..20_000i64, 0..20_000i64);
    (
        100..4_000i64,
        10..3_000i64,
        prop::collection::vec(timer, 0..3),
    )
        .prop_map(|(work, delay, timers)| Stage {
            work,
            delay,
            timers,
        })
}

/// A message: when it is published, its stamp and the input it rests on.
type Message = (i64, i64, usize);

/// The entities of a stage.
struct Placed {
    at: At,
    sub: Sub,
    timers: Vec<Address>,
    publisher: Address,
}

fn place(script: &mut Script, number: usize, stage: &Stage) -> Placed {
    let at = script.process(number as i64 + 1);
    let node: NodeAt = script.node(at, NODES[number]);
    let sub = script.subscription(node, TOPICS[number - 1], SYMBOLS[0]);
    let timers = stage
        .timers
        .iter()
        .zip(&SYMBOLS[1..])
        .map(|(&(period, _), &symbol)| script.timer(node, period, symbol))
        .collect();
    let publisher = script.publisher(node, TOPICS[number]);
    Placed {
        at,
        sub,
        timers,
        publisher,
    }
}

/// A single-threaded executor with keep-last 1: timers before the subscription.
fn run(script: &mut Script, number: usize, stage: &Stage, inputs: &[Message]) -> Vec<Message> {
    let placed = place(script, number, stage);
    let arrivals: Vec<Message> = inputs
        .iter()
        .map(|&(time, stamp, origin)| (time + stage.delay, stamp, origin))
        .collect();
    for &(time, stamp, _) in &arrivals {
        script.arrive(time, placed.at, placed.sub, stamp);
    }
    let last = arrivals.last().map_or(0, |a| a.0) + 50_000;
    let mut due: Vec<i64> = stage.timers.iter().map(|timer| timer.1).collect();
    // What the timer before, or the subscription, has for each timer.
    let mut data: Vec<Option<usize>> = vec![None; stage.timers.len() + 1];
    let (mut now, mut next, mut outputs) = (0, 0, Vec::new());
    while now < last {
        let ready = due.iter().position(|&due| due <= now);
        let arrived = arrivals.partition_point(|a| a.0 <= now);
        let (callback, origin, slot) = if let Some(timer) = ready {
            while due[timer] <= now {
                due[timer] += stage.timers[timer].0;
            }
            (placed.timers[timer], data[timer], timer + 1)
        } else if arrived > next {
            next = arrived;
            let (_, stamp, origin) = arrivals[arrived - 1];
            script.take(now, placed.at, placed.sub, stamp);
            (placed.sub.callback, Some(origin), 0)
        } else {
            now = due
                .iter()
                .copied()
                .chain(arrivals.get(arrived).map(|a| a.0))
                .min()
                .unwrap_or(last);
            continue;
        };
        let (start, end) = (now + 5, now + 5 + stage.work);
        script.start(start, placed.at, callback);
        if slot == stage.timers.len() {
            let time = end - 50;
            let stamp = (number as i64) << 40 | time;
            script.publish(time, placed.at, placed.publisher, Some(stamp));
            if let Some(origin) = origin {
                outputs.push((time, stamp, origin));
            } else {
                // Nothing to rest on yet: a message all the same.
                outputs.push((time, stamp, usize::MAX));
            }
        }
        script.end(end, placed.at, callback);
        data[slot] = origin;
        now = end + 1;
    }
    outputs
}

/// Releases and messages of the source.
fn source(script: &mut Script, period: i64, count: usize) -> Vec<Message> {
    let at = script.process(1);
    let node = script.node(at, NODES[0]);
    let timer = script.timer(node, period, SYMBOLS[0]);
    let publisher = script.publisher(node, TOPICS[0]);
    (0..count)
        .map(|k| {
            let release = 1_000 + k as i64 * period;
            let start = release + 7 * (k as i64 % 11);
            let body = Body::TimerRelease {
                callback: timer,
                expected_ns: release,
            };
            script.add(start - 1, at, body);
            script.start(start, at, timer);
            script.publish(start + 100, at, publisher, Some(release));
            script.end(start + 150, at, timer);
            (start + 100, release, k)
        })
        .collect()
}

fn spec(stages: &[Stage]) -> ChainSpec {
    let mut callbacks = vec![CallbackSelector {
        node: NODES[0].to_owned(),
        by: CallbackBy::Symbol(SYMBOLS[0].to_owned()),
    }];
    for (number, stage) in stages.iter().enumerate() {
        callbacks.extend(
            SYMBOLS[..=stage.timers.len()]
                .iter()
                .map(|symbol| CallbackSelector {
                    node: NODES[number + 1].to_owned(),
                    by: CallbackBy::Symbol((*symbol).to_owned()),
                }),
        );
    }
    ChainSpec {
        name: "simulated".to_owned(),
        callbacks,
        output: None,
    }
}

/// Longest time from just after one input to the first output that rests on a
/// later one, over the inputs between the first and last that outputs rest on.
fn reaction_from_any_time(result: &ChainResult) -> Option<i64> {
    let first = result.instances.first()?.input;
    let last = result.instances.last()?.input;
    (first + 1..=last)
        .filter_map(|k| {
            let input = &result.inputs[k];
            let before = result.inputs[k - 1].release_ns?;
            Some(input.reaction_ns? + input.release_ns? - before)
        })
        .max()
}

/// Longest data age in effect until an output that rests on later data: an output
/// on the same data only makes the data older at the next.
fn age_until_newer(result: &ChainResult) -> Option<i64> {
    result
        .instances
        .windows(2)
        .filter(|pair| pair[1].input > pair[0].input)
        .map(|pair| pair[1].output_ns - (pair[0].output_ns - pair[0].age_ns))
        .max()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_analysis_finds_what_the_simulation_did(
        stages in prop::collection::vec(stage(), 1..5),
        period in 500..12_000i64,
        count in 5..40usize,
    ) {
        let mut script = Script::new();
        let mut messages = source(&mut script, period, count);
        for (number, stage) in stages.iter().enumerate() {
            messages = run(&mut script, number + 1, stage, &messages);
        }
        let truth: BTreeMap<i64, usize> = messages
            .iter()
            .filter(|message| message.2 != usize::MAX)
            .map(|&(time, _, origin)| (time, origin))
            .collect();
        let analysis = script.analyse();
        let result = analysis.chain(&spec(&stages), Window::ALWAYS).unwrap();

        let found: BTreeMap<i64, usize> =
            result.instances.iter().map(|i| (i.output_ns, i.input)).collect();
        prop_assert_eq!(&found, &truth);
        for instance in &result.instances {
            let parts = &instance.parts;
            prop_assert_eq!(parts.total_ns(), instance.e2e_ns);
            prop_assert_eq!(
                parts.transport_ns.unwrap() + parts.wait_ns.unwrap(),
                parts.transit_ns
            );
            prop_assert!(parts.idle_ns >= 0 && parts.wait_ns.unwrap() >= 0);
            prop_assert_eq!(instance.confidence, Confidence::Certain);
            let input = &result.inputs[instance.input];
            prop_assert_eq!(
                instance.e2e_full_ns,
                Some(instance.e2e_ns + input.start_ns - input.release_ns.unwrap())
            );
        }
        for (k, input) in result.inputs.iter().enumerate() {
            let used = truth.values().filter(|&&origin| origin == k).count();
            prop_assert_eq!(input.outputs as usize, used);
            prop_assert_eq!(input.fate == Fate::Used, used > 0);
            let first = truth.iter().find(|&(_, &origin)| origin >= k);
            prop_assert_eq!(
                input.reaction_ns,
                first.map(|(time, _)| time - input.release_ns.unwrap())
            );
        }
        // Guenzel et al. (ECRTS 2023): maximum reaction time = maximum data age.
        prop_assert_eq!(reaction_from_any_time(&result), age_until_newer(&result));
        prop_assert_eq!((result.inputs.len() + result.left_out_ns.len()) as u64, count as u64);
        prop_assert!(result.max_age_ns >= age_until_newer(&result));
    }
}
