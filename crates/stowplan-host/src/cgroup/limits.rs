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
        let bytes = whole_pages(bytes).to_string();
        settings.push(same("memory", "memory.limit_in_bytes", "memory.max", bytes));
    }
    settings
}

/// The file with which a group is limited in swap; there is none where the kernel does not account for it.
pub(super) const fn swap_file(v2: bool) -> &'static str {
    if v2 {
        "memory.swap.max"
    } else {
        "memory.memsw.limit_in_bytes"
    }
}

/// That a memory limit is one of swap, too: what a service may have beside its memory is nothing. To be written after the memory
/// limit, where the kernel accounts for swap ([`super::Tree::accounts_for_swap`]). On v1 the file has memory and swap together
/// (memory.txt, section 5.3), on v2 swap alone.
#[must_use]
pub fn no_swap(limits: &LimitsPlan, v2: bool) -> Option<Setting> {
    let memory = whole_pages(limits.memory_bytes?);
    Some(Setting {
        controller: "memory",
        file: swap_file(v2),
        value: if v2 { 0 } else { memory }.to_string(),
    })
}

/// The kernel rounds down to whole pages.
fn whole_pages(bytes: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    bytes / page * page
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
    let file_of = |setting: &Setting| {
        let key = if v2 { "unified" } else { setting.controller };
        let folder = paths.get(key).ok_or_else(|| {
            HostError::new(format!(
                "the control group has no '{}' controller",
                setting.controller
            ))
        })?;
        Ok::<_, HostError>(folder.join(setting.file))
    };
    for setting in settings(limits, v2) {
        act(&file_of(&setting)?, &setting.value)?;
    }
    if let Some(setting) = no_swap(limits, v2) {
        let file = file_of(&setting)?;
        if file.exists() {
            act(&file, &setting.value)?;
        }
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
    use stowplan_wire::host::LimitsReadBack;

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
        assert!(!folder.path().join("memory.swap.max").exists());
        let back = super::super::readback::of_group(&paths, true);
        assert_eq!(back.cpuset, Some(vec![1]));
        assert_eq!(back.cpu_weight, Some(250));
        assert_eq!(back.cpu_quota, Some(0.5));
        assert_eq!(back.memory_bytes, Some(9_998_336));
        assert_eq!(back.swap_bytes, None);
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
        assert_eq!(back.swap_bytes, None);
    }

    #[test]
    fn a_memory_limit_leaves_no_swap_where_the_kernel_accounts_for_it() {
        let limits = LimitsPlan {
            memory_bytes: Some(10_000_000),
            ..LimitsPlan::default()
        };
        for (v2, key, unlimited, value) in [
            (false, "memory", "9223372036854771712", "9998336"),
            (true, "unified", "max", "0"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let paths = BTreeMap::from([(key.to_owned(), folder.path().to_path_buf())]);
            let file = folder.path().join(swap_file(v2));
            let back = || super::super::readback::of_group(&paths, v2);
            fs::write(&file, unlimited).unwrap();
            // As an engine leaves it that limits memory alone.
            let memory = &settings(&limits, v2)[0];
            fs::write(folder.path().join(memory.file), &memory.value).unwrap();
            assert_eq!(back().swap_bytes, Some(LimitsReadBack::UNLIMITED));
            assert!(verify(&paths, v2, &limits).is_err());
            apply(&paths, v2, &limits).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), value);
            assert_eq!(back().swap_bytes, Some(0));
            verify(&paths, v2, &limits).unwrap();
            fs::write(&file, if v2 { "4096" } else { "10002432" }).unwrap();
            assert_eq!(back().swap_bytes, Some(4096));
        }
    }
}
