//! The eight systems of Teper et al., "End-to-End Timing Analysis in ROS2" (RTSS 2022, section VIII): one node on a
//! single-threaded executor, two sensors whose data is fused and acted on, by subscriptions or timers, with less and with
//! more work than fits into their periods. Times are a tenth of theirs. What is measured has to lie within the bounds
//! that theory gives for it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use stowplan_results::{CallbackRow, LatencyRow, Results};

use crate::measured::only_result;
use crate::one_at_a_time::turn;
use crate::support::{Bench, engines_missing};

/// Iterations that take about a millisecond.
const MILLISECOND: u32 = 700_000;

/// What is measured of each system, ns: the `1s` below.
const WINDOW_NS: f64 = 1e9;

/// Periods of the sensors and of the other timers in µs.
type Periods = [u32; 2];

/// Whether fusion and actuator are timers, and the periods with less and with more work than fits.
const SYSTEMS: [(&str, [bool; 2], [Periods; 2]); 4] = [
    ("subscriptions", [false, false], [[36_000, 0], [9_000, 0]]),
    (
        "timer-actuator",
        [false, true],
        [[42_000, 84_000], [10_500, 5_250]],
    ),
    (
        "timer-fusion",
        [true, false],
        [[42_000, 84_000], [10_500, 5_250]],
    ),
    ("timers", [true, true], [[48_000, 96_000], [12_000, 6_000]]),
];

