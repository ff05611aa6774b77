//! Setting limits and proving that the kernel has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stowplan_wire::deployment::LimitsPlan;

use crate::HostError;

/// Period of the CPU quota in µs, the kernel's default.
pub(super) const PERIOD_US: u64 = 100_000;

/// cgroup v1's shares for a v2 weight: both scale linearly from their default, as the scheduler's own weight
/// does (`sched_weight_from_cgroup` in the kernel).
pub(super) fn shares_of(weight: u32) -> u64 {
    ((u64::from(weight) * 1024 + 50) / 100).max(2)
}

/// The v2 weight for v1's shares.
pub(super) fn weight_of(shares: u64) -> u32 {
    u32::try_from((shares * 100 + 512) / 1024).unwrap_or(u32::MAX)
}

/// CPU numbers as the kernel lists them: `0-2,5`.
pub(super) fn list_of(cpus: &[u32]) -> String {
    cpus.iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// The CPU numbers of a kernel list.
pub(crate) fn cpus_of(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            None => cpus.push(part.parse().ok()?),
            Some((first, last)) => {
                cpus.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
            }
        }
    }
    Some(cpus)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a quota is a small positive number of CPUs, checked by the planner"
)]
fn quota_us(cpus: f64) -> u64 {
    ((cpus * PERIOD_US as f64).round() as u64).max(1_000)
}

pub(super) fn apply(
    paths: &BTreeMap<String, PathBuf>,
    v2: bool,
    limits: &LimitsPlan,
) -> Result<(), HostError> {
    let folder = |controller: &str| {
        let key = if v2 { "unified" } else { controller };
        paths.get(key).ok_or_else(|| {
            HostError::new(format!(
                "the control group has no '{controller}' controller"
            ))
        })
    };
    if let Some(cpus) = &limits.cpuset {
        set(&folder("cpuset")?.join("cpuset.cpus"), &list_of(cpus))?;
    }
    if let Some(weight) = limits.cpu_weight {
        let (file, value) = if v2 {
            ("cpu.weight", u64::from(weight))
        } else {
            ("cpu.shares", shares_of(weight))
        };
        set(&folder("cpu")?.join(file), &value.to_string())?;
    }
    if let Some(cpus) = limits.cpu_quota {
        let folder = folder("cpu")?;
        let quota = quota_us(cpus);
        if v2 {
            set(&folder.join("cpu.max"), &format!("{quota} {PERIOD_US}"))?;
        } else {
            set(&folder.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
            set(&folder.join("cpu.cfs_quota_us"), &quota.to_string())?;
        }
    }
    if let Some(bytes) = limits.memory_bytes {
        let file = if v2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        // The kernel rounds down to whole pages.
        let page = rustix::param::page_size() as u64;
        set(
            &folder("memory")?.join(file),
            &(bytes / page * page).to_string(),
        )?;
    }
    Ok(())
}

/// Writes a value and reads it back.
fn set(file: &Path, value: &str) -> Result<(), HostError> {
    fs::write(file, value).map_err(|e| HostError::io(&format!("write '{value}' to"), file, e))?;
    let found = fs::read_to_string(file).map_err(|e| HostError::io("read", file, e))?;
    let found = found.trim();
    let equal =
        found == value || (file.ends_with("cpuset.cpus") && cpus_of(found) == cpus_of(value));
    if equal {
        Ok(())
    } else {
        Err(HostError::new(format!(
            "the kernel made '{found}' of '{value}' in {}",
            file.display()
        )))
    }
}

pub(super) fn freeze(
    paths: &BTreeMap<String, PathBuf>,
    v2: bool,
    frozen: bool,
) -> Result<(), HostError> {
    let key = if v2 { "unified" } else { "freezer" };
    let Some(folder) = paths.get(key) else {
        return Err(HostError::new("the control group has no freezer"));
    };
    let (file, word) = match (v2, frozen) {
        (true, true) => ("cgroup.freeze", "1"),
        (true, false) => ("cgroup.freeze", "0"),
        (false, true) => ("freezer.state", "FROZEN"),
        (false, false) => ("freezer.state", "THAWED"),
    };
    let file = folder.join(file);
    fs::write(&file, word).map_err(|e| HostError::io(&format!("write '{word}' to"), &file, e))?;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let done = if v2 {
            let wanted = format!("frozen {}", u8::from(frozen));
            fs::read_to_string(folder.join("cgroup.events"))
                .is_ok_and(|text| text.lines().any(|line| line == wanted))
        } else {
            fs::read_to_string(&file).is_ok_and(|text| text.trim() == word)
        };
        if done {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(HostError::new(format!(
                "{} did not become {word}",
                folder.display()
            )));
        }
        // v1 tells the end of freezing to nobody: ask again.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_shares_convert_both_ways() {
        assert_eq!(shares_of(100), 1024);
        assert_eq!(shares_of(1), 10);
        for weight in [1, 3, 50, 100, 200, 333, 10_000] {
            assert_eq!(weight_of(shares_of(weight)), weight);
        }
    }

    #[test]
    fn kernel_lists_of_cpus() {
        assert_eq!(cpus_of("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpus_of("\n"), Some(vec![]));
        assert_eq!(cpus_of("0-x"), None);
        assert_eq!(cpus_of(&list_of(&[0, 3])), Some(vec![0, 3]));
    }

    #[test]
    fn a_v2_group_holds_what_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let paths = BTreeMap::from([("unified".to_owned(), folder.path().to_path_buf())]);
        let limits = LimitsPlan {
            cpuset: Some(vec![1]),
            cpu_weight: Some(250),
            cpu_quota: Some(0.5),
            memory_bytes: Some(10_000_000),
            scheduling: None,
        };
        apply(&paths, true, &limits).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("cpuset.cpus"), "1");
        assert_eq!(read("cpu.weight"), "250");
        assert_eq!(read("cpu.max"), "50000 100000");
        assert_eq!(read("memory.max"), "9998336");
        let back = super::super::readback::of_group(&paths, true);
        assert_eq!(back.cpuset, Some(vec![1]));
        assert_eq!(back.cpu_weight, Some(250));
        assert_eq!(back.cpu_quota, Some(0.5));
        assert_eq!(back.memory_bytes, Some(9_998_336));
    }

    #[test]
    fn a_v1_group_holds_what_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["cpu", "memory", "cpuset"]
            .map(|name| (name.to_owned(), folder.path().to_path_buf()))
            .into();
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 1]),
            cpu_weight: Some(50),
            cpu_quota: Some(1.5),
            memory_bytes: Some(4096),
            scheduling: None,
        };
        apply(&paths, false, &limits).unwrap();
        let back = super::super::readback::of_group(&paths, false);
        assert_eq!(back.cpuset, Some(vec![0, 1]));
        assert_eq!(back.cpu_weight, Some(50));
        assert_eq!(back.cpu_quota, Some(1.5));
        assert_eq!(back.memory_bytes, Some(4096));
    }
}
