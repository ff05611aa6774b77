//! What is mounted, and where this process is in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::limits::swap_file;
use crate::HostError;
use crate::mount_table::unescape;

/// What is mounted, proc_pid_mountinfo(5).
pub(super) const MOUNTINFO: &str = "/proc/self/mountinfo";
/// Where this process is, cgroups(7).
pub(super) const OWN_GROUPS: &str = "/proc/self/cgroup";

/// Which version of control groups has the controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Version 1 alone.
    V1,
    /// Version 1 has the controllers; a version 2 hierarchy is mounted beside it.
    Hybrid,
    /// Version 2 alone.
    V2,
}

impl Layout {
    /// As in `MachineFacts::cgroup`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::Hybrid => "hybrid",
            Self::V2 => "v2",
        }
    }

    /// Version of the groups that containers get, with what is beside them.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::Hybrid => "v1 (hybrid)",
            only => only.name(),
        }
    }
}

/// The control groups of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Version.
    pub layout: Layout,
    /// Folder that this process is in, by controller; for [`Layout::V2`] the one key is `unified`.
    pub own: BTreeMap<String, PathBuf>,
    /// Where `unified` is mounted, or each controller.
    pub mounts: BTreeMap<String, PathBuf>,
}

/// One cgroup mount of /proc/self/mountinfo.
struct Mount {
    root: String,
    point: PathBuf,
    version2: bool,
    options: String,
}

impl Tree {
    /// Looks at this machine.
    ///
    /// # Errors
    /// When /proc cannot be read or no control groups are mounted.
    pub fn detect() -> Result<Self, HostError> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|e| HostError::io("read", Path::new(path), e))
        };
        Self::parse(&read(MOUNTINFO)?, &read(OWN_GROUPS)?, Path::new("/"))
    }

    /// From the texts of /proc/self/mountinfo and /proc/self/cgroup, with every mount point moved below
    /// `file_root`.
    ///
    /// # Errors
    /// When no control groups are mounted.
    pub fn parse(mountinfo: &str, cgroup: &str, file_root: &Path) -> Result<Self, HostError> {
        let all: Vec<Mount> = mountinfo.lines().filter_map(mount_of).collect();
        let moved = |point: &Path| moved(point, file_root);
        let own_in = |mount: &Mount, path: &str| mount.folder_of(path, file_root);
        let mut own = BTreeMap::new();
        let mut mounts = BTreeMap::new();
        for (names, path) in cgroup.lines().filter_map(names_and_path) {
            for name in names
                .split(',')
                .filter(|name| super::CONTROLLERS.contains(name))
            {
                if let Some(mount) = all.iter().find(|mount| mount.is_of(name)) {
                    own.insert(name.to_owned(), own_in(mount, path));
                    mounts.insert(name.to_owned(), moved(&mount.point));
                }
            }
        }
        let unified = all.iter().find(|mount| mount.version2);
        if !own.is_empty() {
            let layout = if unified.is_some() {
                Layout::Hybrid
            } else {
                Layout::V1
            };
            return Ok(Self {
                layout,
                own,
                mounts,
            });
        }
        let Some(mount) = unified else {
            return Err(HostError::new("no control groups are mounted")
                .hint("mount cgroup2 on /sys/fs/cgroup, or use bare:flat, which can do without"));
        };
        let path = cgroup
            .lines()
            .find_map(|line| line.strip_prefix("0::"))
            .unwrap_or("/");
        own.insert("unified".to_owned(), own_in(mount, path));
        mounts.insert("unified".to_owned(), moved(&mount.point));
        Ok(Self {
            layout: Layout::V2,
            own,
            mounts,
        })
    }

    /// Whether CPU accounting can be had without scheduling as a group: always on v2; on v1 only where `cpuacct`
    /// is not mounted together with `cpu`.
    #[must_use]
    pub fn accounting_apart(&self) -> bool {
        match self.layout {
            Layout::V2 => true,
            Layout::V1 | Layout::Hybrid => {
                self.mounts.contains_key("cpuacct")
                    && self.mounts.get("cpu") != self.mounts.get("cpuacct")
            }
        }
    }

    /// Whether the kernel accounts for the swap of a group, and so can limit it: not without `CONFIG_SWAP`, nor with
    /// `swapaccount=0` on kernels that know it.
    #[must_use]
    pub fn accounts_for_swap(&self) -> bool {
        match self.layout {
            Layout::V1 | Layout::Hybrid => {
                let own = self.own.get("memory");
                own.is_some_and(|group| group.join(swap_file(false)).exists())
            }
            // Neither the topmost group of the machine has the file, nor one without the controller.
            Layout::V2 => {
                let (top, own) = (&self.mounts["unified"], &self.own["unified"]);
                let below = fs::read_dir(top).into_iter().flatten();
                let below = below.filter_map(|entry| Some(entry.ok()?.path()));
                let mut groups = below.chain([top.clone(), own.clone()]);
                groups.any(|group| group.join(swap_file(true)).exists())
            }
        }
    }

    /// On v2: the folder below which runs are made. A group that has processes cannot give controllers to groups
    /// below it, so this is the nearest folder above this process that gives out `cpu` and `memory` already or
    /// can be told to, and that this user may write to.
    pub(super) fn v2_parent(&self) -> Result<PathBuf, HostError> {
        let mount = &self.mounts["unified"];
        let own = &self.own["unified"];
        let mut tried = None;
        for folder in own.ancestors().take_while(|f| f.starts_with(mount)) {
            match give_controllers(folder, &["cpu", "memory"]) {
                Ok(()) if writable(folder) => {
                    // Wanted for limits and disk figures; whoever asks for them learns that they are missing.
                    for name in ["cpuset", "io"] {
                        let _ = give_controllers(folder, &[name]);
                    }
                    return Ok(folder.to_path_buf());
                }
                Ok(()) => {}
                Err(error) => tried = Some(error),
            }
        }
        let error = HostError::new(format!(
            "no control group above {} lets this user make groups with cpu and memory",
            own.display()
        ))
        .hint("run as root, or in 'systemd-run --user --scope -p Delegate=yes'; bare:flat can do without");
        Err(match tried {
            Some(cause) => error.because(cause),
            None => error,
        })
    }
}

