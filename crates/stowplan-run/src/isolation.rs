//! Isolation features of the model, as engines and files know them.

use std::collections::BTreeMap;

use stowplan_engine::IsolationFeature;
use stowplan_model::Isolation;
use stowplan_wire::deployment::IsolationPlan;

pub(crate) const fn switch(feature: IsolationFeature, isolation: &mut Isolation) -> &mut bool {
    match feature {
        IsolationFeature::Mount => &mut isolation.mount,
        IsolationFeature::Pid => &mut isolation.pid,
        IsolationFeature::Ipc => &mut isolation.ipc,
        IsolationFeature::Uts => &mut isolation.uts,
        IsolationFeature::Net => &mut isolation.net,
        IsolationFeature::User => &mut isolation.user,
        IsolationFeature::Cgroup => &mut isolation.cgroup,
        IsolationFeature::ReadOnlyRoot => &mut isolation.read_only_root,
        IsolationFeature::Overlay => &mut isolation.overlay,
        IsolationFeature::Seccomp => &mut isolation.seccomp,
        IsolationFeature::Capabilities => &mut isolation.capabilities,
    }
}

/// What engines get.
pub(crate) fn isolation_plan(mut isolation: Isolation) -> IsolationPlan {
    let mut plan = IsolationPlan::default();
    for feature in IsolationFeature::ALL {
        *feature.switch(&mut plan) = *switch(feature, &mut isolation);
    }
    plan
}

/// The features by the names that files and results use.
pub(crate) fn isolation_by_name(mut isolation: Isolation) -> BTreeMap<String, bool> {
    IsolationFeature::ALL
        .into_iter()
        .map(|feature| (feature.name().to_owned(), *switch(feature, &mut isolation)))
        .collect()
}

/// From those names; a feature that is not named is as it is by default.
pub(crate) fn isolation_of_names(by_name: &BTreeMap<String, bool>) -> Isolation {
    let mut isolation = Isolation::default();
    for feature in IsolationFeature::ALL {
        if let Some(on) = by_name.get(feature.name()) {
            *switch(feature, &mut isolation) = *on;
        }
    }
    isolation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_keeps_its_name_and_its_switch() {
        for feature in IsolationFeature::ALL {
            let name = BTreeMap::from([(feature.name().to_owned(), true)]);
            let other = BTreeMap::from([(feature.name().to_owned(), false)]);
            let (on, off) = (isolation_of_names(&name), isolation_of_names(&other));
            let differ: Vec<_> = IsolationFeature::ALL
                .into_iter()
                .filter(|f| f.in_plan(&isolation_plan(on)) != f.in_plan(&isolation_plan(off)))
                .collect();
            assert_eq!(differ, [feature]);
            assert!(isolation_by_name(on)[feature.name()]);
        }
        assert_eq!(
            isolation_plan(Isolation::default()),
            IsolationPlan::CONTAINER
        );
        let by_name = isolation_by_name(Isolation::default());
        assert_eq!(isolation_of_names(&by_name), Isolation::default());
    }
}
