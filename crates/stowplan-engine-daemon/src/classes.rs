//! Scheduling classes of containers whose daemon knows none.
//!
//! Their programs wait in the agent ([`crate::arguments`]) until it sees its class, which is given here, from outside: so a
//! container needs neither a capability nor a limit more than others.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_host::cgroup::{Group, run_folder};
use stowplan_host::{HostError, scheduling};
use stowplan_wire::deployment::{DeploymentPlan, SchedulingPlan, ServiceStart};

use crate::Place;

/// What to tell of a run that has some.
pub(crate) fn note(plan: &DeploymentPlan) -> Option<String> {
    (scheduling::wanting(plan) > 0).then(|| {
        "scheduling classes: a program of a real-time class starts through one exec of Stowplan's agent, which waits until it \
         has been given that class from outside, because the API has none"
            .to_owned()
    })
}

/// Gives the waiting program of a service its class, and its control group the budget that it needs for that here. The
/// budget of the run in µs of each second, where there are budgets.
pub(crate) fn give(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    class: SchedulingPlan,
    place: &Place,
) -> Result<Option<u64>, EngineError> {
    if place.pid == 0 {
        return Err(EngineError::new(
            "it ended before it could be given its scheduling class",
        ));
    }
    let budget = give_budget(plan, service, place)?;
    scheduling::set_class(place.pid, class)?;
    Ok(budget)
}

/// That of the run is the group above that of the container.
fn give_budget(
    plan: &DeploymentPlan,
    service: &ServiceStart,
    place: &Place,
) -> Result<Option<u64>, HostError> {
    let above = place.cgroups.get("cpu").map(Path::new);
    let Some(above) = above.and_then(Path::parent) else {
        return Ok(None);
    };
    if !above.ends_with(run_folder(&plan.run)) && scheduling::needs_budgets(plan)? {
        let others = format!(
            "this machine schedules real-time tasks by group, and its container is in {}, which is not the run's to give a \
             real-time budget",
            above.display()
        );
        return Err(HostError::new(others)
            .hint("have the daemon make control groups itself (driver cgroupfs), or leave the scheduling class out"));
    }
    let path = above.display().to_string();
    let run = Group::from_paths(&BTreeMap::from([("cpu".to_owned(), path)]));
    let budget = scheduling::give_run_budget(&run, plan)?;
    let own = Group::from_paths(&place.cgroups);
    scheduling::give_service_budget(&own, plan, &service.name)?;
    Ok(budget)
}
