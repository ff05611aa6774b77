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
#[must_use]
pub fn shares_of(weight: u32) -> u64 {
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

/// A file of a control group and what belongs into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Controller.
    pub controller: &'static str,
    /// Name of the file.
    pub file: &'static str,
    /// Its contents.
    pub value: String,
}

/// What `limits` are in the files of a group of cgroup v1 or v2, in the order of writing.
#[must_use]
pub fn settings(limits: &LimitsPlan, v2: bool) -> Vec<Setting> {
    let of = |controller, v1_file, v2_file, v1_value: String, v2_value: String| Setting {
        controller,
        file: if v2 { v2_file } else { v1_file },
        value: if v2 { v2_value } else { v1_value },
    };
    let same = |controller, v1_file, v2_file, value: String| {
        of(controller, v1_file, v2_file, value.clone(), value)
    };
    let mut settings = Vec::new();
    if let Some(cpus) = &limits.cpuset {
        let list = list_of(cpus);
        settings.push(same("cpuset", "cpuset.cpus", "cpuset.cpus", list));
    }
    if let Some(weight) = limits.cpu_weight {
        let (shares, weight) = (shares_of(weight).to_string(), weight.to_string());
        settings.push(of("cpu", "cpu.shares", "cpu.weight", shares, weight));
    }
    if let Some(quota) = limits.cpu_quota.map(quota_us) {
        if !v2 {
            let period = PERIOD_US.to_string();
            settings.push(same("cpu", "cpu.cfs_period_us", "", period));
        }
        let both = format!("{quota} {PERIOD_US}");
        let quota = quota.to_string();
        settings.push(of("cpu", "cpu.cfs_quota_us", "cpu.max", quota, both));
    }
    if let Some(bytes) = limits.memory_bytes {
        // The kernel rounds down to whole pages.
        let page = rustix::param::page_size() as u64;
        let bytes = (bytes / page * page).to_string();
        settings.push(same("memory", "memory.limit_in_bytes", "memory.max", bytes));
    }
    settings
}

pub(super) fn apply(
    paths: &BTreeMap<String, PathBuf>,
    v2: bool,
    limits: &LimitsPlan,
) -> Result<(), HostError> {
    each(paths, v2, limits, |file, value| {
        fs::write(file, value)
            .map_err(|e| HostError::io(&format!("write '{value}' to"), file, e))?;
        check(file, value)
    })
}

pub(super) fn verify(
    paths: &BTreeMap<String, PathBuf>,
    v2: bool,
    limits: &LimitsPlan,
) -> Result<(), HostError> {
    each(paths, v2, limits, check)
}

fn each(
    paths: &BTreeMap<String, PathBuf>,
    v2: bool,
    limits: &LimitsPlan,
    act: impl Fn(&Path, &str) -> Result<(), HostError>,
) -> Result<(), HostError> {
    for setting in settings(limits, v2) {
        let key = if v2 { "unified" } else { setting.controller };
        let folder = paths.get(key).ok_or_else(|| {
            HostError::new(format!(
                "the control group has no '{}' controller",
                setting.controller
            ))
        })?;
        act(&folder.join(setting.file), &setting.value)?;
    }
    Ok(())
}

/// Reads back whether a file has a value.
fn check(file: &Path, value: &str) -> Result<(), HostError> {
    let found = fs::read_to_string(file).map_err(|e| HostError::io("read", file, e))?;
    let found = found.trim();
    let equal =
        found == value || (file.ends_with("cpuset.cpus") && cpus_of(found) == cpus_of(value));
    if equal {
        Ok(())
    } else {
        Err(HostError::new(format!(
            "the kernel has '{found}' and not '{value}' in {}",
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
