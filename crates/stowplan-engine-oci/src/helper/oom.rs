//! Being told when the kernel ends a process of the service for lack of memory.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use stowplan_host::cgroup::Group;

/// How long the kernel may take from saying that memory is short to having ended a process (v1 tells beforehand).
const PATIENCE: Duration = Duration::from_millis(200);

/// A watch on the memory controller of a group.
pub(crate) struct OomWatch {
    group: Group,
    seen: u64,
    source: Source,
}

enum Source {
    /// v1: an eventfd, and the file that it is registered for.
    Event(
        OwnedFd,
        #[expect(dead_code, reason = "closing it ends the registration")] File,
    ),
    /// v2: memory.events, which wakes a poll for exceptional conditions when it changes.
    File(File),
}

impl OomWatch {
    /// Watches `group`; `None` where it has no memory controller.
    pub(crate) fn new(group: &Group) -> Option<Self> {
        let seen = group.oom_kills()?;
        let source = if group.is_v2() {
            Source::File(File::open(group.paths().get("unified")?.join("memory.events")).ok()?)
        } else {
            register(group.paths().get("memory")?)?
        };
        Some(Self {
            group: group.clone(),
            seen,
            source,
        })
    }

    /// What to poll.
    pub(crate) fn poll(&self) -> (BorrowedFd<'_>, PollFlags) {
        match &self.source {
            Source::Event(event, _) => (event.as_fd(), PollFlags::IN),
            Source::File(file) => (file.as_fd(), PollFlags::PRI),
        }
    }

    /// Whether a process has been ended since the last call; `told` when the poll said so.
    pub(crate) fn happened(&mut self, told: bool) -> bool {
        if told && let Source::Event(event, _) = &self.source {
            super::wake::drain(event);
        }
        let begin = Instant::now();
        loop {
            let now = self.group.oom_kills().unwrap_or(self.seen);
            if now > self.seen {
                self.seen = now;
                return true;
            }
            if !told || begin.elapsed() > PATIENCE {
                return false;
            }
            // The counter has no event of its own on v1.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Registers an eventfd for memory.oom_control (kernel: cgroup-v1/memory.rst, "OOM Control").
fn register(folder: &Path) -> Option<Source> {
    let control = File::open(folder.join("memory.oom_control")).ok()?;
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
    let line = format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
    fs::write(folder.join("cgroup.event_control"), line).ok()?;
    Some(Source::Event(event, control))
}
