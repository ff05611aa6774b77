//! Real-time budgets. Where the kernel schedules real-time tasks by group (cgroup v1), a new group has none and
//! refuses such tasks.

use std::fs;

use stowplan_engine::EngineError;
use stowplan_host::cgroup::Group;
use stowplan_wire::deployment::{DeploymentPlan, SchedulingPlan, ServiceStart};

/// What a run gets in µs of each second: half, so that other runs and the machine's own tasks keep something. The
/// bare engine gives the same.
const RUN_BUDGET_US: usize = 500_000;

/// Gives the run its budget when one of its services wants a real-time class.
pub(crate) fn give_to_run(group: &Group, plan: &DeploymentPlan) -> Result<(), EngineError> {
    if plan.services.iter().any(wants) {
        give(group, RUN_BUDGET_US)?;
    }
    Ok(())
}

/// Gives a service that wants a real-time class its equal share of the run's budget.
pub(crate) fn give_to_service(
    group: &Group,
    plan: &DeploymentPlan,
    service: &str,
) -> Result<(), EngineError> {
    let wanting: Vec<&ServiceStart> = plan.services.iter().filter(|start| wants(start)).collect();
    if wanting.iter().any(|start| start.name == service) {
        give(group, RUN_BUDGET_US / wanting.len())?;
    }
    Ok(())
}

fn wants(service: &ServiceStart) -> bool {
    matches!(
        service.limits.scheduling,
        Some(SchedulingPlan::Fifo(_) | SchedulingPlan::RoundRobin(_))
    )
}

fn give(group: &Group, budget_us: usize) -> Result<(), EngineError> {
    let file = group
        .paths()
        .get("cpu")
        .map(|folder| folder.join("cpu.rt_runtime_us"));
    let Some(file) = file.filter(|file| file.exists()) else {
        return Ok(());
    };
    fs::write(&file, budget_us.to_string()).map_err(|error| {
        EngineError::new(format!(
            "cannot give a real-time budget of {budget_us} µs in {}",
            file.display()
        ))
        .because(error)
        .hint("another group holds the machine's real-time budget; leave the scheduling class out")
    })
}
