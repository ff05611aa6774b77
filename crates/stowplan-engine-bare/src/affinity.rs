//! Affinity of a process that waits to run its program; it passes on to all its threads and children.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use stowplan_engine::EngineError;

/// Binds it to CPUs.
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
