//! What two results have in common, so that they can be compared: machine, stack, reference and deployments.

use serde_json::Value;
use stowplan_model::DdsProfile;
use stowplan_results::{
    CALLBACK_CPU, DDS_PROFILE, DeploymentRecord, Experiment, PREEMPTION, Results, RunStatus,
};

use crate::error::JudgeError;

/// Whether an experiment that is about to begin can be held against an earlier result.
///
/// # Errors
/// What [`crate::across`] would refuse the two for.
pub fn can_compare(old: &Results, new: &Experiment) -> Result<(), JudgeError> {
    Common::of(&Side::measured(old), &Side::planned(new)).map(drop)
}

/// One of two results, measured or about to be.
pub(crate) struct Side<'a> {
    experiment: &'a Experiment,
    deployments: Vec<&'a DeploymentRecord>,
}

impl<'a> Side<'a> {
    /// What has finished runs counts.
    pub(crate) fn measured(results: &'a Results) -> Self {
        let ran = |d: &&DeploymentRecord| {
            let mut runs = results.runs.iter();
            runs.any(|r| *r.deployment == *d.id && r.status == RunStatus::Finished)
        };
        let all = results.experiment.deployments.iter();
        Self {
            experiment: &results.experiment,
            deployments: all.filter(ran).collect(),
        }
    }

    /// What is not refused will run.
    fn planned(experiment: &'a Experiment) -> Self {
        let all = experiment.deployments.iter();
        Self {
            experiment,
            deployments: all.filter(|d| d.refused.is_none()).collect(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.deployments.iter().map(|d| d.id.clone()).collect()
    }
}

/// The deployments that two results have in common, as they are in the later one.
pub(crate) struct Common {
    pub(crate) reference: DeploymentRecord,
    pub(crate) candidates: Vec<DeploymentRecord>,
}

impl Common {
    pub(crate) fn of(old: &Side<'_>, new: &Side<'_>) -> Result<Self, JudgeError> {
        same_subject(old.experiment, new.experiment)?;
        let reference = common_reference(old, new)?;
        let candidates = candidates(old, new, &reference);
        if candidates.is_empty() {
            return Err(JudgeError::NothingInCommon {
                reference: reference.label.clone(),
            });
        }
        Ok(Self {
            reference,
            candidates,
        })
    }
}

/// Refuses results that say nothing about each other: another machine, stack, window, scale or way of phases.
fn same_subject(old: &Experiment, new: &Experiment) -> Result<(), JudgeError> {
    if !old.machine.is_same_as(&new.machine) {
        return Err(JudgeError::OtherMachine {
            old: old.machine.to_string(),
            new: new.machine.to_string(),
        });
    }
    let stack = |e: &Experiment| {
        let version = e
            .stack
            .sha256
            .get(..8)
            .unwrap_or(&e.stack.sha256)
            .to_owned();
        (e.stack.name.clone(), version)
    };
    if stack(old) != stack(new) {
        let told = |(name, version): (String, String)| format!("{name} ({version})");
        return Err(JudgeError::OtherStack {
            old: told(stack(old)),
            new: told(stack(new)),
        });
    }
    for (what, of) in SETTINGS {
        if of(old) != of(new) {
            return Err(JudgeError::OtherReference {
                what,
                old: of(old),
                new: of(new),
            });
        }
    }
    Ok(())
}

/// What has to be equal for the reference to be one and the same.
type Setting = (&'static str, fn(&Experiment) -> String);

const SETTINGS: [Setting; 7] = [
    ("window", |e| format!("{} s", e.window_s)),
    ("utilisation", |e| {
        e.utilisation
            .map_or_else(|| "none".to_owned(), |u| u.to_string())
    }),
    ("timer phases", |e| {
        e.phase.clone().unwrap_or_else(|| "not said".to_owned())
    }),
    ("starts", |e| {
        let starts = e.parameters.get("starts");
        starts.map_or_else(|| "not said".to_owned(), ToString::to_string)
    }),
    ("DDS profile", |e| {
        let named = e.parameters.get(DDS_PROFILE).and_then(Value::as_str);
        // Results of before there were profiles have it too.
        named.unwrap_or(DdsProfile::Stowplan.name()).to_owned()
    }),
    // Both cost something while measuring.
    ("CPU time of calls", |e| recorded(e, CALLBACK_CPU)),
    ("context switches", |e| recorded(e, PREEMPTION)),
];

/// Whether something was recorded; of older results it is not known, and they are taken for such without.
fn recorded(experiment: &Experiment, parameter: &str) -> String {
    let parameter = experiment.parameters.get(parameter);
    let is = parameter.and_then(Value::as_bool).unwrap_or_default();
    if is { "recorded" } else { "not recorded" }.to_owned()
}

/// The old reference, if the new experiment has the very same deployment.
fn common_reference(old: &Side<'_>, new: &Side<'_>) -> Result<DeploymentRecord, JudgeError> {
    let id = old.experiment.reference_id().unwrap_or_default();
    let of = |side: &Side<'_>| {
        let found = side.deployments.iter().find(|d| d.id == id);
        found.copied().cloned()
    };
    let before = of(old).ok_or_else(|| JudgeError::NoReference {
        id: id.to_owned(),
        have: old.ids(),
    })?;
    let after = of(new).ok_or_else(|| JudgeError::ReferenceGone {
        id: id.to_owned(),
        have: new.ids(),
    })?;
    let nodes = |side: &Side<'_>| {
        let mut partitions = side.experiment.partitions.iter();
        let own = partitions.find(|p| p.name == before.partition);
        own.map(|p| p.nodes.clone())
    };
    let differ = |what, is: bool| {
        let [old, new] = ["as before", "changed"].map(str::to_owned);
        if is {
            return Err(JudgeError::OtherReference { what, old, new });
        }
        Ok(())
    };
    differ("partition of the reference", nodes(old) != nodes(new))?;
    differ("limits of the reference", before.limits != after.limits)?;
    differ(
        "isolation of the reference",
        before.isolation != after.isolation,
    )?;
    Ok(after)
}

/// Deployments that both have, in the order of the new result; steps of an ablation answer another question.
fn candidates(
    old: &Side<'_>,
    new: &Side<'_>,
    reference: &DeploymentRecord,
) -> Vec<DeploymentRecord> {
    let both = new.deployments.iter().filter(|d| {
        let step = new.experiment.is_step(d);
        d.id != reference.id && !step && old.deployments.iter().any(|o| o.id == d.id)
    });
    both.copied().cloned().collect()
}
