//! JSON Schemas of the files, for editors and for tests.

use serde_json::Value;

use crate::elements::experiment::ExperimentSpec;
use crate::elements::partition::PartitionSpec;
use crate::elements::scenario::ScenarioSpec;
use crate::elements::stack::StackSpec;

/// The JSON Schema of a stack file.
#[must_use]
pub fn stack_schema() -> Value {
    titled::<StackSpec>("Stowplan stack")
}

/// The JSON Schema of an experiment file.
#[must_use]
pub fn experiment_schema() -> Value {
    titled::<ExperimentSpec>("Stowplan experiment")
}

/// The JSON Schema of a partition table.
#[must_use]
pub fn partition_schema() -> Value {
    titled::<PartitionSpec>("Stowplan partition table")
}

/// The JSON Schema of a scenario file.
#[must_use]
pub fn scenario_schema() -> Value {
    titled::<ScenarioSpec>("Stowplan scenario")
}

fn titled<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
