//! Other values in place of assumed ones.
use std::collections::BTreeMap;

use stowplan_model::{Distribution, WorkSpeed};
use stowplan_spec::{Spec, parse_spec, parse_with_values, shipped, shipped_names};

const HELLO: &str = include_str!("../../../../stacks/hello.yaml");

fn with(values: &[(&str, f64)]) -> Spec {
    let values = values.iter().map(|(path, v)| ((*path).to_owned(), *v));
    parse_with_values(HELLO, "hello.yaml", &values.collect(), None).unwrap()
}

#[test]
fn an_assumed_value_gives_way_and_its_spread_is_scaled() {
    let spec = with(&[
        ("launch.entity", 3e6),
        ("kinds.work.cloud.iterations", 10e6),
    ]);
    assert_eq!(spec.stack().launch.entity_iterations, 3_000_000);
    let mut callbacks = spec.stack().nodes.iter().flat_map(|n| &n.callbacks);
    // 4 to 6 million, around 5, in the file.
    let doubled = Distribution::Uniform {
        low: 8e6,
        high: 12e6,
    };
    assert!(callbacks.any(|c| c.work.iterations == doubled));
    let plain = parse_spec(HELLO, "hello.yaml").unwrap();
    assert_eq!(spec.assumptions(), plain.assumptions(), "those of the file");
    assert_ne!(spec.stack(), plain.stack());
}

#[test]
fn what_is_not_assumed_stays() {
    let plain = parse_spec(HELLO, "hello.yaml").unwrap();
    assert_eq!(with(&[("topics./imu.size", 1.0), ("nothing", 1.0)]), plain);
}

#[test]
fn the_ends_of_every_range_of_every_shipped_stack_are_sound() {
    for name in shipped_names() {
        let text = shipped(name).unwrap();
        let spec = parse_spec(text, name).unwrap();
        let paths: BTreeMap<_, _> = spec
            .assumptions()
            .iter()
            .map(|a| (&a.path, a.low))
            .collect();
        assert_eq!(
            paths.len(),
            spec.assumptions().len(),
            "{name}: a path for each"
        );
        for end in [
            |a: &stowplan_spec::Assumption| a.low,
            |a: &stowplan_spec::Assumption| a.high,
        ] {
            let values = spec.assumptions().iter().map(|a| (a.path.clone(), end(a)));
            parse_with_values(text, name, &values.collect(), None)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// A stack of one node with this work.
fn worker(work: &str) -> String {
    format!(
        "name: t\nlaunch: {{ start: 2ms }}\ntopics: {{ /a: 64 }}\nmodules:\n  m:\n    nodes:\n      \
         n: {{ timer: 10Hz, publishes: /a, work: {work} }}\n"
    )
}

fn counted(work: &str) -> Distribution {
    let speed = WorkSpeed::new(1.25, [(1 << 20, 2.5)]);
    let spec = parse_with_values(&worker(work), "t.yaml", &BTreeMap::new(), Some(&speed));
    let spec = spec.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(spec.stack().launch.start_iterations, 1_600_000);
    spec.stack().nodes[0].callbacks[0].work.iterations
}

#[test]
fn work_in_time_becomes_iterations_at_the_speed_of_its_working_set() {
    let constant = Distribution::Constant;
    assert_eq!(counted("5M"), constant(5e6));
    assert_eq!(counted("5ms"), constant(4e6));
    assert_eq!(counted("300us"), constant(240_000.0));
    assert_eq!(
        counted("{ iterations: 5ms, working_set: 1MiB }"),
        constant(2e6)
    );
    let uniform = Distribution::Uniform {
        low: 4e6,
        high: 8e6,
    };
    assert_eq!(counted("{ iterations: { uniform: [5ms, 10ms] } }"), uniform);
    let log_normal = Distribution::LogNormal {
        median: 4e6,
        sigma: 0.3,
        max: 16e6,
    };
    assert_eq!(
        counted("{ iterations: { log_normal: { median: 5ms, sigma: 0.3, max: 20ms } } }"),
        log_normal
    );
}

#[test]
fn work_in_time_keeps_its_range_and_says_what_it_became() {
    let work = "{ iterations: { assumed: 5ms, low: 1ms, high: 10ms, because: guess } }";
    let speed = WorkSpeed::everywhere(1.25);
    let spec = parse_with_values(&worker(work), "t.yaml", &BTreeMap::new(), Some(&speed)).unwrap();
    let [assumed] = spec.assumptions() else {
        panic!("{:?}", spec.assumptions())
    };
    assert_eq!(
        (assumed.low, assumed.value, assumed.high),
        (800_000.0, 4e6, 8e6)
    );
    let [launch, timed] = spec.timed_work() else {
        panic!("{:?}", spec.timed_work())
    };
    assert_eq!(launch.path, "launch.start");
    assert_eq!(timed.path, "nodes.n.work.iterations");
    assert_eq!((timed.ns, timed.iterations), (5e6, 4e6));
    let plain = parse_spec(&worker(work), "t.yaml").unwrap();
    assert_eq!(
        plain.timed_work()[1].iterations,
        5e6,
        "until there is a calibration"
    );
}

#[test]
fn times_and_iterations_do_not_mix() {
    for work in [
        "{ iterations: { uniform: [4M, 6ms] } }",
        "{ iterations: { assumed: 5M, low: 1ms, high: 10ms, because: guess } }",
    ] {
        let error = parse_spec(&worker(work), "t.yaml").unwrap_err().to_string();
        assert!(
            error.contains("t.yaml:7:") && error.contains("in one unit"),
            "{error}"
        );
    }
    let error = parse_spec(&worker("5m"), "t.yaml").unwrap_err().to_string();
    assert!(
        error.contains("'5m' is not a number of iterations or an execution time"),
        "{error}"
    );
}
