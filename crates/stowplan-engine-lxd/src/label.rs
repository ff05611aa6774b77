//! What the instances of a run really are: read back from the server and from the kernel about every one of them, so
//! that no result carries a label that was only believed.

use std::fs;

use stowplan_engine::{EngineError, Facts, ObservedContainer, agreed, contradiction};
use stowplan_host::ledger::unescape;

use crate::api::{Instance, PoolInfo, root_pool};
use crate::client::Client;
use crate::events::instance_of;
use crate::{fleet, probe};

/// What liblxc calls itself where it watches over a container (start.c, `lxc_set_proc_title`).
const MONITOR: &str = "[lxc monitor]";

/// The driver of the storage pool.
const STORAGE: &str = "engine.storage";

/// The control group that liblxc makes for an instance.
pub(crate) fn group(instance: &str) -> String {
    format!("lxc.payload.{instance}")
}

/// The label of the instances with these ids and first processes: one value of each fact for all of them.
///
/// # Errors
/// When two differ, or what the kernel shows contradicts what the server says.
pub(crate) fn read(client: &Client, containers: &[(String, u32)]) -> Result<Facts, EngineError> {
    let serving = client.serving();
    let failed = |error| client.error("tell of an instance", error);
    let mut all = Vec::new();
    for (id, pid) in containers {
        let instance = instance_of(id);
        let found: Instance = serving
            .wait(client.get(&fleet::path(instance)))
            .map_err(failed)?;
        let pool = root_pool(&found.expanded_devices).cloned();
        let path = format!("/1.0/storage-pools/{}", pool.unwrap_or_default());
        let pool: PoolInfo = serving.wait(client.get(&path)).map_err(failed)?;
        all.push(facts(instance, &pool.driver, &Shown::of(*pid, instance))?);
    }
    let mut facts = agreed(all)?;
    let storage = facts.get(STORAGE).cloned().unwrap_or_default();
    let version = probe::version(client, &storage)?;
    facts.insert(format!("engine.{}", client.server().name()), version);
    Ok(facts)
}

/// What the kernel shows of an instance's first process.
#[derive(Debug, Clone, Default)]
struct Shown {
    seen: ObservedContainer,
    /// What of its file system is its root.
    root_folder: String,
    /// Its user namespace: who root in it is outside.
    user_map: String,
}

impl Shown {
    fn of(pid: u32, instance: &str) -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        Self {
            seen: ObservedContainer::of(pid, instance),
            root_folder: root_folder(&read("mountinfo").unwrap_or_default()).unwrap_or_default(),
            user_map: read("uid_map").unwrap_or_default(),
        }
    }
}

/// What of its file system is mounted on the root, proc_pid_mountinfo(5).
fn root_folder(mountinfo: &str) -> Option<String> {
    let mut lines = mountinfo.lines().rev();
    let last = lines.find(|line| line.split(' ').nth(4) == Some("/"))?;
    last.split(' ').nth(3).map(unescape)
}

/// The facts of one instance, whose root file system is in a pool with this driver.
fn facts(instance: &str, driver: &str, shown: &Shown) -> Result<Facts, EngineError> {
    let title = shown.seen.arguments.first().map_or("", String::as_str);
    if !title.starts_with(MONITOR) || !title.ends_with(&format!(" {instance}")) {
        return Err(contradiction("monitor", MONITOR, title));
    }
    let root = &shown.seen.root;
    let agree = match driver {
        "dir" => {
            let folder = format!("/containers/{instance}/rootfs");
            root != "overlay" && shown.root_folder.ends_with(&folder)
        }
        "zfs" | "btrfs" => driver == root,
        _ => true,
    };
    if !agree {
        let folder = &shown.root_folder;
        return Err(contradiction(
            "storage driver",
            driver,
            &format!("{root} {folder}"),
        ));
    }
    let mut map = shown.user_map.split_whitespace();
    if (map.next(), map.next()) != (Some("0"), Some("0")) {
        return Err(contradiction("instance", "privileged", &shown.user_map));
    }
    let facts = [
        (STORAGE, driver.to_owned()),
        ("engine.root", root.clone()),
        ("engine.monitor", MONITOR.to_owned()),
        ("engine.cgroup", shown.seen.cgroup.clone()),
    ];
    Ok(facts.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> Shown {
        Shown {
            seen: ObservedContainer {
                root: "ext4".to_owned(),
                parent: "lxd".to_owned(),
                arguments: vec!["[lxc monitor] /var/lib/lxd/containers a".to_owned()],
                cgroup: "/lxc.payload.ID".to_owned(),
            },
            root_folder: "/var/lib/lxd/storage-pools/p/containers/a/rootfs".to_owned(),
            user_map: "         0          0 4294967295\n".to_owned(),
        }
    }

    #[test]
    fn a_label_says_what_server_and_kernel_agree_on() {
        let facts = facts("a", "dir", &shown()).unwrap();
        assert_eq!(facts["engine.storage"], "dir");
        assert_eq!(facts["engine.root"], "ext4");
        assert_eq!(facts["engine.cgroup"], "/lxc.payload.ID");
    }

    #[test]
    fn a_label_that_the_kernel_contradicts_is_an_error() {
        let unprivileged = Shown {
            user_map: "0 100000 65536\n".to_owned(),
            ..shown()
        };
        let other = Shown {
            seen: ObservedContainer {
                arguments: vec!["dockerd".to_owned()],
                ..shown().seen
            },
            ..shown()
        };
        for outcome in [
            facts("b", "dir", &shown()),
            facts("a", "zfs", &shown()),
            facts("a", "dir", &unprivileged),
            facts("a", "dir", &other),
        ] {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("the kernel shows"), "{error}");
        }
    }

    #[test]
    fn the_roots_folder_is_that_of_the_last_mount() {
        let table = "21 1 0:20 /a / rw - ext4 /dev/vda rw\n30 21 8:1 /b\\040c / rw - ext4 d rw\n\
                     31 30 0:5 / /proc rw - proc proc rw\n";
        assert_eq!(root_folder(table).as_deref(), Some("/b c"));
    }
}
