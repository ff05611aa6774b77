//! What an experiment would be on this machine, before anything of it is started.

use stowplan_model::WorkSpeed;
use stowplan_results::DeploymentRecord;

use crate::engines::CallerEngines;
use crate::error::ExperimentError;
use crate::expected::{Expected, expected};
use crate::missing::require_all;
use crate::programs::Programs;
use crate::request::Request;
use crate::station::Station;

/// An experiment that can be measured here.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// How long it takes; `None` where the machine's speed is not known.
    pub expected: Option<Expected>,
    /// Its deployments, but for those of an ablation that have a part of the isolation only; what is skipped says why.
    pub deployments: Vec<DeploymentRecord>,
    /// What the user should know of its plans.
    pub warnings: Vec<String>,
}

/// Looks at an experiment as beginning it would, on a machine of this speed.
///
/// # Errors
/// What [`crate::begin`] would refuse it for.
pub fn check(
    request: &Request,
    speed: &WorkSpeed,
    programs: &Programs,
    outside: CallerEngines<'_>,
) -> Result<Checked, ExperimentError> {
    let station = Station::start(request, programs, outside, &mut |_| {})?;
    station.require(request)?;
    let request = request.clone().calibrated(speed)?;
    let prepared = station.planned(&request, speed)?;
    require_all(&request, &prepared)?;
    let all = prepared.deployments.iter().map(|planned| &planned.record);
    let deployments = all.chain(&prepared.refused).filter(|record| {
        let mut steps = prepared.ablation.iter();
        record.variant.is_none() || !steps.any(|step| step.deployment == record.id)
    });
    Ok(Checked {
        expected: expected(&request, &prepared)?,
        deployments: deployments.cloned().collect(),
        warnings: prepared.warnings,
    })
}
