//! Processes of this machine, told apart by pid and start time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use stowplan_wire::host::SampleSubject;

/// CLOCK_MONOTONIC in ns.
#[must_use]
pub fn clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// What a process of a subject is called in a row of its own: as it was named, else by the name that the kernel has for its program
/// (`comm`, at most 15 bytes: proc_pid_comm(5)). `None` where it is gone.
pub(crate) fn name_of(subject: &SampleSubject, pid: u32) -> Option<String> {
    let mut named = subject.names.iter();
    if let Some((_, name)) = named.find(|(of, _)| *of == pid) {
        return Some(name.clone());
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Fields of /proc/PID/stat from the third on (`state` is the first item): the second, the name, may hold
/// spaces and parentheses.
pub(crate) fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Field 22 of /proc/PID/stat: start time in clock ticks since boot. `None` when there is no such process.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    stat_fields(pid)?.get(19)?.parse().ok()
}

/// Pid of the parent.
#[must_use]
pub fn parent_of(pid: u32) -> Option<u32> {
    stat_fields(pid)?.get(1)?.parse().ok()
}

/// Namespaces that a process is in, by their name in /proc/PID/ns, as inode numbers (namespaces(7)); without those that only its
/// children will be in. Empty when it is gone or may not be looked at.
#[must_use]
pub fn namespaces_of(pid: u32) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/ns"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let inode = fs::metadata(entry.path()).ok()?.ino();
            (!name.ends_with("_for_children")).then_some((name, inode))
        })
        .collect()
}

/// Pids of all processes that run here now.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Whether the process that started at this time still runs; one that waits to be reaped does not.
#[must_use]
pub fn is_alive(pid: u32, ticks: u64) -> bool {
    stat_fields(pid).is_some_and(|fields| {
        fields.get(19).and_then(|field| field.parse().ok()) == Some(ticks)
            && !matches!(fields.first().map(String::as_str), Some("Z" | "X"))
    })
}

/// Identity of this boot of the kernel.
#[must_use]
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Sends SIGKILL to the process and waits until it has ended, at most `wait`. Whether it is gone.
pub fn kill_and_wait(pid: u32, wait: Duration) -> bool {
    let Some(pid) = raw(pid) else {
        return true;
    };
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    // A process that ended in between cannot be signalled, which is what was wanted.
    let _ = pidfd_send_signal(&fd, Signal::KILL);
    let deadline = Instant::now() + wait;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return false,
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return true,
        }
    }
}

/// As system calls take it.
fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// The process and everything below it, parents first; those that began or ended meanwhile may be missing.
#[must_use]
pub fn tree_of(pid: u32) -> Vec<u32> {
    let mut known = vec![pid];
    let mut next = 0;
    while let Some(parent) = known.get(next).copied() {
        next += 1;
        known.extend(children_of(parent));
    }
    known
}

/// Longest wait for a process to stop. One that waits for its child of vfork(2) does not, but makes no other either.
const STOPPING: Duration = Duration::from_millis(100);

/// Kills the process with everything below it and waits until it has ended, at most `wait`. Whether it is gone.
///
/// It is stopped first: a helper that dies while it makes a container would leave a first process behind that is
/// in no control group yet. And again until nobody new is found: one that still ran when its parent was looked at may
/// have made a sibling (CLONE_PARENT), as container runtimes do.
pub fn kill_tree_and_wait(pid: u32, wait: Duration) -> bool {
    let mut known = Vec::new();
    let mut new = vec![pid];
    while !new.is_empty() {
        stop(&new);
        known.append(&mut new);
        let found = known.iter().copied().flat_map(children_of);
        new = found.filter(|child| !known.contains(child)).collect();
    }
    let left = known.iter().rev().filter(|pid| !kill_and_wait(**pid, wait));
    left.count() == 0
}

/// Stops processes and waits until they have: a fork that is under way when the signal comes is not given up.
fn stop(pids: &[u32]) {
    for pid in pids.iter().filter_map(|pid| raw(*pid)) {
        // One that has ended needs no signal.
        let _ = kill_process(pid, Signal::STOP);
    }
    let runs = |pid: u32| {
        let state = stat_fields(pid).and_then(|fields| fields.into_iter().next());
        matches!(state.as_deref(), Some("R" | "S" | "D"))
    };
    let deadline = Instant::now() + STOPPING;
    while pids.iter().any(|pid| runs(*pid)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Children of all threads of a process, /proc/PID/task/TID/children (proc(5)).
fn children_of(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|text| {
            let pids = text.split_ascii_whitespace();
            pids.filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn namespaces_are_those_that_the_kernel_names() {
        let own = namespaces_of(std::process::id());
        for (name, inode) in &own {
            let link = fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
            assert_eq!(link.display().to_string(), format!("{name}:[{inode}]"));
        }
        assert!(own.contains_key("mnt") && own.contains_key("pid"));
        assert!(!own.contains_key("pid_for_children"));
        assert!(namespaces_of(0).is_empty());
    }

    #[test]
    fn a_process_is_known_by_pid_and_start_time() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let ticks = start_ticks(child.id()).unwrap();
        assert!(is_alive(child.id(), ticks));
        assert!(!is_alive(child.id(), ticks + 1));
        assert!(kill_and_wait(child.id(), Duration::from_secs(10)));
        assert!(!is_alive(child.id(), ticks));
        child.wait().unwrap();
        assert_eq!(start_ticks(child.id()), None);
    }

    #[test]
    fn a_tree_is_killed_with_what_its_children_started() {
        let script = "sh -c 'sleep 1000 & echo $!; wait' & wait";
        let mut top = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(top.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let deep: u32 = line.trim().parse().unwrap();
        let ticks = start_ticks(deep).unwrap();
        let tree = tree_of(top.id());
        assert_eq!((tree.first(), tree.last()), (Some(&top.id()), Some(&deep)));
        assert!(kill_tree_and_wait(top.id(), Duration::from_secs(10)));
        assert!(!is_alive(deep, ticks));
        top.wait().unwrap();
    }

    /// A child that makes a sibling by `CLONE_PARENT` and ends, which makes one and ends, and so on, `most` times; the
    /// last one stays.
    fn siblings(most: u32) -> std::io::Result<()> {
        let clone = |flags: libc::c_int| {
            // SAFETY: without a stack of its own and CLONE_VM this is fork(2), of a process with one thread.
            unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) }
        };
        if clone(libc::SIGCHLD) != 0 {
            return Ok(());
        }
        // Whoever starts this waits for its pipe to close.
        // SAFETY: nothing in this process uses a descriptor any more.
        unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
        for _ in 0..most {
            if clone(libc::CLONE_PARENT | libc::SIGCHLD) != 0 {
                // SAFETY: ends this process.
                unsafe { libc::_exit(0) };
            }
        }
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }

    /// Whether a process of the group runs.
    fn runs(group: u32) -> bool {
        all()
            .filter_map(stat_fields)
            .any(|fields| fields[0] != "Z" && fields[2] == group.to_string())
    }

    #[test]
    fn siblings_that_begin_meanwhile_are_killed_too() {
        for most in 1..40 {
            let mut command = Command::new("sleep");
            command.arg("1000").process_group(0);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            // SAFETY: what it does takes no lock and no memory.
            unsafe { command.pre_exec(move || siblings(most)) };
            let mut top = command.spawn().unwrap();
            assert!(kill_tree_and_wait(top.id(), Duration::from_secs(10)));
            assert!(!runs(top.id()), "of {most}");
            top.wait().unwrap();
        }
    }
}
