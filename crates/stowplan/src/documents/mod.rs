//! The JSON documents that scripts read. Each begins with its schema's name and version; the
//! JSON Schemas are committed under `schemas/` and held equal to these types by a test.

pub mod calls;
pub mod clean;
pub mod doctor;
pub mod learn;
pub mod learnt;
pub mod plan;
pub mod trace;
pub mod trace_compare;
pub mod trace_record;
pub mod trace_system;

use serde::Serialize;

use crate::failure::{CommandError, ExitCode};
use crate::output::tell;

/// Prints a document on standard output.
pub fn print(document: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|error| CommandError::from_error(ExitCode::RunFailed, &error))?;
    tell!("{text}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::{JsonSchema, schema_for};

    use super::*;

    fn committed_equals<T: JsonSchema>(name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../schemas")
            .join(format!("{name}.json"));
        let now = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
        if std::env::var_os("STOWPLAN_UPDATE_SCHEMAS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == now,
            "schemas/{name}.json is not what the code writes; run `cargo xtask schema`"
        );
    }

    #[test]
    fn committed_schemas_are_those_of_the_code() {
        committed_equals::<doctor::Doctor>("doctor");
        committed_equals::<plan::PlanDocument>("plan");
        committed_equals::<trace::TraceInfo>("trace-info");
        committed_equals::<trace::TraceAnalysis>("trace-analyze");
        committed_equals::<trace::TraceChains>("trace-chains");
        committed_equals::<trace::TraceLinks>("trace-links");
        committed_equals::<trace::TraceCallbacks>("trace-callbacks");
        committed_equals::<trace_record::TraceRecord>("trace-record");
        committed_equals::<trace_system::TraceStartUp>("trace-start-up");
        committed_equals::<trace_compare::TraceComparison>("trace-compare");
        committed_equals::<learn::LearntTrace>("trace-learn");
        committed_equals::<learnt::LearntComparison>("trace-compare-learnt");
        committed_equals::<clean::Clean>("clean");
    }
}
