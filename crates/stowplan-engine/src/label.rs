//! What containers of a run really are: read back from the daemon and from the kernel about every one of them, so
//! that no result carries a label that was only believed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use stowplan_host::cgroup::run_folder;
use stowplan_host::ledger::unescape;
use stowplan_host::process;

use crate::EngineError;

/// Facts by name.
pub type Facts = BTreeMap<String, String>;

/// The one value of each fact that all containers have.
///
/// # Errors
/// When two differ.
pub fn agreed(containers: Vec<Facts>) -> Result<Facts, EngineError> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in containers.into_iter().flatten() {
        all.entry(name).or_default().insert(value);
    }
    let mut facts = Facts::new();
    for (name, values) in all {
        let values: Vec<String> = values.into_iter().collect();
        match values.as_slice() {
            [one] => facts.insert(name, one.clone()),
            several => {
                return Err(EngineError::new(format!(
                    "containers of one run differ in {name}: {}",
                    several.join(", ")
                )));
            }
        };
    }
    Ok(facts)
}

/// What the kernel shows of a container's first process.
#[derive(Debug, Clone, Default)]
pub struct ObservedContainer {
    /// Kind of the file system on its root.
    pub root: String,
    /// Name of its parent.
    pub parent: String,
    /// Arguments of its parent.
    pub arguments: Vec<String>,
    /// Its cgroup, with `ID` for its own.
    pub cgroup: String,
}

impl ObservedContainer {
    /// What is to be seen of the container with this id, whose first process has this pid.
    #[must_use]
    pub fn of(pid: u32, id: &str) -> Self {
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let parent = process::parent_of(pid).unwrap_or_default();
        let arguments = read(format!("/proc/{parent}/cmdline"));
        Self {
            root: root_kind(&read(format!("/proc/{pid}/mountinfo"))).unwrap_or_default(),
            parent: read(format!("/proc/{parent}/comm")).trim().to_owned(),
            arguments: arguments.split('\0').map(str::to_owned).collect(),
            cgroup: cgroup(&read(format!("/proc/{pid}/cgroup")), id),
        }
    }
}

/// Kind of the file system of the last mount on the root, proc_pid_mountinfo(5).
fn root_kind(mountinfo: &str) -> Option<String> {
    let mut lines = mountinfo.lines().rev();
    let last = lines.find(|line| line.split(' ').nth(4).is_some_and(|p| unescape(p) == "/"))?;
    let (_, right) = last.split_once(" - ")?;
    right.split(' ').next().map(str::to_owned)
}

/// The path that most hierarchies have, with `ID` for the container's own id.
fn cgroup(text: &str, id: &str) -> String {
    let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let own = paths.rfind(|path| path.contains(id));
    own.unwrap_or("none of its own").replace(id, "ID")
}

/// The path of the control group of a service's process below those of its run, with `RUN` for the run and `ID` for the
/// service: one for all services of all runs.
#[must_use]
pub fn group_of(pid: u32, run: &str, service: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    named(&text, &run_folder(run), service)
}

fn named(text: &str, run: &str, service: &str) -> String {
    let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let Some(path) = paths.rfind(|path| path.split('/').any(|part| part == run)) else {
        return "none of its own".to_owned();
    };
    let name = |part: &str| match part.strip_suffix(service) {
        _ if part == run => "RUN".to_owned(),
        Some(before) if before.is_empty() || before.ends_with('.') => format!("{before}ID"),
        _ => part.to_owned(),
    };
    let parts: Vec<String> = path.split('/').map(name).collect();
    parts.join("/")
}

/// The error of an engine that says something else than the kernel.
#[must_use]
pub fn contradiction(what: &str, said: &str, seen: &str) -> EngineError {
    EngineError::new(format!(
        "the {what} should be '{said}', but the kernel shows '{seen}'"
    ))
    .hint("another program may answer on the daemon's socket; see `stowplan doctor`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_one_for_all_containers() {
        let of = |runtime: &str| Facts::from([("engine.runtime".to_owned(), runtime.to_owned())]);
        assert_eq!(agreed(vec![of("runc"), of("runc")]).unwrap(), of("runc"));
        let error = agreed(vec![of("runc"), of("crun")]).unwrap_err();
        assert!(error.to_string().ends_with("engine.runtime: crun, runc"));
    }

    #[test]
    fn root_and_cgroup_are_found_in_the_kernels_tables() {
        let table = "21 1 0:20 / / rw - ext4 /dev/vda rw\n30 21 0:30 / / rw - overlay o rw\n\
                     31 30 0:5 / /proc rw - proc proc rw\n";
        assert_eq!(root_kind(table).as_deref(), Some("overlay"));
        let groups = "4:memory:/docker/abc\n0::/\n";
        assert_eq!(cgroup(groups, "abc"), "/docker/ID");
        assert_eq!(cgroup("0::/\n", "abc"), "none of its own");
    }

    #[test]
    fn the_group_of_a_service_is_one_for_all_runs_and_services() {
        let of = |text: &str| named(text, "stowplan-7-1", "a");
        assert_eq!(of("4:memory:/x/stowplan-7-1/a\n0::/\n"), "/x/RUN/ID");
        let of_tool = "4:cpu:/data/stowplan-7-1/a/lxc.payload.a\n";
        assert_eq!(of(of_tool), "/data/RUN/ID/lxc.payload.ID");
        assert_eq!(of("4:cpu:/stowplan-7-12/a\n"), "none of its own");
    }
}