impl Mount {
    /// Whether it is the v1 hierarchy of this controller or name.
    fn is_of(&self, name: &str) -> bool {
        !self.version2 && self.options.split(',').any(|option| option == name)
    }

    /// The folder of a group of this hierarchy, with the mount point moved below `file_root`.
    fn folder_of(&self, group: &str, file_root: &Path) -> PathBuf {
        let below = Path::new(group)
            .strip_prefix(&self.root)
            .unwrap_or_else(|_| Path::new(""));
        moved(&self.point, file_root).join(below.strip_prefix("/").unwrap_or(below))
    }
}

fn moved(point: &Path, file_root: &Path) -> PathBuf {
    file_root.join(point.strip_prefix("/").unwrap_or(point))
}

/// Controllers and group of a line of /proc/PID/cgroup.
fn names_and_path(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// Folders that this process is in, in the hierarchies without a controller of ours; none where version 2 is alone.
pub(super) fn other_folders(mountinfo: &str, cgroup: &str, file_root: &Path) -> Vec<PathBuf> {
    let all: Vec<Mount> = mountinfo.lines().filter_map(mount_of).collect();
    if all.iter().all(|mount| mount.version2) {
        return Vec::new();
    }
    let ours = |names: &str| names.split(',').any(|n| super::CONTROLLERS.contains(&n));
    let others = cgroup.lines().filter_map(names_and_path);
    others
        .filter(|(names, _)| !ours(names))
        .filter_map(|(names, path)| {
            let mount = all.iter().find(|mount| match names {
                "" => mount.version2,
                _ => names.split(',').any(|name| mount.is_of(name)),
            })?;
            Some(mount.folder_of(path, file_root))
        })
        .collect()
}

/// Where a group `name` directly below the root is, in every hierarchy that is mounted from its root on.
///
/// # Errors
/// When /proc cannot be read.
pub fn top_folders(name: &str) -> Result<Vec<PathBuf>, HostError> {
    let mountinfo = fs::read_to_string(MOUNTINFO)
        .map_err(|e| HostError::io("read", Path::new(MOUNTINFO), e))?;
    Ok(top_folders_in(&mountinfo, name))
}

fn top_folders_in(mountinfo: &str, name: &str) -> Vec<PathBuf> {
    let mounts = mountinfo.lines().filter_map(mount_of);
    mounts
        .filter(|mount| mount.root == "/")
        .map(|mount| mount.point.join(name))
        .collect()
}

fn writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Makes a v2 group give these controllers to the groups below it; those it gives already are left alone.
pub(super) fn give_controllers(folder: &Path, wanted: &[&str]) -> Result<(), HostError> {
    let file = folder.join("cgroup.subtree_control");
    let has = fs::read_to_string(&file).map_err(|e| HostError::io("read", &file, e))?;
    for name in wanted {
        if !has.split_whitespace().any(|given| given == *name) {
            fs::write(&file, format!("+{name}"))
                .map_err(|e| HostError::io(&format!("write '+{name}' to"), &file, e))?;
        }
    }
    Ok(())
}

fn mount_of(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1)?);
    (kind == "cgroup" || kind == "cgroup2").then(|| Mount {
        root: unescape(root),
        point: PathBuf::from(unescape(point)),
        version2: kind == "cgroup2",
        options: options.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_with_controllers_apart() {
        let tree = Tree::parse(
            "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             31 25 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
             32 25 0:28 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             39 25 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            "4:memory:/box/a\n2:cpuacct:/\n1:cpu:/user\n0::/\n",
            Path::new("/x"),
        )
        .unwrap();
        assert_eq!(tree.layout, Layout::Hybrid);
        assert!(tree.accounting_apart());
        assert_eq!(tree.own["cpu"], Path::new("/x/sys/fs/cgroup/cpu/user"));
        assert_eq!(tree.own["memory"], Path::new("/x/sys/fs/cgroup/memory/a"));
    }

    #[test]
    fn v1_with_controllers_together_cannot_account_apart() {
        let tree = Tree::parse(
            "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            "1:cpu,cpuacct:/a b\n",
            Path::new("/"),
        )
        .unwrap();
        assert_eq!(tree.layout, Layout::V1);
        assert!(!tree.accounting_apart());
        assert_eq!(
            tree.own["cpuacct"],
            Path::new("/sys/fs/cgroup/cpu,cpuacct/a b")
        );
    }

    #[test]
    fn top_folders_are_those_of_whole_hierarchies() {
        let mounts = "30 25 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                      31 25 0:27 /box /cg/pids rw - cgroup cgroup rw,pids\n\
                      39 25 0:35 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        let expected = ["/cg/cpu/a", "/cg/unified/a"].map(PathBuf::from);
        assert_eq!(top_folders_in(mounts, "a"), expected);
    }

    #[test]
    fn other_hierarchies_are_those_without_a_controller_of_ours() {
        let mounts = "30 25 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                      31 25 0:27 / /cg/pids rw - cgroup cgroup rw,pids\n\
                      32 25 0:28 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
                      39 25 0:35 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        let own = "9:name=systemd:/user\n8:pids:/\n7:perf_event:/\n1:cpu:/\n0::/a\n";
        assert_eq!(
            other_folders(mounts, own, Path::new("/x")),
            ["/x/cg/systemd/user", "/x/cg/pids", "/x/cg/unified/a"].map(PathBuf::from)
        );
        let v2 = "39 25 0:35 / /cg rw - cgroup2 cgroup2 rw\n";
        let none = other_folders(v2, "0::/a\n", Path::new("/x"));
        assert_eq!(none, Vec::<PathBuf>::new());
    }

    #[test]
    fn swap_is_accounted_for_where_a_group_has_the_file() {
        for (mounts, own, group, file) in [
            (
                "32 25 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n",
                "4:memory:/a\n",
                "cg/memory/a",
                "memory.memsw.limit_in_bytes",
            ),
            // A group beside this process's, which is in the topmost one.
            (
                "39 25 0:35 / /cg rw - cgroup2 cgroup2 rw\n",
                "0::/\n",
                "cg/b",
                "memory.swap.max",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            let group = root.path().join(group);
            fs::create_dir_all(&group).unwrap();
            let tree = Tree::parse(mounts, own, root.path()).unwrap();
            assert!(!tree.accounts_for_swap());
            fs::write(group.join(file), "").unwrap();
            assert!(tree.accounts_for_swap());
        }
    }

    #[test]
    fn nothing_mounted_is_an_error() {
        assert!(Tree::parse("", "0::/\n", Path::new("/")).is_err());
    }

    #[test]
    fn on_v2_a_run_goes_where_controllers_are_given() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("cg/user.slice/session.scope");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.subtree_control"), "").unwrap();
        fs::write(
            root.path().join("cg/user.slice/cgroup.subtree_control"),
            "cpu memory pids",
        )
        .unwrap();
        let tree = Tree::parse(
            "39 25 0:35 / /cg rw - cgroup2 cgroup2 rw\n",
            "0::/user.slice/session.scope\n",
            root.path(),
        )
        .unwrap();
        assert_eq!(tree.layout, Layout::V2);
        // Plain files take every write, so make the own group refuse as the kernel does when it has processes.
        fs::remove_file(own.join("cgroup.subtree_control")).unwrap();
        assert_eq!(tree.v2_parent().unwrap(), root.path().join("cg/user.slice"));
    }
}