/// A callback of a chain in the order of the chain: its name, and its period where a timer starts it, in ns.
type Link = (&'static str, Option<f64>);

/// A system, and its chains from either sensor.
struct System {
    yaml: String,
    chains: [(&'static str, Vec<Link>); 2],
}

fn system(timers: [bool; 2], [sensor_us, other_us]: Periods) -> System {
    let (sensor, other) = (f64::from(sensor_us) * 1e3, f64::from(other_us) * 1e3);
    let mut yaml = String::from(
        "name: teper\nqos: { reliability: reliable, depth: 10 }\n\
         topics: { /sensor1: 64B, /sensor2: 64B, /filter1: 64B, /filter2: 64B, /fused: 64B, /filter3: 64B }\n\
         modules:\n  all:\n    nodes:\n      node:\n        callbacks:\n",
    );
    let mut callback = |name: &str, what: &str, ms: u32| {
        let iterations = ms * MILLISECOND;
        let work = format!("work: {{ iterations: {iterations}, working_set: 16KiB }}");
        writeln!(yaml, "          {name}: {{ {what}, {work} }}").unwrap();
    };
    for (number, ms) in [(1, 1), (2, 2)] {
        let timer = format!("timer: {sensor_us}us, publishes: /sensor{number}");
        callback(&format!("sensor{number}"), &timer, ms);
        let filter = format!("subscribes: /sensor{number}, publishes: /filter{number}");
        callback(&format!("filter{number}"), &filter, ms);
    }
    callback("on_filter2", "subscribes: /filter2", 3);
    let mut first: Vec<Link> = vec![("sensor1", Some(sensor)), ("filter1", None)];
    let second: Vec<Link> = vec![
        ("sensor2", Some(sensor)),
        ("filter2", None),
        ("on_filter2", None),
    ];
    if timers[0] {
        callback("on_filter1", "subscribes: /filter1", 3);
        let uses = "uses: [on_filter1, on_filter2], publishes: /fused";
        callback("fusion", &format!("timer: {other_us}us, {uses}"), 3);
        first.push(("on_filter1", None));
    } else {
        callback(
            "fusion",
            "subscribes: /filter1, uses: on_filter2, publishes: /fused",
            3,
        );
    }
    callback("filter3", "subscribes: /fused, publishes: /filter3", 3);
    let mut rest: Vec<Link> = vec![("fusion", timers[0].then_some(other)), ("filter3", None)];
    if timers[1] {
        callback("on_filter3", "subscribes: /filter3", 3);
        callback(
            "actuator",
            &format!("timer: {other_us}us, uses: on_filter3"),
            3,
        );
        rest.push(("on_filter3", None));
    } else {
        callback("actuator", "subscribes: /filter3", 3);
    }
    rest.push(("actuator", timers[1].then_some(other)));
    yaml.push_str("chains:\n");
    let chains = [("first", first), ("second", second)].map(|(name, mut links)| {
        links.extend(rest.iter().copied());
        let names: Vec<String> = links
            .iter()
            .map(|link| format!("node/{}", link.0))
            .collect();
        writeln!(yaml, "  {name}: {{ callbacks: [{}] }}", names.join(", ")).unwrap();
        (name, links)
    });
    System { yaml, chains }
}

/// Least and greatest latency that a chain can have, from what its callbacks took, ns.
///
/// A processing window runs each callback at most once, so that it takes at most the sum of all. A message that arrives in one
/// window is taken in the next. What a timer's release, or that of the timer which triggers a fusion by subscription, just
/// missed waits for the next one (section VI). A cause just after the sensor's release waits for the next release at least.
fn bounds(links: &[Link], took: &BTreeMap<&str, &CallbackRow>, overload: bool) -> (f64, f64) {
    let longest = |name: &str| took[name].wall_max_ns as f64;
    let sum = |of: fn(&CallbackRow) -> f64| took.values().map(|row| of(row)).sum::<f64>();
    let mut window = sum(|row| row.wall_max_ns as f64);
    if overload {
        // Between callbacks the executor takes, publishes and waits, which their times do not have. Without a pause the
        // mean length of a window tells how much in the mean; the longest is given twice that.
        let mean = WINDOW_NS / took["sensor1"].calls as f64;
        window += 2.0 * (mean - sum(|row| row.wall_mean_ns)).max(0.0);
    }
    let sensor = links[0].1.unwrap_or_default();
    let mut most = 0.0;
    for (at, (name, period)) in links.iter().enumerate() {
        most += match period {
            Some(period) => period + 2.0 * window - longest(name),
            None => window,
        };
        let stored_for_a_subscription =
            period.is_none() && at > 0 && links[at - 1].0 == "on_filter2" && *name == "fusion";
        if stored_for_a_subscription {
            // The trigger comes by sensor1, filter1 and itself.
            most += sensor + 2.0 * window - longest("sensor1") + window;
        }
    }
    (sensor, most)
}

/// Longest reaction to a cause at any time: just after an input was released, it waits for the next one.
fn longest_reaction(rows: &[&LatencyRow]) -> f64 {
    let pairs = rows.windows(2);
    let reactions =
        pairs.filter_map(|pair| Some(pair[1].origin_ns - pair[0].origin_ns + pair[1].reaction_ns?));
    reactions.max().unwrap() as f64
}

/// Longest time from a measurement to the end of what it is the base of: until the next output.
fn longest_age(rows: &[&LatencyRow]) -> f64 {
    let outputs: Vec<(i64, i64)> = rows
        .iter()
        .filter_map(|row| Some((row.output_ns?, row.origin_ns)))
        .collect();
    let ages = outputs.windows(2).map(|pair| pair[1].0 - pair[0].1);
    ages.max().unwrap() as f64
}

fn check(name: &str, system: &System, results: &Results, overload: bool) {
    let rows = results.callbacks().unwrap();
    let took: BTreeMap<&str, &CallbackRow> = rows.iter().map(|row| (&*row.callback, row)).collect();
    let latency = results.latency().unwrap();
    for (chain, links) in &system.chains {
        let mut rows: Vec<&LatencyRow> =
            latency.iter().filter(|row| *row.chain == **chain).collect();
        rows.sort_by_key(|row| row.origin_ns);
        // The cause of the first output is before the window.
        let first_used = rows.iter().position(|row| row.output_ns.is_some());
        let rows = &rows[first_used.unwrap()..];
        let (least, most) = bounds(links, &took, overload);
        let (reaction, age) = (longest_reaction(rows), longest_age(rows));
        // Günzel et al., "On the Equivalence of Maximum Reaction Time and Maximum Data Age" (ECRTS 2023).
        assert!(
            (reaction - age).abs() < 1e5,
            "{name}, {chain}: {reaction}, {age}"
        );
        for (what, found) in [("reaction", reaction), ("age", age)] {
            assert!(
                (least..=most).contains(&found),
                "{name}, {chain}: {what} {found} is not from {least} to {most}"
            );
        }
    }
}

fn measure(bench: &Bench, folder: &Path, name: &str, yaml: &str) -> Results {
    let stack = folder.join(format!("{name}.yaml"));
    std::fs::write(&stack, yaml).unwrap();
    let ended = bench.run([
        "latency",
        stack.to_str().unwrap(),
        "--place",
        "bare:flat",
        "--partition",
        "single",
        "--blocks",
        "1",
        "--window",
        "1s",
        "--settle",
        "0s",
    ]);
    ended.expect(0);
    Results::open(only_result(bench)).unwrap()
}

#[test]
#[ignore = "half a minute, on a machine that does nothing else"]
fn reaction_and_age_lie_within_the_bounds_of_theory() {
    if engines_missing(&["bare"]) {
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    for (name, timers, [under, over]) in SYSTEMS {
        for (load, periods) in [("under", under), ("over", over)] {
            let name = format!("{name}-{load}");
            let system = system(timers, periods);
            let bench = Bench::new();
            let results = measure(&bench, folder.path(), &name, &system.yaml);
            check(&name, &system, &results, load == "over");
        }
    }
}
