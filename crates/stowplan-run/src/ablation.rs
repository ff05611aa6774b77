//! Ablation: from plain processes to containers, one addition at a time, on one partition (docs/measuring.md §2).

use stowplan_engine::IsolationFeature;
use stowplan_model::{Deployment, Isolation, Launching, Name, Place, Variant};
use stowplan_plan::KnownEngines;

use crate::error::ExperimentError;
use crate::isolation::switch;

/// The order in which features are added: one that another needs comes before it. `mount` before `pid`, whose
/// processes need a `/proc` of their own; `mount` before `user`, `overlay` and `read_only_root`, which are about
/// mounts; `capabilities` before `seccomp`, whose profile allows more system calls to who has more
/// capabilities. The cgroup is there from the first container on, as it is for plain processes in groups.
const ORDER: [IsolationFeature; 10] = [
    IsolationFeature::Uts,
    IsolationFeature::Ipc,
    IsolationFeature::Net,
    IsolationFeature::Mount,
    IsolationFeature::Pid,
    IsolationFeature::User,
    IsolationFeature::Overlay,
    IsolationFeature::ReadOnlyRoot,
    IsolationFeature::Capabilities,
    IsolationFeature::Seccomp,
];

/// One deployment of an ablation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// The deployment.
    pub deployment: Deployment,
    /// What it has that the one before has not, as a key and for people; `None` for the first.
    pub adds: Option<(&'static str, &'static str)>,
}

/// The deployments from plain processes in one group to `of`, the containers as they were asked for, in the order in which
/// something is added.
pub(crate) fn steps(of: &Deployment, known: &KnownEngines) -> Result<Vec<Step>, ExperimentError> {
    let controls = known
        .flat()
        .zip(known.controls(&of.place).into_iter().next());
    let (flat, grouped) = controls.ok_or_else(|| {
        let what = format!(
            "no engine here has plain processes that stand beside '{}'",
            of.place
        );
        wrong(what)
    })?;
    let plain = |place: Place, adds| Step {
        deployment: Deployment {
            place,
            ..of.clone()
        },
        adds,
    };
    let mut steps = vec![
        plain(flat, None),
        plain(grouped, Some(("group_scheduling", "group scheduling"))),
    ];
    let mut wanted = of.isolation;
    let added: Vec<IsolationFeature> = ORDER
        .into_iter()
        .filter(|feature| *switch(*feature, &mut wanted))
        .collect();
    let mut isolation = nothing_but_the_cgroup(of.isolation);
    steps.push(Step {
        deployment: partly(of, isolation, "no-isolation")?,
        adds: Some(("runtime", "container runtime alone")),
    });
    for feature in added {
        *switch(feature, &mut isolation) = true;
        let name = format!("up-to-{}", feature.name());
        steps.push(Step {
            deployment: partly(of, isolation, &name)?,
            adds: Some((feature.name(), feature.label())),
        });
    }
    // The last has everything: it is the deployment that was asked for.
    if let Some(last) = steps.last_mut() {
        last.deployment.variant = None;
    }
    Ok(steps)
}

fn nothing_but_the_cgroup(isolation: Isolation) -> Isolation {
    let mut nothing = isolation;
    for feature in ORDER {
        *switch(feature, &mut nothing) = false;
    }
    nothing
}

fn partly(
    of: &Deployment,
    isolation: Isolation,
    name: &str,
) -> Result<Deployment, ExperimentError> {
    Ok(Deployment {
        isolation,
        variant: Some(Variant {
            name: Name::new(name).map_err(|e| wrong(e.to_string()))?,
            injection: None,
            launching: Launching::Ros2,
        }),
        ..of.clone()
    })
}

fn wrong(what: String) -> ExperimentError {
    ExperimentError::Name { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::isolation_by_name;
    use crate::prepare::tests::known;
    use stowplan_model::Partition;

    fn containers(isolation: Isolation) -> Deployment {
        Deployment {
            partition: Partition {
                name: "modules".to_owned(),
                services: vec![],
                notes: vec![],
            },
            place: known().place("oci").unwrap(),
            resources: stowplan_model::Resources::default(),
            isolation,
            variant: None,
        }
    }

    fn on(isolation: Isolation) -> Vec<String> {
        let all = isolation_by_name(isolation).into_iter();
        all.filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }

    #[test]
    fn features_are_added_one_at_a_time_until_the_containers_are_as_asked_for() {
        let asked = containers(Isolation::default());
        let steps = steps(&asked, &known()).unwrap();
        let labels: Vec<String> = steps.iter().map(|s| s.deployment.label()).collect();
        assert_eq!(
            labels,
            [
                "bare:flat · modules",
                "bare:grouped · modules",
                "oci · modules · no-isolation",
                "oci · modules · up-to-uts",
                "oci · modules · up-to-ipc",
                "oci · modules · up-to-mount",
                "oci · modules · up-to-pid",
                "oci · modules · up-to-overlay",
                "oci · modules · up-to-capabilities",
                "oci · modules"
            ]
        );
        assert_eq!(steps.last().unwrap().deployment, asked);
        assert_eq!(on(steps[2].deployment.isolation), ["cgroup"]);
        for pair in steps[2..].windows(2) {
            let (before, after) = (
                on(pair[0].deployment.isolation),
                on(pair[1].deployment.isolation),
            );
            let new: Vec<&String> = after.iter().filter(|f| !before.contains(f)).collect();
            assert_eq!(new, [pair[1].adds.unwrap().0]);
            assert_eq!(after.len(), before.len() + 1);
        }
    }

    #[test]
    fn what_was_asked_for_decides_which_features_there_are() {
        let asked = Isolation {
            net: true,
            pid: false,
            read_only_root: true,
            ..Isolation::default()
        };
        let added: Vec<&str> = steps(&containers(asked), &known())
            .unwrap()
            .iter()
            .filter_map(|s| Some(s.adds?.0))
            .collect();
        assert_eq!(
            added,
            [
                "group_scheduling",
                "runtime",
                "uts",
                "ipc",
                "net",
                "mount",
                "overlay",
                "read_only_root",
                "capabilities",
                "seccomp"
            ]
        );
    }

    #[test]
    fn the_order_has_every_feature_but_the_cgroup_and_mounts_before_what_needs_them() {
        let at = |feature| ORDER.iter().position(|f| *f == feature);
        for feature in IsolationFeature::ALL {
            let missing = feature == IsolationFeature::Cgroup;
            assert_eq!(at(feature).is_none(), missing, "{}", feature.name());
        }
        for needs in [
            IsolationFeature::Pid,
            IsolationFeature::User,
            IsolationFeature::Overlay,
            IsolationFeature::ReadOnlyRoot,
        ] {
            assert!(at(IsolationFeature::Mount) < at(needs), "{}", needs.name());
        }
    }
}
