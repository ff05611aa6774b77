//! Nothing less than what was asked for is measured: what cannot be had here ends the experiment before anything is started,
//! or is skipped where the user asked for that.

use stowplan_engine::EngineError;
use stowplan_host::chain;
use stowplan_model::{Place, Stack};
use stowplan_results::DeploymentRecord;

use crate::engines::Engines;
use crate::error::ExperimentError;
use crate::prepare::Prepared;
use crate::request::Request;

/// Option of the commands that measure; hints name it.
const SKIP: &str = "--skip-missing measures the rest";

/// Fails where a place of the experiment cannot be used here, and is not to be skipped.
pub(crate) fn require_places(
    request: &Request,
    stack: &Stack,
    engines: &Engines<'_>,
) -> Result<(), ExperimentError> {
    let deployments = request.deployments(stack, engines.known())?;
    let mut places: Vec<Place> = Vec::new();
    for deployment in deployments {
        if !places.contains(&deployment.place) {
            places.push(deployment.place);
        }
    }
    let missing = places.iter().filter_map(|place| {
        let error = engines.usable(place).err()?;
        Some((place, error))
    });
    let missing: Vec<(&Place, EngineError)> = missing.collect();
    let rest = missing.len() < places.len();
    if missing.is_empty() || rest && request.skip_missing {
        return Ok(());
    }
    Err(missing_places(&missing, rest))
}

/// The error of places that cannot be used here; `rest` says whether others can be, and are measured with `--skip-missing`.
#[must_use]
pub fn missing_places(missing: &[(&Place, EngineError)], rest: bool) -> ExperimentError {
    let reasons = missing.iter().map(|(place, error)| {
        if place.outer.is_empty() {
            chain(error)
        } else {
            format!("place '{place}': {}", chain(error))
        }
    });
    let mut hints: Vec<&str> = Vec::new();
    for hint in missing.iter().filter_map(|(_, e)| e.hint.as_deref()) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    if rest {
        hints.push(SKIP);
    }
    ExperimentError::Missing {
        reasons: reasons.collect::<Vec<_>>().join("; "),
        hint: hints.join("; "),
    }
}

/// Fails where a deployment cannot run, and is not to be skipped.
pub(crate) fn require_all(request: &Request, prepared: &Prepared) -> Result<(), ExperimentError> {
    if request.skip_missing || prepared.refused.is_empty() {
        return Ok(());
    }
    Err(ExperimentError::Missing {
        reasons: in_words(&prepared.refused),
        hint: SKIP.to_owned(),
    })
}

/// Deployments with the same reason are told together.
fn in_words(refused: &[DeploymentRecord]) -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for record in refused {
        let reason = record.refused.as_deref().unwrap_or_default();
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, labels)) => labels.push(&record.label),
            None => by_reason.push((reason, vec![&record.label])),
        }
    }
    let told = by_reason
        .into_iter()
        .map(|(reason, labels)| format!("{} cannot run: {reason}", labels.join(" and ")));
    told.collect::<Vec<_>>().join("; ")
}

/// Leaves what a result began with: its runs are numbered by that. What it skipped stays skipped, and what it measured has to be
/// there still.
pub(crate) fn keep_recorded(
    prepared: &mut Prepared,
    begun: &[DeploymentRecord],
) -> Result<(), ExperimentError> {
    let recorded = |id: &str| {
        let record = begun.iter().find(|record| record.id == id)?;
        Some(record.refused.clone())
    };
    let gone: Vec<DeploymentRecord> = prepared
        .refused
        .iter()
        .filter(|now| recorded(&now.id) == Some(None))
        .cloned()
        .collect();
    if !gone.is_empty() {
        return Err(ExperimentError::Missing {
            reasons: in_words(&gone),
            hint: "this result measured it before: go on when it is back".to_owned(),
        });
    }
    let now = std::mem::take(&mut prepared.deployments);
    for mut planned in now {
        match recorded(&planned.record.id) {
            Some(None) => prepared.deployments.push(planned),
            Some(reason) => {
                planned.record.refused = reason;
                prepared.refused.push(planned.record);
            }
            // What was measured again beside another experiment may have deployed more.
            None => {}
        }
    }
    Ok(())
}

