//! Where a container is on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_host::cgroup::Tree;
use stowplan_host::{HostError, network, process};
use stowplan_wire::deployment::LimitsPlan;
use stowplan_wire::host::LimitsReadBack;

/// What a daemon and the kernel say of a container.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Pid of its first process; 0 where it has none.
    pub pid: u32,
    /// Start time of that pid; 0 where it has none.
    pub start_ticks: u64,
    /// Its cgroups by controller.
    pub cgroups: BTreeMap<String, String>,
    /// File that the daemon writes its output to.
    pub log: Option<String>,
    /// The daemon has seen it run out of memory.
    pub out_of_memory: bool,
}

impl Place {
    /// That of the container with this id, whose first process has this pid; 0 is none.
    ///
    /// # Errors
    /// When the kernel's tables cannot be read.
    pub fn find(pid: u32, id: &str) -> Result<Self, EngineError> {
        let mut place = Self::default();
        if let Some(start_ticks) = process::start_ticks(pid).filter(|_| pid > 0) {
            place.pid = pid;
            place.start_ticks = start_ticks;
            place.cgroups = cgroups(pid, id)?;
        }
        Ok(place)
    }
}

/// The cgroups that are this container's alone: those whose path has its id.
fn cgroups(pid: u32, id: &str) -> Result<BTreeMap<String, String>, EngineError> {
    let read = |path: String| {
        fs::read_to_string(&path).map_err(|e| HostError::io("read", Path::new(&path), e))
    };
    let mountinfo = read("/proc/self/mountinfo".to_owned())?;
    let Ok(cgroup) = read(format!("/proc/{pid}/cgroup")) else {
        // It has ended.
        return Ok(BTreeMap::new());
    };
    let tree = Tree::parse(&mountinfo, &cgroup, Path::new("/"))?;
    let own = tree.own.into_iter();
    Ok(own
        .map(|(controller, folder)| (controller, folder.display().to_string()))
        .filter(|(_, folder)| folder.contains(id))
        .collect())
}

/// Whether the container's first process is in another network than `of_process`; `None` when it is gone.
#[must_use]
pub fn is_elsewhere(place: &Place, of_process: u32) -> Option<bool> {
    let has = network::of_process(place.pid)?;
    Some(Some(has) != network::of_process(of_process))
}

/// Whether a container's first process is in another IPC namespace than this one; `None` when it is gone.
pub(crate) fn has_own_ipc(place: &Place) -> Option<bool> {
    let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/ipc")).ok();
    let has = of(&place.pid.to_string())?;
    Some(Some(has) != of("self"))
}

/// Limits that the kernel does not have as they were asked for.
pub(crate) fn differences(asked: &LimitsPlan, has: &LimitsReadBack) -> Vec<String> {
    fn differs<T: PartialEq + std::fmt::Debug>(
        name: &str,
        asked: Option<&T>,
        has: Option<&T>,
    ) -> Option<String> {
        let asked = asked?;
        (Some(asked) != has).then(|| {
            let has = has.map_or_else(|| "none".to_owned(), |has| format!("{has:?}"));
            format!("asked for {name} {asked:?}, the kernel has {has}")
        })
    }
    let page = rustix::param::page_size() as u64;
    let memory = asked.memory_bytes.map(|bytes| bytes / page * page);
    [
        differs("cpuset", asked.cpuset.as_ref(), has.cpuset.as_ref()),
        differs(
            "cpu-weight",
            asked.cpu_weight.as_ref(),
            has.cpu_weight.as_ref(),
        ),
        differs(
            "cpu-quota",
            asked.cpu_quota.as_ref(),
            has.cpu_quota.as_ref(),
        ),
        differs("memory", memory.as_ref(), has.memory_bytes.as_ref()),
        memory.and(has.swap_bytes).and_then(swap_beside),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What to tell of swap that a service may have beside its memory limit.
fn swap_beside(bytes: u64) -> Option<String> {
    let has = match bytes {
        0 => return None,
        LimitsReadBack::UNLIMITED => "no limit of it".to_owned(),
        bytes => bytes.to_string(),
    };
    Some(format!(
        "asked for no swap beside memory, the kernel has {has}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_beside_a_memory_limit_is_told() {
        let asked = LimitsPlan {
            memory_bytes: Some(1 << 20),
            ..LimitsPlan::default()
        };
        let told = |swap_bytes| {
            let has = LimitsReadBack {
                memory_bytes: Some(1 << 20),
                swap_bytes,
                ..LimitsReadBack::default()
            };
            differences(&asked, &has)
        };
        // The kernel does not account for it: nothing is known, and the result warns of that where the machine has swap.
        assert_eq!(told(None), Vec::<String>::new());
        assert_eq!(told(Some(0)), Vec::<String>::new());
        assert_eq!(
            told(Some(4096)),
            ["asked for no swap beside memory, the kernel has 4096"]
        );
        assert_eq!(
            told(Some(LimitsReadBack::UNLIMITED)),
            ["asked for no swap beside memory, the kernel has no limit of it"]
        );
    }

    #[test]
    fn a_limit_that_the_kernel_has_otherwise_is_told() {
        let asked = LimitsPlan {
            cpu_weight: Some(300),
            memory_bytes: Some((1 << 20) + 1),
            ..LimitsPlan::default()
        };
        let mut has = LimitsReadBack {
            cpuset: Some(vec![0, 1]),
            cpu_weight: Some(300),
            memory_bytes: Some(1 << 20),
            ..LimitsReadBack::default()
        };
        assert!(differences(&asked, &has).is_empty());
        has.cpu_weight = Some(299);
        has.memory_bytes = None;
        assert_eq!(
            differences(&asked, &has),
            [
                "asked for cpu-weight 300, the kernel has 299",
                "asked for memory 1048576, the kernel has none"
            ]
        );
    }
}
