//! Affinity and scheduling class of a process that waits to run its program; both pass on to all its threads
//! and children.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use stowplan_engine::EngineError;
use stowplan_host::cgroup::Group;
use stowplan_wire::deployment::{DeploymentPlan, SchedulingPlan};

pub(crate) fn set_affinity(pid: u32, cpus: &[u32]) -> Result<(), EngineError> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let cpu = *cpu as usize;
        if cpu >= CpuSet::MAX_CPU {
            return Err(EngineError::new(format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    sched_setaffinity(Pid::from_raw(pid.cast_signed()), &set)
        .map_err(|e| EngineError::new(format!("cannot bind it to the CPUs {cpus:?}")).because(e))
}

pub(crate) fn set_class(pid: u32, class: SchedulingPlan) -> Result<(), EngineError> {
    let (policy, priority) = match class {
        SchedulingPlan::Other => (libc::SCHED_OTHER, 0),
        SchedulingPlan::Fifo(priority) => (libc::SCHED_FIFO, priority),
        SchedulingPlan::RoundRobin(priority) => (libc::SCHED_RR, priority),
    };
    let parameter = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: reads one sched_param of ours.
    let done = unsafe { libc::sched_setscheduler(pid.cast_signed(), policy, &raw const parameter) };
    if done == 0 {
        return Ok(());
    }
    Err(
        EngineError::new(format!("cannot give it the scheduling class {class:?}"))
            .because(std::io::Error::last_os_error())
            .hint(
                "real-time classes need root or CAP_SYS_NICE, and a share of the real-time budget",
            ),
    )
}

fn is_real_time(class: Option<SchedulingPlan>) -> bool {
    matches!(
        class,
        Some(SchedulingPlan::Fifo(_) | SchedulingPlan::RoundRobin(_))
    )
}

/// Where the kernel schedules real-time tasks by group (v1), a new group has no budget and refuses them: gives
/// the run half of the time, or each of its `services` groups an equal share of that.
pub(crate) fn give_budget(
    group: &Group,
    plan: &DeploymentPlan,
    share_of_service: bool,
) -> Result<(), EngineError> {
    let wanting = plan
        .services
        .iter()
        .filter(|service| is_real_time(service.limits.scheduling))
        .count();
    let Some(file) = group
        .paths()
        .get("cpu")
        .map(|folder| folder.join("cpu.rt_runtime_us"))
        .filter(|file| wanting > 0 && file.exists())
    else {
        return Ok(());
    };
    let half = 500_000;
    let budget = if share_of_service {
        half / wanting
    } else {
        half
    };
    fs::write(&file, budget.to_string()).map_err(|e| {
        EngineError::new(format!(
            "cannot give a real-time budget of {budget} µs in {}",
            file.display()
        ))
        .because(e)
        .hint("another group holds the machine's real-time budget; leave the scheduling class out")
    })
}

/// Whether this service needs a share of the budget.
pub(crate) fn wants_budget(class: Option<SchedulingPlan>) -> bool {
    is_real_time(class)
}
