//! Emptying and removing groups.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::HostError;
use crate::process::kill_and_wait;

/// Longest time until the processes of a group have ended after SIGKILL.
const PATIENCE: Duration = Duration::from_secs(20);

/// Pids in the group and in the groups below it; empty when it is gone.
#[must_use]
pub fn processes(folder: &Path) -> Vec<u32> {
    let mut pids: Vec<u32> = fs::read_to_string(folder.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid != 0)
        .collect();
    for child in children(folder) {
        pids.extend(processes(&child));
    }
    pids
}

fn children(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder)
        .map(|entries| {
            entries
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
                .collect()
        })
        .unwrap_or_default()
}

/// Kills every process of the group and of the groups below it, and waits until none is left.
///
/// A group that holds the caller itself is never one of ours: nothing in it is killed then.
///
/// # Errors
/// When one is still there after twenty seconds, or the caller is in the group.
pub fn kill_all(folder: &Path) -> Result<(), HostError> {
    let deadline = Instant::now() + PATIENCE;
    refuse_own(folder, &processes(folder))?;
    // On v2 this ends even what forks faster than it is killed.
    write_if_there(&folder.join("cgroup.kill"), "1");
    loop {
        let pids = processes(folder);
        if pids.is_empty() {
            return Ok(());
        }
        refuse_own(folder, &pids)?;
        for pid in &pids {
            if let Some(pid) = i32::try_from(*pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw)
            {
                // It may have ended by itself in between.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        thaw_below(folder);
        for pid in &pids {
            kill_and_wait(*pid, deadline.saturating_duration_since(Instant::now()));
        }
        if Instant::now() >= deadline {
            return Err(HostError::new(format!(
                "processes {pids:?} in {} do not end after SIGKILL",
                folder.display()
            )));
        }
    }
}

/// The kernel frees a removed group some time later, and until then its real-time budget is missed by others.
fn give_back_budget(folder: &Path) {
    write_if_there(&folder.join("cpu.rt_runtime_us"), "0");
}

/// Writes to a file that only some kernels and versions have; whoever depends on it sees whether it helped.
fn write_if_there(file: &Path, text: &str) {
    let _ = fs::OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
}

fn refuse_own(folder: &Path, pids: &[u32]) -> Result<(), HostError> {
    if pids.contains(&std::process::id()) {
        return Err(HostError::new(format!(
            "the cgroup {} holds Stowplan itself, so nothing in it is killed",
            folder.display()
        )));
    }
    Ok(())
}

/// A frozen process ends only when it is thawed.
fn thaw_below(folder: &Path) {
    for (file, word) in [("freezer.state", "THAWED"), ("cgroup.freeze", "0")] {
        let path = folder.join(file);
        if path.exists() {
            let _ = fs::write(path, word);
        }
    }
    children(folder).iter().for_each(|child| thaw_below(child));
}

/// Kills what is in the group and removes it with the groups below it. Whether it was there.
///
/// # Errors
/// When a process does not end or the kernel keeps the folder.
pub fn remove_tree(folder: &Path) -> Result<bool, HostError> {
    if !folder.exists() {
        return Ok(false);
    }
    kill_all(folder)?;
    for child in children(folder) {
        remove_tree(&child)?;
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        give_back_budget(folder);
        match rustix::fs::rmdir(folder) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            // The kernel keeps a group busy until the last exited task has been taken out of it, and no event
            // tells when: ask again.
            Err(rustix::io::Errno::BUSY) if Instant::now() < deadline => {
                kill_all(folder)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) => return Err(HostError::io("remove the control group", folder, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_holds_the_caller_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        fs::create_dir(&below).unwrap();
        let own = std::process::id();
        let mut other = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        // The other one is in the group itself, the caller in one below it.
        fs::write(folder.path().join("cgroup.procs"), other.id().to_string()).unwrap();
        fs::write(below.join("cgroup.procs"), own.to_string()).unwrap();
        let error = remove_tree(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains("holds Stowplan itself"),
            "{error}"
        );
        assert!(folder.path().exists());
        assert!(other.try_wait().unwrap().is_none(), "it was killed");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
