//! One row per input of a chain.

use std::collections::HashMap;

use stowplan_results::{Label, LatencyRow};
use stowplan_trace::{ChainInput, ChainInstance, ChainResult, Fate, Reference, StopCause};

use super::RunKey;
use crate::preempted::Preempted;

/// The rows of one chain; `arm_ns` is the arming instant on the trace's clock.
///
/// The parts of an input are those of its first output; where an input has several outputs,
/// `mean_over_outputs_ns` has the papers' mean over all of them, and `output_rows` each. Inputs that were released too late in
/// the window to count come last, without figures.
#[must_use]
pub fn latency_rows(
    key: &RunKey,
    result: &ChainResult,
    arm_ns: i64,
    preempted: Option<&Preempted<'_>>,
) -> Vec<LatencyRow> {
    let chain: Label = result.chain.name.as_str().into();
    let mut first_output: HashMap<usize, &ChainInstance> = HashMap::new();
    for instance in &result.instances {
        first_output.entry(instance.input).or_insert(instance);
    }
    let row = |number: usize, reference_ns: i64| {
        let run = (key.run, key.block, key.deployment.clone());
        LatencyRow::new(run, chain.clone(), number as u64, reference_ns - arm_ns)
    };
    let counted = result.inputs.iter().enumerate().map(|(number, input)| {
        let mut row = row(number, input.release_ns.unwrap_or(input.start_ns));
        fill_input(&mut row, input, result.reference);
        if let Some(instance) = first_output.get(&number) {
            fill_output(&mut row, instance, arm_ns);
            row.preempted_ns = preempted.and_then(|of| of.in_steps(&instance.steps));
        }
        row
    });
    let numbers = result.inputs.len()..;
    let late = numbers
        .zip(&result.left_out_ns)
        .map(|(number, reference_ns)| LatencyRow {
            valid: false,
            reason: Some(LATE.into()),
            ..row(number, *reference_ns)
        });
    counted.chain(late).collect()
}

const LATE: &str = "released nearer to the end of the window than the longest reaction";

#[expect(
    clippy::cast_possible_truncation,
    reason = "a mean of ns durations is far below 2^63"
)]
fn fill_input(row: &mut LatencyRow, input: &ChainInput, reference: Reference) {
    row.reaction_ns = input.reaction_ns;
    row.mean_over_outputs_ns = input.mean_e2e_ns.map(|mean| mean.round() as i64);
    row.valid = !input.touched_by_discard;
    if input.touched_by_discard {
        row.reason = Some("events were discarded while it was on its way".into());
    } else if let Fate::Stopped { after, cause } = input.fate {
        row.overwritten = matches!(cause, StopCause::Overwritten | StopCause::Superseded);
        row.reason = Some(format!("no output: {} after callback {after}", in_words(cause)).into());
    } else if reference == Reference::Start {
        row.reason = Some("the release of the input is not in the trace".into());
    }
}

fn fill_output(row: &mut LatencyRow, instance: &ChainInstance, arm_ns: i64) {
    let parts = &instance.parts;
    row.output_ns = Some(instance.output_ns - arm_ns);
    row.e2e_paper_ns = Some(instance.e2e_ns);
    row.e2e_full_ns = instance.e2e_full_ns;
    row.computation_ns = Some(parts.computation_ns);
    row.send_ns = Some(parts.send_ns);
    row.transport_ns = parts.transport_ns;
    row.wait_ns = parts.wait_ns;
    row.idle_ns = Some(parts.idle_ns);
    row.communication_ns = Some(parts.communication_ns());
    row.data_age_ns = Some(instance.age_ns);
    if parts.transport_ns.is_none() && row.reason.is_none() {
        row.reason = Some(
            "a message's arrival is not in the trace: transport and wait are not known apart"
                .into(),
        );
    }
}

fn in_words(cause: StopCause) -> &'static str {
    match cause {
        StopCause::NotPublished => "nothing was published",
        StopCause::Overwritten => "the message was overwritten by a later one",
        StopCause::NotTaken => "the message was not taken",
        StopCause::NoCallback => "no callback ran on the message",
        StopCause::Superseded => "later data was used instead",
        StopCause::Unfinished => "the trace ended",
    }
}
