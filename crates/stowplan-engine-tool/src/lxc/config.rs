//! Lines of a container's configuration, lxc.container.conf(5).

use std::fmt::Write;
use std::path::Path;

use stowplan_engine::EngineError;
use stowplan_host::Ids;
use stowplan_host::cgroup::{no_swap, settings};
use stowplan_host::scheduling;
use stowplan_wire::deployment::{Access, BindMount, DeploymentPlan, LimitsPlan, SchedulingPlan};

/// What to tell of a run with real-time classes ([`Config::class`]).
#[must_use]
pub fn class_note(plan: &DeploymentPlan) -> Option<String> {
    (scheduling::wanting(plan) > 0).then(|| {
        "lxc.hook.start-host: chrt gives a program of a real-time class that class before it runs, because there is no setting \
         for it"
            .to_owned()
    })
}

/// A configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config(String);

impl Config {
    /// Adds a line.
    ///
    /// # Errors
    /// When a line cannot hold the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), EngineError> {
        // A value ends with its line, and blanks at its ends are taken off.
        if value.contains('\n') || value != value.trim() {
            return Err(EngineError::new(format!(
                "LXC cannot be told '{value}' for {key}: a value has one line without blanks at its ends"
            )));
        }
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
        Ok(())
    }

    /// Adds the limits of a service, but for what [`Config::no_swap`] adds.
    ///
    /// # Errors
    /// When a line cannot hold a value.
    pub fn limits(&mut self, limits: &LimitsPlan) -> Result<(), EngineError> {
        // LXC takes those for the version of the machine and leaves the others.
        for (version, v2) in [("lxc.cgroup", false), ("lxc.cgroup2", true)] {
            for setting in settings(limits, v2) {
                self.set(&format!("{version}.{}", setting.file), &setting.value)?;
            }
        }
        Ok(())
    }

    /// Adds, after a memory limit, that the service has no swap beside it. LXC does not start a container with a file that the kernel has
    /// not, so that this is for machines that account for swap.
    ///
    /// # Errors
    /// When a line cannot hold a value.
    pub fn no_swap(&mut self, limits: &LimitsPlan) -> Result<(), EngineError> {
        for (version, v2) in [("lxc.cgroup", false), ("lxc.cgroup2", true)] {
            if let Some(setting) = no_swap(limits, v2) {
                self.set(&format!("{version}.{}", setting.file), &setting.value)?;
            }
        }
        Ok(())
    }

    /// Adds the scheduling class of the program: while its first process waits, it is given that from outside, and its group the
    /// real-time budget, in µs of each second, that it needs for that where there are budgets.
    ///
    /// # Errors
    /// When a line cannot hold a value.
    pub fn class(
        &mut self,
        class: Option<SchedulingPlan>,
        budget_us: Option<u64>,
    ) -> Result<(), EngineError> {
        let Some([name, priority]) = class.and_then(scheduling::class_words) else {
            return Ok(());
        };
        if let Some(budget) = budget_us {
            self.set("lxc.cgroup.cpu.rt_runtime_us", &budget.to_string())?;
        }
        // LXC adds words of its own to the line, which a shell takes for its own arguments.
        let hook = format!("sh -c 'chrt --{name} --pid {priority} $LXC_PID'");
        self.set("lxc.hook.start-host", &hook)
    }

    /// Adds where programs share memory by name: an IPC namespace and a `/dev/shm` of its own, or those of the host.
    ///
    /// # Errors
    /// When a line cannot hold a value.
    pub fn ipc(&mut self, own: bool) -> Result<(), EngineError> {
        if own {
            // LXC makes a /dev of half a megabyte; shared memory needs a file system of its own.
            let entry = "shm dev/shm tmpfs nosuid,nodev,create=dir 0 0";
            return self.set("lxc.mount.entry", entry);
        }
        // That of the process which starts the container.
        self.set("lxc.namespace.share.ipc", "/proc/self/ns/ipc")?;
        self.mount("/dev/shm", "/dev/shm", false)
    }

    /// Adds a file or folder of the host; `to` is made where it is not.
    ///
    /// # Errors
    /// When a line cannot hold a path.
    pub fn mount(&mut self, from: &str, to: &str, read_only: bool) -> Result<(), EngineError> {
        let kind = if Path::new(from).is_dir() {
            "dir"
        } else {
            "file"
        };
        let access = if read_only { ",ro" } else { "" };
        let (from, to) = (escaped(from), escaped(to.trim_start_matches('/')));
        let entry = format!("{from} {to} none bind{access},create={kind} 0 0");
        self.set("lxc.mount.entry", &entry)
    }

    /// Adds these files and folders of the host.
    ///
    /// # Errors
    /// When one is not there, or a line cannot hold a path.
    pub fn mounts(&mut self, mounts: &[BindMount]) -> Result<(), EngineError> {
        for mount in mounts {
            if let Err(error) = Path::new(&mount.from).metadata() {
                return Err(EngineError::new(format!("cannot mount {}", mount.from)).because(error));
            }
            self.mount(&mount.from, &mount.to, mount.read_only)?;
        }
        Ok(())
    }

    /// Adds as whom and where the first process starts; names of users are those of the root file system at `root`.
    ///
    /// # Errors
    /// When there is no such user, or a line cannot hold the folder.
    pub fn program(&mut self, root: &Path, access: &Access) -> Result<(), EngineError> {
        if let Some(user) = &access.user {
            let ids = Ids::find(root, user)?;
            self.set("lxc.init.uid", &ids.user.to_string())?;
            self.set("lxc.init.gid", &ids.group.to_string())?;
        }
        match &access.working_dir {
            Some(folder) => self.set("lxc.init.cwd", folder),
            None => Ok(()),
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(self) -> String {
        self.0
    }
}

/// As in fstab(5), whose fields end with blanks.
fn escaped(path: &str) -> String {
    path.replace('\\', "\\134")
        .replace(' ', "\\040")
        .replace('\t', "\\011")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_given_by_a_hook_that_runs_outside() {
        let text = |class, budget| {
            let mut config = Config::default();
            config.class(class, budget).unwrap();
            config.text()
        };
        assert_eq!(text(None, Some(5)), "");
        assert_eq!(text(Some(SchedulingPlan::Other), Some(5)), "");
        let hook = "lxc.hook.start-host = sh -c 'chrt --fifo --pid 7 $LXC_PID'\n";
        let fifo = Some(SchedulingPlan::Fifo(7));
        assert_eq!(text(fifo, None), hook);
        assert_eq!(
            text(fifo, Some(5)),
            format!("lxc.cgroup.cpu.rt_runtime_us = 5\n{hook}")
        );
    }

    #[test]
    fn limits_are_told_for_both_versions() {
        let mut config = Config::default();
        let limits = LimitsPlan {
            cpuset: Some(vec![0, 2]),
            cpu_weight: Some(200),
            cpu_quota: Some(0.5),
            memory_bytes: Some(8192),
            scheduling: None,
        };
        config.limits(&limits).unwrap();
        assert!(!config.clone().text().contains("sw"), "{config:?}");
        config.no_swap(&limits).unwrap();
        let text = config.text();
        let lines: Vec<&str> = text.lines().collect();
        for line in [
            "lxc.cgroup.cpuset.cpus = 0,2",
            "lxc.cgroup.cpu.shares = 2048",
            "lxc.cgroup.cpu.cfs_quota_us = 50000",
            "lxc.cgroup.memory.limit_in_bytes = 8192",
            "lxc.cgroup2.cpu.weight = 200",
            "lxc.cgroup2.cpu.max = 50000 100000",
            "lxc.cgroup2.memory.max = 8192",
            "lxc.cgroup.memory.memsw.limit_in_bytes = 8192",
            "lxc.cgroup2.memory.swap.max = 0",
        ] {
            assert!(lines.contains(&line), "{line}: {lines:?}");
        }
    }

    #[test]
    fn shared_memory_is_the_containers_own_or_the_hosts() {
        let lines = |own| {
            let mut config = Config::default();
            config.ipc(own).unwrap();
            config.text()
        };
        assert_eq!(
            lines(true),
            "lxc.mount.entry = shm dev/shm tmpfs nosuid,nodev,create=dir 0 0\n"
        );
        assert_eq!(
            lines(false),
            "lxc.namespace.share.ipc = /proc/self/ns/ipc\nlxc.mount.entry = /dev/shm dev/shm none bind,create=dir 0 0\n"
        );
    }

    #[test]
    fn what_a_line_cannot_hold_is_refused() {
        for value in ["one\ntwo", " blank", "blank "] {
            let error = Config::default().set("lxc.environment", value).unwrap_err();
            assert!(error.to_string().contains("lxc.environment"), "{error}");
        }
    }
}
