//! What two results have in common, so that they can be compared: machine, stack, reference and deployments.

use std::collections::BTreeMap;

use serde_json::Value;
use stowplan_model::DdsProfile;
use stowplan_results::{
    CALLBACK_CPU, DDS_PROFILE, DeploymentRecord, Experiment, LimitsRecord, NEIGHBOURS, PREEMPTION,
    REPLAY, Results, RunStatus,
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
                what: what.to_owned(),
                old: of(old),
                new: of(new),
                hint: "measure the new one as the earlier one was",
            });
        }
    }
    Ok(())
}

/// What has to be equal for the reference to be one and the same.
type Setting = (&'static str, fn(&Experiment) -> String);

const SETTINGS: [Setting; 10] = [
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
    ("busy neighbours", |e| {
        let threads = e.parameters.get(NEIGHBOURS).and_then(Value::as_u64);
        threads.unwrap_or(0).to_string()
    }),
    ("rates of timers", |e| {
        let rates = e.parameters.get("timers").and_then(Value::as_array);
        let rates = rates.map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        rates.map_or_else(|| "those of the stack".to_owned(), |rates| rates.join(", "))
    }),
    ("replayed bag", |e| {
        let sha256 = e.parameters.get(REPLAY).and_then(|of| of.get("sha256"));
        let sha256 = sha256.and_then(Value::as_str);
        sha256.map_or_else(|| "none".to_owned(), |sha256| format!("SHA-256 {sha256}"))
    }),
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
    same_reference(&before, &after, old, new)?;
    Ok(after)
}

/// Refuses a reference that has kept its name and is another one.
fn same_reference(
    before: &DeploymentRecord,
    after: &DeploymentRecord,
    old: &Side<'_>,
    new: &Side<'_>,
) -> Result<(), JudgeError> {
    let nodes = |side: &Side<'_>| {
        let mut partitions = side.experiment.partitions.iter();
        let own = partitions.find(|p| p.name == before.partition);
        own.map(|p| p.nodes.clone()).unwrap_or_default()
    };
    let differ = |what: &str, change: Option<(String, String)>, hint| {
        change.map_or(Ok(()), |(old, new)| {
            let what = format!("{what} of the reference, {}", before.label);
            Err(JudgeError::OtherReference {
                what,
                old,
                new,
                hint,
            })
        })
    };
    differ(
        "partition",
        change(&nodes(old), &nodes(new)),
        "give the new partition another name: it is then held against the reference, and not taken for it",
    )?;
    let limits = |of: &DeploymentRecord| {
        let of_service = |(service, limits): (&String, &LimitsRecord)| {
            (service.clone(), limits_in_words(limits))
        };
        of.limits.iter().map(of_service).collect()
    };
    differ(
        "limits",
        change(&limits(before), &limits(after)),
        "to compare limits, name both of them under 'resources' of one experiment",
    )?;
    let isolation = |of: &DeploymentRecord| {
        let features = of.isolation.iter();
        let in_words = |on: &bool| if *on { "on" } else { "off" }.to_owned();
        features
            .map(|(key, on)| (key.clone(), in_words(on)))
            .collect()
    };
    differ(
        "isolation",
        change(&isolation(before), &isolation(after)),
        "to see what isolation costs, measure with --ablation",
    )
}

/// The first entry that is not the same in both, as it is in each.
fn change(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Option<(String, String)> {
    let mut keys = before.keys().chain(after.keys());
    let key = keys.find(|key| before.get(*key) != after.get(*key))?;
    let told = |of: &BTreeMap<String, String>| {
        let value = of.get(key).map_or("none", String::as_str);
        format!("{key}: {value}")
    };
    Some((told(before), told(after)))
}

/// The limits of a service that are set.
fn limits_in_words(limits: &LimitsRecord) -> String {
    let Ok(Value::Object(all)) = serde_json::to_value(limits) else {
        return "not known".to_owned();
    };
    let set = all.iter().filter(|(_, value)| !value.is_null());
    let set: Vec<String> = set.map(|(key, value)| format!("{key} {value}")).collect();
    if set.is_empty() {
        return "none that is set".to_owned();
    }
    set.join(", ")
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
