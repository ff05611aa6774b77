//! The JSON Schemas: they accept what ships and refuse what the parser refuses.

use serde_json::Value;
use stowplan_spec::{
    experiment_schema, partition_schema, scenario_schema, shipped, shipped_names,
    shipped_partition, shipped_partition_names, shipped_scenario, shipped_scenario_names,
    stack_schema,
};
use stowplan_testkit::known_engines;

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("the text is YAML")
}

fn accepts(schema: &Value, text: &str) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema).expect("the schema is one");
    let value = yaml(text);
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("\n"))
    }
}

#[test]
fn shipped_files_are_valid() {
    for name in shipped_names() {
        accepts(&stack_schema(), shipped(name).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    for name in shipped_partition_names() {
        accepts(&partition_schema(), shipped_partition(name).unwrap())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    for name in shipped_scenario_names() {
        accepts(&scenario_schema(), shipped_scenario(name).unwrap())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn unknown_keys_are_not() {
    let hello = shipped("hello").unwrap();
    for (from, to) in [
        ("subscribes: /imu", "subscribe: /imu"),
        ("modules:", "moduls:"),
        ("intra_process: true", "intraprocess: true"),
        ("executor: multi", "executor: multy"),
        (
            "because: \"point cloud filters\"",
            "reason: \"point cloud filters\"",
        ),
    ] {
        assert!(hello.contains(from), "hello.yaml has changed: no '{from}'");
        assert!(
            accepts(&stack_schema(), &hello.replacen(from, to, 1)).is_err(),
            "{to}"
        );
    }
}

#[test]
fn an_experiment_with_every_key_is_valid() {
    let text = include_str!("data/experiment.yaml");
    accepts(&experiment_schema(), text).unwrap_or_else(|e| panic!("{e}"));
    let experiment = stowplan_spec::parse_experiment(text, "experiment.yaml", &known_engines())
        .unwrap_or_else(|e| panic!("{e}"));
    insta::assert_debug_snapshot!(experiment);
}
