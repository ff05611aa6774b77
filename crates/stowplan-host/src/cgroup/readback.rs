//! Limits as the kernel has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stowplan_wire::deployment::{Locator, SchedulingPlan};
use stowplan_wire::host::LimitsReadBack;

use super::limits::{cpus_of, weight_of};

/// Everything above this is "no limit" on v1, which has no word for it.
const V1_UNLIMITED: u64 = 1 << 62;

fn read(folder: Option<&PathBuf>, file: &str) -> Option<String> {
    let text = fs::read_to_string(folder?.join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// What the files of a group say.
pub(super) fn of_group(paths: &BTreeMap<String, PathBuf>, v2: bool) -> LimitsReadBack {
    let folder = |controller: &str| paths.get(if v2 { "unified" } else { controller });
    let quota = if v2 {
        read(folder("cpu"), "cpu.max").and_then(|text| {
            let (quota, period) = text.split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
        })
    } else {
        let number = |file| read(folder("cpu"), file)?.parse::<f64>().ok();
        number("cpu.cfs_quota_us")
            .filter(|quota| *quota > 0.0)
            .zip(number("cpu.cfs_period_us"))
            .map(|(quota, period)| quota / period)
    };
    let weight = if v2 {
        read(folder("cpu"), "cpu.weight").and_then(|text| text.parse().ok())
    } else {
        read(folder("cpu"), "cpu.shares").and_then(|text| text.parse().ok().map(weight_of))
    };
    let memory = if v2 {
        read(folder("memory"), "memory.max").and_then(|text| text.parse().ok())
    } else {
        read(folder("memory"), "memory.limit_in_bytes")
            .and_then(|text| text.parse().ok())
            .filter(|bytes| *bytes < V1_UNLIMITED)
    };
    LimitsReadBack {
        cpuset: read(folder("cpuset"), "cpuset.cpus").and_then(|text| cpus_of(&text)),
        cpu_weight: weight,
        cpu_quota: quota,
        memory_bytes: memory,
        scheduling: None,
    }
}

/// The limits of a service: its groups' files, and the affinity and scheduling class of its first process.
/// The affinity is what the kernel made of cpuset and affinity together, so it stands for both.
#[must_use]
pub fn read_limits(service: &Locator) -> LimitsReadBack {
    let paths = service
        .cgroups
        .iter()
        .map(|(name, path)| (name.clone(), PathBuf::from(path)))
        .collect();
    let mut limits = of_group(&paths, service.cgroups.contains_key("unified"));
    let status = Path::new("/proc")
        .join(service.pid.to_string())
        .join("status");
    if let Some(cpus) = fs::read_to_string(status).ok().and_then(|text| {
        text.lines()
            .find_map(|line| cpus_of(line.strip_prefix("Cpus_allowed_list:")?))
    }) {
        limits.cpuset = Some(cpus);
    }
    limits.scheduling = scheduling_of(service.pid);
    limits
}

/// Fields 40 and 41 of /proc/PID/stat: real-time priority and policy.
fn scheduling_of(pid: u32) -> Option<SchedulingPlan> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let priority = fields.get(37)?.parse().ok()?;
    match fields.get(38)?.parse::<u32>().ok()? {
        0 => Some(SchedulingPlan::Other),
        1 => Some(SchedulingPlan::Fifo(priority)),
        2 => Some(SchedulingPlan::RoundRobin(priority)),
        _ => None,
    }
}
