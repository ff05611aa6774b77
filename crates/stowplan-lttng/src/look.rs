//! Processes as the host sees them: which could be traced at all.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// A process that was seen while it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Pid on the host.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Pid in its own PID namespace.
    pub vpid: i64,
    /// That namespace, as an inode.
    pub pid_ns: u64,
    /// Whether it has mapped LTTng's tracer.
    pub tracer: bool,
    /// Whether it has mapped ROS 2's client library.
    pub ros: bool,
}

impl ObservedProcess {
    /// Whether events of it are to be expected.
    #[must_use]
    pub const fn is_traceable(&self) -> bool {
        self.tracer || self.ros
    }
}

/// Libraries by which a process is known, as the beginnings of their files' names.
const TRACER: &str = "liblttng-ust.so";
const ROS: [&str; 2] = ["librcl.so", "libtracetools.so"];

/// Looks at a process; `None` when it has ended or is not ours to look at.
#[must_use]
pub fn look(pid: u32) -> Option<ObservedProcess> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let maps = read("maps")?;
    let files = || maps.lines().filter_map(|line| line.rsplit('/').next());
    let vpid = read("status")?
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:")?.split_whitespace().last())?
        .parse()
        .ok()?;
    Some(ObservedProcess {
        pid,
        name: read("comm")?.trim_end().to_owned(),
        vpid,
        pid_ns: fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino(),
        tracer: files().any(|file| file.starts_with(TRACER)),
        ros: files().any(|file| ROS.iter().any(|name| file.starts_with(name))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_ros_and_tracer_is_not_traceable() {
        let seen = look(std::process::id()).unwrap();
        assert!(!seen.is_traceable(), "{seen:?}");
        assert!(seen.vpid > 0 && seen.pid_ns > 0);
    }

    #[test]
    fn a_process_that_is_not_there_is_not_seen() {
        assert_eq!(look(u32::MAX), None);
    }
}
