//! The folders of one service.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stowplan_wire::deployment::LimitsPlan;

use super::detect::{Layout, Tree, give_controllers};
use super::{limits, remove, run_folder};
use crate::object::Object;
use crate::{Host, HostError};

/// One service's folder in every hierarchy, by controller (v2: `unified`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    paths: BTreeMap<String, PathBuf>,
    v2: bool,
}

impl Tree {
    /// Makes the folder of a run in these v1 hierarchies, or on v2 with these controllers for its services.
    /// Every folder is entered in the ledger first.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub fn make_run(
        &self,
        host: &dyn Host,
        run: &str,
        controllers: &[&str],
    ) -> Result<Group, HostError> {
        let name = run_folder(run);
        if self.layout == Layout::V2 {
            let unified = BTreeMap::from([("unified".to_owned(), self.v2_parent()?)]);
            let group = Group::make_below(&unified, true, host, &name, controllers)?;
            if let Err(error) = group.delegate(controllers) {
                // Its own error is the lesser one, and the ledger has what stays.
                let _ = group.remove();
                return Err(error);
            }
            return Ok(group);
        }
        Group::make_below(&self.own, false, host, &name, controllers)
    }
}

pub(super) fn make(host: &dyn Host, path: &Path) -> Result<(), HostError> {
    if path.is_dir() {
        return Ok(());
    }
    host.enter(&Object::Cgroup {
        path: path.display().to_string(),
    })?;
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        // Controllers that are mounted together share the folder.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(HostError::io("make the control group", path, e)
            .hint("run as root, or use bare:flat, which can do without control groups")),
    }
}

/// A new v1 cpuset has no CPUs and no memory nodes: it takes those of its parent.
fn make_v1(host: &dyn Host, controller: &str, path: &Path) -> Result<(), HostError> {
    make(host, path)?;
    if controller == "cpuset" {
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let own = path.join(file);
            if fs::read_to_string(&own)
                .unwrap_or_default()
                .trim()
                .is_empty()
            {
                let parent = path.with_file_name(file);
                let text =
                    fs::read_to_string(&parent).map_err(|e| HostError::io("read", &parent, e))?;
                fs::write(&own, text.trim()).map_err(|e| HostError::io("write to", &own, e))?;
            }
        }
    }
    Ok(())
}

impl Group {
    /// A group from the folders of a `Locator`.
    #[must_use]
    pub fn from_paths(paths: &BTreeMap<String, String>) -> Self {
        Self {
            v2: paths.contains_key("unified"),
            paths: paths
                .iter()
                .map(|(name, path)| (name.clone(), PathBuf::from(path)))
                .collect(),
        }
    }

    /// Folders by controller.
    #[must_use]
    pub const fn paths(&self) -> &BTreeMap<String, PathBuf> {
        &self.paths
    }

    /// The folders as in a `Locator`.
    #[must_use]
    pub fn to_paths(&self) -> BTreeMap<String, String> {
        self.paths
            .iter()
            .map(|(name, path)| (name.clone(), path.display().to_string()))
            .collect()
    }

    /// Whether it is of cgroup v2.
    #[must_use]
    pub const fn is_v2(&self) -> bool {
        self.v2
    }

