//! Limits as the kernel has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stowplan_wire::deployment::{Locator, SchedulingPlan};
use stowplan_wire::host::{CpuLevel, LimitsReadBack};

use super::detect::{Layout, MOUNTINFO, Tree};
use super::limits::{cpus_of, swap_file, weight_of};
use crate::process::stat_fields;

/// Everything above this is "no limit" on v1, which has no word for it.
const V1_UNLIMITED: u64 = 1 << 62;

fn read(folder: &Path, file: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// What the files of a group say.
pub(super) fn of_group(paths: &BTreeMap<String, PathBuf>, v2: bool) -> LimitsReadBack {
    let folder = |controller: &str| {
        let group = paths.get(if v2 { "unified" } else { controller });
        group.map(PathBuf::as_path)
    };
    let of = |controller: &str, file: &str| read(folder(controller)?, file);
    let memory = if v2 {
        of("memory", "memory.max").and_then(|text| text.parse().ok())
    } else {
        of("memory", "memory.limit_in_bytes")
            .and_then(|text| text.parse().ok())
            .filter(|bytes| *bytes < V1_UNLIMITED)
    };
    let swap = memory.and_then(|memory| {
        let told = of("memory", swap_file(v2))?;
        Some(swap_beside(memory, &told, v2))
    });
    LimitsReadBack {
        cpuset: of("cpuset", "cpuset.cpus").and_then(|text| cpus_of(&text)),
        cpu_weight: folder("cpu").and_then(|own| weight(own, v2)),
        cpu_quota: folder("cpu").and_then(|own| quota(own, v2)),
        memory_bytes: memory,
        swap_bytes: swap,
        scheduling: None,
        cpu_levels: Vec::new(),
    }
}

/// The swap that a group may have beside its memory limit.
fn swap_beside(memory: u64, told: &str, v2: bool) -> u64 {
    let bytes = told.parse().ok().filter(|bytes| *bytes < V1_UNLIMITED);
    bytes.map_or(LimitsReadBack::UNLIMITED, |bytes| {
        if v2 {
            bytes
        } else {
            bytes.saturating_sub(memory)
        }
    })
}

fn weight(group: &Path, v2: bool) -> Option<u32> {
    if v2 {
        read(group, "cpu.weight")?.parse().ok()
    } else {
        read(group, "cpu.shares")?.parse().ok().map(weight_of)
    }
}

/// In CPUs; `None` where there is none.
fn quota(group: &Path, v2: bool) -> Option<f64> {
    let divided = |quota: &str, period: &str| {
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota > 0.0).then_some(quota / period)
    };
    if v2 {
        let text = read(group, "cpu.max")?;
        let (quota, period) = text.split_once(' ')?;
        divided(quota, period)
    } else {
        let quota = read(group, "cpu.cfs_quota_us")?;
        divided(&quota, &read(group, "cpu.cfs_period_us")?)
    }
}

/// Groups without the controller (the root of cgroup v2, what lies above a mount) have no such files.
fn levels(own: &Path, v2: bool) -> Vec<CpuLevel> {
    let level = |group: &Path| {
        Some(CpuLevel {
            weight: weight(group, v2)?,
            quota: quota(group, v2),
        })
    };
    own.ancestors().filter_map(level).collect()
}

/// The groups above a group that limit how much CPU time all in them use together.
pub(crate) fn quotas_above(own: &Path, v2: bool) -> impl Iterator<Item = &Path> {
    let above = own.ancestors().skip(1);
    above.filter(move |group| quota(group, v2).is_some())
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
    limits.cpu_levels = levels_of(service.pid).unwrap_or_default();
    limits
}

/// By the group that the process is in: a locator has no CPU group where the service has none of its own.
fn levels_of(pid: u32) -> Option<Vec<CpuLevel>> {
    let mounts = fs::read_to_string(MOUNTINFO).ok()?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let tree = Tree::parse(&mounts, &groups, Path::new("/")).ok()?;
    let v2 = tree.layout == Layout::V2;
    let own = tree.own.get(if v2 { "unified" } else { "cpu" })?;
    Some(levels(own, v2))
}

/// Fields 40 and 41 of /proc/PID/stat: real-time priority and policy.
pub(crate) fn scheduling_of(pid: u32) -> Option<SchedulingPlan> {
    let fields = stat_fields(pid)?;
    let priority = fields.get(37)?.parse().ok()?;
    match fields.get(38)?.parse::<u32>().ok()? {
        0 => Some(SchedulingPlan::Other),
        1 => Some(SchedulingPlan::Fifo(priority)),
        2 => Some(SchedulingPlan::RoundRobin(priority)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels_in_words(own: &Path, v2: bool) -> Vec<String> {
        levels(own, v2).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_level_above_a_service_is_told() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        let own = run.join("service");
        fs::create_dir_all(&own).unwrap();
        for (group, weight, quota) in [
            (&run, "100\n", "max 100000\n"),
            (&own, "50", "20000 100000"),
        ] {
            fs::write(group.join("cpu.weight"), weight).unwrap();
            fs::write(group.join("cpu.max"), quota).unwrap();
        }
        assert_eq!(
            levels_in_words(&own, true),
            ["50 (at most 0.2 CPUs)", "100"]
        );

        for (group, shares, quota) in [(&run, "1024", "150000"), (&own, "512", "-1")] {
            fs::write(group.join("cpu.shares"), shares).unwrap();
            fs::write(group.join("cpu.cfs_quota_us"), quota).unwrap();
            fs::write(group.join("cpu.cfs_period_us"), "100000").unwrap();
        }
        assert_eq!(
            levels_in_words(&own, false),
            ["50", "100 (at most 1.5 CPUs)"]
        );
    }
}
