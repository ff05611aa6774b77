//! How fast the work kernel is: when an experiment is planned, and in each of its blocks.

use std::collections::BTreeMap;

use serde_json::Value;
use stowplan_engine::EngineError;
use stowplan_image::Image;
use stowplan_model::{FIRST_LEVEL_BYTES, Stack, WorkSpeed};
use stowplan_remote::AgentHost;
use stowplan_wire::host::Calibration;

/// Parameters under which the calibration that scaled the work is kept.
const NS_PER_ITERATION: &str = "planning_ns_per_iteration";
const NS_OF_LARGER: &str = "planning_ns_per_iteration_by_working_set";

/// The speed that a calibration found; `None` where it measured nothing within the first-level cache.
#[must_use]
pub fn work_speed(measured: &[Calibration]) -> Option<WorkSpeed> {
    let (small, larger): (Vec<&Calibration>, Vec<&Calibration>) = measured
        .iter()
        .partition(|c| c.working_set_bytes <= FIRST_LEVEL_BYTES);
    let larger = larger.into_iter();
    Some(WorkSpeed::new(
        small.first()?.ns_per_iteration,
        larger.map(|c| (c.working_set_bytes, c.ns_per_iteration)),
    ))
}

/// Measures the speed for the working sets of all these stacks.
///
/// # Errors
/// When the node program fails.
pub(crate) fn calibrate<'a>(
    host: &AgentHost,
    image: &Image,
    stacks: impl IntoIterator<Item = &'a Stack>,
) -> Result<WorkSpeed, EngineError> {
    let program = image.program().display().to_string();
    let mut sizes: Vec<u64> = stacks.into_iter().flat_map(WorkSpeed::sizes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let measured = host.calibrate(&program, 0, &sizes)?;
    work_speed(&measured).ok_or_else(|| {
        EngineError::new(format!("{program} did not calibrate what it was asked to"))
    })
}

/// The parameters of a speed.
pub(crate) fn parameters(speed: &WorkSpeed) -> [(String, Value); 2] {
    let larger = speed.larger().iter();
    let larger: BTreeMap<String, f64> =
        larger.map(|(bytes, ns)| (bytes.to_string(), *ns)).collect();
    [
        (NS_PER_ITERATION.to_owned(), speed.ns().into()),
        (
            NS_OF_LARGER.to_owned(),
            larger.into_iter().collect::<Value>(),
        ),
    ]
}

/// The speed that these parameters keep; of older results that within the first-level cache is that of all.
pub(crate) fn of_parameters(parameters: &BTreeMap<String, Value>) -> Option<WorkSpeed> {
    let ns = parameters.get(NS_PER_ITERATION)?.as_f64()?;
    let larger = parameters.get(NS_OF_LARGER).and_then(Value::as_object);
    let larger = larger.into_iter().flatten();
    Some(WorkSpeed::new(
        ns,
        larger.filter_map(|(bytes, ns)| Some((bytes.parse().ok()?, ns.as_f64()?))),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(working_set_bytes: u64, ns_per_iteration: f64) -> Calibration {
        Calibration {
            working_set_bytes,
            iterations: 1,
            ns_per_iteration,
            least_ns_per_iteration: 0.5,
            greatest_ns_per_iteration: 9.0,
        }
    }

    #[test]
    fn a_speed_is_kept_and_read_back() {
        let measured = [
            calibration(FIRST_LEVEL_BYTES, 1.25),
            calibration(262_144, 1.5),
            calibration(2_097_152, 4.0),
        ];
        let speed = work_speed(&measured).unwrap();
        assert_eq!(speed.ns_of(100_000), 1.5);
        let kept = BTreeMap::from(parameters(&speed));
        assert_eq!(of_parameters(&kept), Some(speed));
        assert_eq!(work_speed(&measured[1..]), None);
    }

    #[test]
    fn an_older_result_has_one_speed() {
        let kept = BTreeMap::from([(NS_PER_ITERATION.to_owned(), Value::from(1.25))]);
        assert_eq!(of_parameters(&kept), Some(WorkSpeed::everywhere(1.25)));
        assert_eq!(of_parameters(&BTreeMap::new()), None);
    }
}
