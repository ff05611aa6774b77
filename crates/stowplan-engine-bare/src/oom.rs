//! Hearing of processes that the kernel ended for lack of memory.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify;
use stowplan_host::cgroup::Group;

/// Watches the memory controller of one group.
#[derive(Debug)]
pub(crate) struct OomWatch {
    fd: OwnedFd,
    seen: u64,
}

impl OomWatch {
    /// `None` where the group has no memory controller or the kernel gives no notice.
    pub(crate) fn new(group: &Group) -> Option<Self> {
        let seen = group.oom_kills()?;
        let fd = if group.is_v2() {
            let folder = group.paths().get("unified")?;
            let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)
                .ok()?;
            inotify::add_watch(
                &fd,
                folder.join("memory.events"),
                inotify::WatchFlags::MODIFY,
            )
            .ok()?;
            fd
        } else {
            let folder = group.paths().get("memory")?;
            let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
            let control = fs::File::open(folder.join("memory.oom_control")).ok()?;
            let line = format!("{} {}", fd.as_raw_fd(), control.as_raw_fd());
            fs::write(folder.join("cgroup.event_control"), line).ok()?;
            fd
        };
        Some(Self { fd, seen })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// How many processes were ended since the last call.
    pub(crate) fn new_kills(&mut self, group: &Group) -> u64 {
        let mut notice = [0; 4096];
        while matches!(rustix::io::read(&self.fd, &mut notice), Ok(length) if length > 0) {}
        let now = group.oom_kills().unwrap_or(self.seen);
        let new = now.saturating_sub(self.seen);
        self.seen = now;
        new
    }
}
