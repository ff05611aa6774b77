//! What a run leaves on the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders where runs, and tools by themselves, put things with the name of a run.
const PLACES: [&str; 4] = [
    "/dev/shm",
    "/sys/fs/cgroup",
    "/run/systemd/nspawn",
    "/run/lxc/lock",
];

/// Folders, control groups, mounts and processes with `name` in their own: that of a run, or what names of several runs begin
/// with.
///
/// # Panics
/// When the table of mounts cannot be read.
#[must_use]
pub fn left_of(name: &str) -> Vec<String> {
    let mut left = Vec::new();
    for place in PLACES {
        find(Path::new(place), name, &mut left);
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("proc is mounted");
    let of_run = mounts.lines().filter(|line| line.contains(name));
    left.extend(of_run.map(|line| format!("mount {line}")));
    for process in children(Path::new("/proc")) {
        let read = |file: &str| {
            let bytes = fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let line = read("cmdline");
        // One that has ended has no command line, and a cgroup until somebody reaps it.
        let runs = !line.is_empty();
        if runs && (line.contains(name) || read("cgroup").contains(name)) {
            left.push(format!("process {}: {line}", process.display()));
        }
    }
    left
}

/// Network links of the machine. Their names are too short for that of a run: compare with those that were there before.
#[must_use]
pub fn links() -> BTreeSet<String> {
    let links = children(Path::new("/sys/class/net")).into_iter();
    links
        .map(|path| format!("link {}", path.display()))
        .collect()
}

fn find(folder: &Path, name: &str, left: &mut Vec<String>) {
    for path in children(folder) {
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        if own.contains(name) {
            left.push(format!("folder {}", path.display()));
        } else if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            find(&path, name, left);
        }
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
