//! Any text as each of the YAML files: an error has a place within the text, and nothing else happens.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stowplan_plan::KnownEngines;
use stowplan_spec::{SpecError, parse_experiment, parse_partition, parse_spec};

fuzz_target!(|text: &str| {
    let lines = text.split(['\n', '\r']).count() as u64 + 1;
    let refused = [
        parse_spec(text, "fuzz.yaml").err(),
        parse_partition(text, "fuzz.yaml").err(),
        parse_experiment(text, "fuzz.yaml", &KnownEngines::default()).err(),
    ];
    for error in refused.into_iter().flatten() {
        assert!(!error.to_string().is_empty());
        let SpecError::Invalid(problems) = error else {
            continue;
        };
        assert!(!problems.is_empty());
        for problem in problems {
            assert!(problem.line <= lines, "{problem:?} in {lines} lines");
        }
    }
});
