//! What a topic says about the cost of serialising its messages.

use serde_json::Value;
use stowplan_model::Serialisation;
use stowplan_spec::{Unit, parse_spec, parse_stack, stack_schema};

const STACK: &str = r#"name: costs
description: Topics with and without a cost.
profile: minimal
serialisation: small
kinds:
  serialisation:
    small: { message: 500 }
topics:
  /default: 4kB
  /own:
    bytes: 1MB
    serialisation:
      message: 2k
      kib: { assumed: 300, low: 100, high: 1k, because: "a copy field by field" }
  /named: { bytes: 64, serialisation: small }
modules:
  m:
    nodes:
      a: { timer: 10Hz, publishes: [/default, /own, /named] }
      b: { subscribes: /default }
      c: { subscribes: /own }
      d: { subscribes: /named }
"#;

#[test]
fn a_cost_is_the_topics_a_kinds_or_the_stacks() {
    let spec = parse_spec(STACK, "costs.yaml").unwrap_or_else(|e| panic!("{e}"));
    let cost = |name: &str| spec.stack().topic(name).unwrap().serialisation;
    let small = Serialisation {
        message_iterations: 500,
        kib_iterations: 0,
    };
    assert_eq!(cost("/default"), Some(small));
    assert_eq!(cost("/named"), Some(small));
    assert_eq!(
        cost("/own"),
        Some(Serialisation {
            message_iterations: 2_000,
            kib_iterations: 300,
        })
    );
    let [assumption] = spec.assumptions() else {
        panic!("{:?}", spec.assumptions());
    };
    assert_eq!(assumption.path, "topics./own.serialisation.kib");
    let range = (assumption.low, assumption.value, assumption.high);
    assert_eq!(range, (100.0, 300.0, 1_000.0));
    assert_eq!((assumption.unit, assumption.line), (Unit::Iterations, 14));
    let value: Value = serde_saphyr::from_str(STACK).unwrap();
    assert!(jsonschema::is_valid(&stack_schema(), &value));
}

#[test]
fn nothing_said_is_no_cost() {
    let text = STACK.replace("serialisation: small\n", "");
    let text = text.replace("  serialisation:\n    small: { message: 500 }\n", "  {}\n");
    let text = text.replace(", serialisation: small", "");
    let stack = parse_stack(&text, "costs.yaml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(stack.topic("/default").unwrap().serialisation, None);
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (from, to, line, told) in [
        (
            "serialisation: small }",
            "serialisation: smal }",
            15,
            "there is no 'smal' under kinds.serialisation",
        ),
        ("message: 2k", "mesage: 2k", 13, "mesage"),
        (
            "message: 2k",
            "message: { uniform: [1k, 2k] }",
            13,
            "one value",
        ),
    ] {
        let error = parse_stack(&STACK.replacen(from, to, 1), "costs.yaml").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(told) && text.contains(&format!("costs.yaml:{line}")),
            "{text}"
        );
    }
}
