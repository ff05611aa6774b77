//! Other values in place of assumed ones.
use std::collections::BTreeMap;

use stowplan_model::Distribution;
use stowplan_spec::{Spec, parse_spec, parse_with_values, shipped, shipped_names};

const HELLO: &str = include_str!("../../../../stacks/hello.yaml");

fn with(values: &[(&str, f64)]) -> Spec {
    let values = values.iter().map(|(path, v)| ((*path).to_owned(), *v));
    parse_with_values(HELLO, "hello.yaml", &values.collect()).unwrap()
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
            parse_with_values(text, name, &values.collect())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
