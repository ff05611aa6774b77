//! The stack of a block, with the values of its assumed parameters.

use std::borrow::Cow;

use stowplan_measure::RunError;
use stowplan_model::Stack;
use stowplan_plan::PlanOptions;
use stowplan_results::Experiment;

use crate::error::ExperimentError;
use crate::live::Live;
use crate::phases::phases;
use crate::prepare::Prepared;
use crate::request::Request;
use crate::sensitivity::{Values, values, with_costs};

/// The stack with these values, its work scaled anew where a utilisation is asked for.
///
/// # Errors
/// When it is not a sound stack any more, or cannot be planned.
fn stack(
    request: &Request,
    prepared: &Prepared,
    values: &Values,
) -> Result<Stack, ExperimentError> {
    let spec = request.spec_with(values)?;
    let stack = with_costs(spec.into_stack(), values);
    let (Some(_), Some(first)) = (request.utilisation, prepared.deployments.first()) else {
        return Ok(stack);
    };
    let options = PlanOptions {
        utilisation: request.utilisation,
        own_network: false,
        launching: stowplan_model::Launching::Ros2,
        dds: request.dds_profile()?,
        schedule: None,
    };
    let partition = &first.deployment.partition;
    let plan = stowplan_plan::plan(&stack, partition, &prepared.machine, &options)?;
    let factor = plan.scaling.map_or(1.0, |scaling| scaling.factor);
    Ok(stowplan_plan::scale_work(&stack, factor))
}

impl Live<'_, '_> {
    /// Enters the values of a block into what is kept with the result.
    pub(crate) fn keep_values(&self, experiment: &mut Experiment, block: u32) {
        let draw = phases(self.request, experiment.pilot.as_ref(), block);
        if let Some(record) = &mut experiment.sensitivity {
            let values = values(&self.prepared.spec, draw);
            record.blocks.insert(block + 1, values);
        }
    }

    /// The stack of a block.
    pub(crate) fn stack(&self, block: u32) -> Result<Cow<'_, Stack>, RunError> {
        let experiment = self.result.experiment();
        let record = experiment.sensitivity.as_ref();
        match record.and_then(|record| record.blocks.get(&(block + 1))) {
            None => Ok(Cow::Borrowed(&self.prepared.stack)),
            Some(values) => stack(self.request, self.prepared, values)
                .map(Cow::Owned)
                .map_err(|error| RunError::new(stowplan_host::chain(&error))),
        }
    }
}
