//! One row per output of a chain.

use stowplan_results::{Label, OutputRow};
use stowplan_trace::{ChainInstance, ChainResult};

use super::RunKey;

/// The rows of one chain; `arm_ns` is the arming instant on the trace's clock.
#[must_use]
pub fn output_rows(key: &RunKey, result: &ChainResult, arm_ns: i64) -> Vec<OutputRow> {
    let chain: Label = result.chain.name.as_str().into();
    let row = |instance: &ChainInstance| OutputRow {
        run: key.run,
        block: key.block,
        deployment: key.deployment.clone(),
        chain: chain.clone(),
        instance: instance.input as u64,
        output_ns: instance.output_ns - arm_ns,
        data_age_ns: instance.age_ns,
        age_until_next_ns: instance.age_until_next_ns,
    };
    result.instances.iter().map(row).collect()
}
