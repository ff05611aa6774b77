//! Being told when the kernel ends a process of a group for lack of memory.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::Group;

/// How long the kernel may take from saying that memory is short to having ended a process (v1 tells beforehand).
const PATIENCE: Duration = Duration::from_millis(200);

/// A watch on the memory controller of one group.
#[derive(Debug)]
pub struct OomWatch {
    group: Group,
    notice: OwnedFd,
    seen: u64,
}

impl OomWatch {
    /// Watches `group`; `None` where it has no memory controller or the kernel gives no notice.
    #[must_use]
    pub fn new(group: &Group) -> Option<Self> {
        let seen = group.oom_kills()?;
        let notice = if group.is_v2() {
            changes_of(&group.paths().get("unified")?.join("memory.events"))
        } else {
            event_of(group.paths().get("memory")?)
        };
        Some(Self {
            group: group.clone(),
            notice: notice?,
            seen,
        })
    }

    /// Readable when [`OomWatch::new_kills`] may find something.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.notice.as_fd()
    }

    /// How many processes were ended since the last call.
    pub fn new_kills(&mut self) -> u64 {
        let mut noticed = false;
        let mut notice = [0; 4096];
        while matches!(rustix::io::read(&self.notice, &mut notice), Ok(length) if length > 0) {
            noticed = true;
        }
        // The counter of v1 has no event of its own.
        let wait = noticed && !self.group.is_v2();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.group.oom_kills().unwrap_or(self.seen);
            let new = now.saturating_sub(self.seen);
            self.seen = now;
            if new > 0 || !wait || Instant::now() >= deadline {
                return new;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// v2: the kernel tells watchers of `memory.events` when it changes (cgroups(7), "cgroup.events file").
fn changes_of(file: &Path) -> Option<OwnedFd> {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&watch, file, WatchFlags::MODIFY).ok()?;
    Some(watch)
}

/// v1: an eventfd for `memory.oom_control` (kernel: cgroup-v1/memory.rst, "OOM Control").
fn event_of(folder: &Path) -> Option<OwnedFd> {
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
    let control = File::open(folder.join("memory.oom_control")).ok()?;
    let line = format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
    fs::write(folder.join("cgroup.event_control"), line).ok()?;
    Some(event)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_kill_of_a_v2_group_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("memory.events");
        fs::write(&events, "max 0\noom_kill 2\n").unwrap();
        let path = folder.path().display().to_string();
        let group = Group::from_paths(&BTreeMap::from([("unified".to_owned(), path)]));
        let mut watch = OomWatch::new(&group).unwrap();
        assert_eq!(watch.new_kills(), 0);
        fs::write(&events, "max 9\noom_kill 5\n").unwrap();
        assert_eq!((watch.new_kills(), watch.new_kills()), (3, 0));
        fs::remove_file(&events).unwrap();
        assert_eq!(watch.new_kills(), 0);
        assert!(OomWatch::new(&group).is_none());
    }
}