/// Fails where a limit names a CPU that the machine does not have.
pub(crate) fn require_cpus(request: &Request, online: &[u32]) -> Result<(), ExperimentError> {
    for (service, limits) in request.all_limits() {
        let mut asked = limits.cpuset.iter().flatten();
        if let Some(cpu) = asked.find(|cpu| !online.contains(cpu)) {
            let have: Vec<String> = online.iter().map(ToString::to_string).collect();
            return Err(ExperimentError::NoCpu {
                service: service.clone(),
                cpu: *cpu,
                have: have.join(", "),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::prepare::prepare;
    use crate::prepare::tests::{container, known, machine};
    use crate::request::tests::request;
    use stowplan_model::Limits;

    /// `hello` on `bare:flat` and `oci`, where these engines are not there.
    fn prepared(absent: &[&str]) -> Prepared {
        let request = Request {
            limits: BTreeMap::new(),
            isolation: BTreeMap::new(),
            ..request()
        };
        let mut can = |place: &Place| {
            if absent.contains(&&*place.engine.name) {
                return Err(format!("engine '{}': no", place.engine.name));
            }
            Ok(container())
        };
        prepare(&request, &machine(), &known(), &mut can).unwrap()
    }

    fn skipping(skip_missing: bool) -> Request {
        Request {
            skip_missing,
            ..request()
        }
    }

    #[test]
    fn a_deployment_that_cannot_run_is_an_error_unless_it_is_to_be_skipped() {
        let all = prepared(&[]);
        require_all(&skipping(false), &all).unwrap();
        let less = prepared(&["oci"]);
        require_all(&skipping(true), &less).unwrap();
        let error = require_all(&skipping(false), &less).unwrap_err();
        assert_eq!(
            error.to_string(),
            "oci · single and oci · modules cannot run: engine 'oci': no"
        );
    }

    fn records(prepared: &Prepared) -> Vec<DeploymentRecord> {
        let all = prepared.deployments.iter().map(|d| &d.record);
        all.chain(&prepared.refused).cloned().collect()
    }

    fn ids(prepared: &Prepared) -> Vec<&str> {
        let all = prepared.deployments.iter();
        all.map(|d| &*d.record.id).collect()
    }

    #[test]
    fn what_a_result_skipped_stays_skipped_when_it_is_there() {
        let begun = records(&prepared(&["oci"]));
        let mut now = prepared(&[]);
        keep_recorded(&mut now, &begun).unwrap();
        assert_eq!(ids(&now), ["bare-flat.single", "bare-flat.modules"]);
        let skipped = now.refused.iter().map(|d| d.refused.as_deref());
        assert_eq!(skipped.collect::<Vec<_>>(), [Some("engine 'oci': no"); 2]);
    }

    #[test]
    fn what_a_result_measured_has_to_be_there_still() {
        let begun = records(&prepared(&[]));
        let mut same = prepared(&[]);
        keep_recorded(&mut same, &begun).unwrap();
        assert_eq!(same.deployments.len(), 4);
        let error = keep_recorded(&mut prepared(&["oci"]), &begun).unwrap_err();
        assert!(matches!(&error, ExperimentError::Missing { .. }));
        assert!(error.to_string().contains("oci · modules"), "{error}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let on = |cpus: &[u32]| Request {
            limits: BTreeMap::from([(
                "sensing".to_owned(),
                Limits {
                    cpuset: Some(cpus.to_vec()),
                    ..Limits::default()
                },
            )]),
            ..request()
        };
        require_cpus(&on(&[0, 2]), &[0, 2]).unwrap();
        let error = require_cpus(&on(&[0, 1]), &[0, 2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "limits of service 'sensing' name CPU 1, and this machine has CPUs 0, 2"
        );
    }
}