    /// Makes a group below this one in the hierarchies that `controllers` names and this group has.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub fn make_child(
        &self,
        host: &dyn Host,
        name: &str,
        controllers: &[&str],
    ) -> Result<Self, HostError> {
        Self::make_below(&self.paths, self.v2, host, name, controllers)
    }

    /// Makes a folder in each of `parents`, on v1 in those of `controllers`: all of them, or none.
    fn make_below(
        parents: &BTreeMap<String, PathBuf>,
        v2: bool,
        host: &dyn Host,
        name: &str,
        controllers: &[&str],
    ) -> Result<Self, HostError> {
        let mut group = Self {
            paths: BTreeMap::new(),
            v2,
        };
        for (controller, parent) in parents {
            if !v2 && !controllers.contains(&controller.as_str()) {
                continue;
            }
            let path = parent.join(name);
            let made = if v2 {
                make(host, &path)
            } else {
                make_v1(host, controller, &path)
            };
            group.paths.insert(controller.clone(), path);
            if let Err(error) = made {
                // Its own error is the lesser one, and the ledger has what stays.
                let _ = group.remove();
                return Err(error);
            }
        }
        Ok(group)
    }

    /// On cgroup v2, gives those of these controllers (named as on v1) that it has to the groups below it; from then on it
    /// can hold no processes itself. On v1 there is nothing to give.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn delegate(&self, controllers: &[&str]) -> Result<(), HostError> {
        let Some(path) = self.paths.get("unified").filter(|_| self.v2) else {
            return Ok(());
        };
        let has = fs::read_to_string(path.join("cgroup.controllers")).unwrap_or_default();
        let wanted: Vec<&str> = controllers
            .iter()
            .map(|name| if *name == "blkio" { "io" } else { name })
            .filter(|name| has.split_whitespace().any(|h| h == *name))
            .collect();
        give_controllers(path, &wanted)
    }

    /// This group with the folders of `other` for controllers that it lacks.
    #[must_use]
    pub fn with_missing_from(mut self, other: &Self) -> Self {
        for (controller, path) in &other.paths {
            self.paths
                .entry(controller.clone())
                .or_insert_with(|| path.clone());
        }
        self
    }

    /// Moves a process into the group.
    ///
    /// # Errors
    /// When a hierarchy refuses it.
    pub fn join(&self, pid: u32) -> Result<(), HostError> {
        for path in self.paths.values() {
            let file = path.join("cgroup.procs");
            fs::write(&file, pid.to_string())
                .map_err(|e| HostError::io(&format!("write {pid} to"), &file, e))?;
        }
        Ok(())
    }

    /// Sets the limits that a group can hold and reads them back.
    ///
    /// # Errors
    /// When the kernel refuses a value or holds another one afterwards.
    pub fn apply(&self, limits: &LimitsPlan) -> Result<(), HostError> {
        limits::apply(&self.paths, self.v2, limits)
    }

    /// Sees that the kernel has these limits, whoever set them.
    ///
    /// # Errors
    /// When it has others.
    pub fn verify(&self, limits: &LimitsPlan) -> Result<(), HostError> {
        limits::verify(&self.paths, self.v2, limits)
    }

    /// The group of this name below this one, which somebody else has made or will make.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        let paths = self.paths.iter();
        Self {
            paths: paths
                .map(|(controller, path)| (controller.clone(), path.join(name)))
                .collect(),
            v2: self.v2,
        }
    }

    /// Freezes or thaws the group and waits until the kernel says it is so.
    ///
    /// # Errors
    /// When there is no freezer or it does not take effect.
    pub fn freeze(&self, frozen: bool) -> Result<(), HostError> {
        limits::freeze(&self.paths, self.v2, frozen)
    }

    /// A folder that holds this service's processes and no others: `cpu` and `cpuset` may be shared with other
    /// services. `None` where it has none.
    #[must_use]
    pub fn private_folder(&self) -> Option<&Path> {
        ["unified", "freezer", "memory", "cpuacct", "blkio"]
            .iter()
            .find_map(|name| self.paths.get(*name))
            .map(PathBuf::as_path)
    }

    /// Processes in the group.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.private_folder()
            .map(remove::processes)
            .unwrap_or_default()
    }

    /// How many processes of the group the kernel ended for lack of memory; `None` without memory control.
    #[must_use]
    pub fn oom_kills(&self) -> Option<u64> {
        let (key, file) = if self.v2 {
            ("unified", "memory.events")
        } else {
            ("memory", "memory.oom_control")
        };
        let text = fs::read_to_string(self.paths.get(key)?.join(file)).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    /// Kills what is in the group and removes it. Removing what is gone is no error.
    ///
    /// # Errors
    /// When a folder cannot be removed; the others are removed nevertheless.
    pub fn remove(&self) -> Result<(), HostError> {
        let mut result = Ok(());
        for path in self.paths.values() {
            if let Err(error) = remove::remove_tree(path) {
                result = Err(error);
            }
        }
        result
    }
}
