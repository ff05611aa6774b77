//! What a run of one process leaves on the machine.

use std::path::{Path, PathBuf};

/// Folders, mounts, cgroups and processes of the runs that the process `pid` began. Its runs are called
/// `stowplan-PID-…`, so that those of others are never looked at.
pub fn left_of(pid: u32) -> Vec<String> {
    let run = format!("stowplan-{pid}-");
    let mut left = folders(&run);
    left.extend(mounts(&run));
    left.extend(cgroups(&run));
    left.extend(processes(&run));
    left
}

fn folders(run: &str) -> Vec<String> {
    children(Path::new("/dev/shm"))
        .into_iter()
        .filter(|path| path.display().to_string().contains(run))
        .map(|path| format!("folder {}", path.display()))
        .collect()
}

fn mounts(run: &str) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let of_run = table.lines().filter(|line| line.contains(run));
    of_run.map(|line| format!("mount {line}")).collect()
}

fn cgroups(run: &str) -> Vec<String> {
    let mut left = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = open.pop() {
        for path in children(&folder) {
            let linked = path.symlink_metadata().map_or(true, |m| !m.is_dir());
            if linked {
                continue;
            }
            if path.display().to_string().contains(run) {
                left.push(format!("cgroup {}", path.display()));
            } else {
                open.push(path);
            }
        }
    }
    left
}

/// Processes with the run in their command line or their cgroup, and the agent, which has neither but is in
/// the state folder of these tests: only it is asked for by its environment and its parent, who is gone.
fn processes(run: &str) -> Vec<String> {
    let mut left = Vec::new();
    for process in children(Path::new("/proc")) {
        let read = |file: &str| {
            let bytes = std::fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        if read("cmdline").contains(run) || read("cgroup").contains(run) {
            left.push(format!(
                "process {}: {}",
                process.display(),
                read("cmdline")
            ));
        }
    }
    left
}

fn children(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}
